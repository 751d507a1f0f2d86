"""PyTorch's functions for operators along rows: its own kernels, and what torch.compile makes of them by Triton."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.rows import pytorch


def time_rows(name: str, given: list[Any], runs: int) -> Iterator[tuple[str, float]]:
    """Milliseconds by median, by the device's events, without copies from the host; ImportError without PyTorch."""
    import torch

    torch.set_grad_enabled(False)
    arguments = [torch.from_numpy(each).cuda() for each in given]
    own = pytorch(name)
    yield "PyTorch", _median(torch, lambda: own(*arguments), runs)
    compiled = torch.compile(own, dynamic=False)
    yield "torch.compile", _median(torch, lambda: compiled(*arguments), runs)


def _median(torch: Any, run: Callable[[], object], runs: int) -> float:
    samples = []
    for k in range(runs + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        if k >= 3:
            samples.append(begin.elapsed_time(end))
    return statistics.median(samples)
