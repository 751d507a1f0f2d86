"""Which edits a nest gets before it is modeled: every gate is here, with its reason. What they do is in edits.py.

    gemm, "c"           expand("s")
    conv2d, "c"         units(); zeros("data", how="padded copy")
    conv2d, "cuda"      units(); zeros("data", how="guard")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polysched.config.options import Options
from polysched.config.target import TargetData
from polysched.deps.dependences import Dependences
from polysched.ir.nodes import Function
from polysched.model.scop import Scop
from polysched.prelude.edit import Edited, NestEdit
from polysched.prelude.edits import applied
from polysched.prelude.expand import temporaries_to_expand
from polysched.prelude.expand_arrays import arrays_to_expand
from polysched.prelude.macro_statements import lives_to_write_out
from polysched.prelude.padding.choice import lowerings_of_zeros
from polysched.prelude.padding.unpadded import copies_to_leave_out
from polysched.support.trace import optional, step

Model = Callable[[Function], tuple[Scop, Dependences]]


def prelude(
    function: Function, target: TargetData, options: Options, model: Model, *, is_given: bool = False
) -> Edited:
    """The nest as it is modeled, and the edits that make it so. `is_given`: the order of its loops is, by name."""
    is_open = not is_given and leaves_order_open(options)
    nest = Edited(function)
    if is_open and options.tile:  # tiles by hand are an order, which nobody has asked for
        nest = optional("untile", _edited, nest, _always("untile"))
    # Schedules and constraints call statements and loops by their names. GPUs keep windows in shared memory, and one
    # thread for each element has nothing from a statement of many steps.
    if not (is_given or options.constraints or target.has_grid):
        nest = optional("padded copies", _edited, nest, copies_to_leave_out)
        nest = optional("macro-statements", _edited, nest, _of_each("write_out", lives_to_write_out))
    nest = _readable(nest)
    if is_given:  # it names loops, also those of one iteration and of what is padded
        return nest
    nest = step("units", _edited, nest, _always("units"))
    nest = step("padding", _edited, nest, lowerings_of_zeros, target, fast_math=options.fast_math)
    if target.has_grid:  # on a CPU, the memory costs more: doitgen takes twice as long
        scop, deps = model(nest.function)
        nest = optional("expand arrays", _edited, nest, _of_each("expand_arrays", arrays_to_expand), scop, deps)
    return nest


def readable(function: Function) -> Edited:
    """The nest with places as integers, fused loops taken apart, sums made in their element, and temporaries expanded:
    what any schedule starts from."""
    return _readable(Edited(function))


def leaves_order_open(options: Options) -> bool:
    """Have the options no wish about the order of loops?"""
    return options.scheduler == "pluto" and options.fusion == "smart" and not options.constraints


def _readable(nest: Edited) -> Edited:
    nest = optional("integer indices", _edited, nest, _always("integer_indices"))
    nest = optional("structure", _edited, nest, _always("structure"))
    nest = optional("in place", _edited, nest, _always("in_place"))
    return step("expand", _edited, nest, _expansions)


def _expansions(function: Function) -> Sequence[NestEdit]:
    """By all loops around first, then by those up to one."""
    by_loop = sorted(temporaries_to_expand(function).items(), key=lambda found: found[0] != "")
    return [NestEdit("expand", names, (("at", loop),) if loop else ()) for loop, names in by_loop]


def _edited(nest: Edited, choose: Callable[..., Sequence[NestEdit]], *args: Any, **how: Any) -> Edited:
    """The nest after the edits that are chosen for it. One without arguments that changes nothing is none."""
    edits = choose(nest.function, *args, **how)
    function = applied(nest.function, edits)
    done = tuple(edit for edit in edits if edit.args or function is not nest.function)
    return Edited(function, nest.edits + done) if done else nest


def _always(name: str) -> Callable[[Function], Sequence[NestEdit]]:
    return lambda function: [NestEdit(name)]


def _of_each(name: str, choose: Callable[..., Sequence[str]]) -> Callable[..., Sequence[NestEdit]]:
    """One edit of all that is chosen, if that is something."""

    def edits(function: Function, *args: Any) -> Sequence[NestEdit]:
        chosen = choose(function, *args)
        return [NestEdit(name, tuple(chosen))] if chosen else []

    return edits
