"""What a network runs, as text: a line for each kernel, and its memory."""

from __future__ import annotations

from collections import Counter

import numpy as np

from polysched.networks.built import Built


def report(net: Built) -> str:
    """Kernels in the order in which they first run, with how often they do."""
    runs = Counter(call.kernel for call in net.kernels.calls)
    nodes = sum(len(call.group.operations) for call in net.kernels.calls)
    arena = net.plan.arena
    arrays = {id(array): array for weights in net.weights for array in weights.values()}
    weights = sum(array.nbytes for array in arrays.values())
    head = [
        f"{net.name}: {nodes} operations in {len(net.kernels.calls)} calls of {len(runs)} kernels",
        f"weights {_bytes(weights)}; arena {_bytes(arena.bytes)}, for {_bytes(arena.sum)} of temporaries, "
        f"of which {_bytes(arena.bound)} live at one time",
    ]
    lines = []
    for name in runs:
        call = next(each for each in net.kernels.calls if each.kernel == name)
        shapes = [str(v.type) for v in call.group.inputs if v.type.shape]
        results = ", ".join(str(v.type) for v in call.group.outputs)
        lines.append(f"  {runs[name]:3} x {call.group.title}: {', '.join(shapes)} -> {results}")
    return "\n".join([*head, *lines])


def _bytes(count: int) -> str:
    return f"{np.round(count / 1e6, 2)} MB" if count >= 1e5 else f"{count} bytes"
