"""Time tiles for stencils: where a kernel that runs several steps of the host's loop is predicted to gain.

t                                              .time_tile("t", sizes=(48, 48), steps=4, rows=8)
  i, j: B[i, j] = f(A)        ->               .bind("x_b*", "block.y").bind("y_b*", "block.x")
  i, j: A[i, j] = f(B)                         .bind("x_t*", "thread.y").bind("y_t*", "thread.x")
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from polysched.config.heuristics import stencils as rules
from polysched.deps.phases import is_kernel
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError
from polysched.model.tree.nodes import Band, Tree, children, walk
from polysched.strategy.script import Script
from polysched.strategy.stencils.price import Prices
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.loops import Loop, loops
from polysched.transform.edits.values.time_tiles.halo import halos, reaches_of
from polysched.transform.edits.values.time_tiles.nest import AXES
from polysched.transform.edits.values.time_tiles.order import require_parallel_steps
from polysched.transform.edits.values.time_tiles.stencil import stencil_of


def time_tiles(script: Script, shared: int) -> None:
    """Each outermost loop that carries a stencil, in time tiles on a grid."""
    for place in [each for each in loops(script.draft.nested) if not each.around]:
        if _may_be_stencil(place, script) and (prices := _that_gain(script, place, shared)) is not None:
            script.attempt(f"time tiles of {place.name}", partial(_written, script, place, prices))


def is_on_grid(tree: Tree) -> bool:
    """Is each innermost loop on an axis, or inside of one that is?"""
    if is_kernel(tree):
        return True
    below = children(tree)
    if isinstance(tree, Band) and not any(isinstance(node, Band) for child in below for node in walk(child)):
        return False
    return bool(below) and all(map(is_on_grid, below))


def _may_be_stencil(place: Loop, script: Script) -> bool:
    """Has each statement in it one loop more than the array that it writes has dimensions, or fewer? Asked first: it
    costs nothing."""
    statements = [s for s in script.scop.statements if s.name in place.statements]
    depths = {s.depth for s in statements if len(s.writes) == 1}
    ranks = {write.relation.dim(isl.dim_type.out) for s in statements for write in s.writes}
    return len(ranks) == 1 and bool(depths) and 1 <= min(ranks) <= 3 and max(depths) == min(ranks) + 1


def _that_gain(script: Script, place: Loop, shared: int) -> Prices | None:
    """The prices of tiles of the loop; None where there are none, or none that gain."""
    try:
        with isl.within(_SECONDS):
            prices = prices_of(script.draft, place, shared)
            return prices if prices.best else None
    except (BudgetExceeded, IllegalSchedule, InputError):
        return None


def prices_of(draft: Draft, place: Loop, shared: int) -> Prices:
    """Of time tiles of the loop, in so many bytes of shared memory; InputError or IllegalSchedule if it has none."""
    inside = (s for s in draft.scop.statements if s.name in place.statements)
    dims = max(write.relation.dim(isl.dim_type.out) for s in inside for write in s.writes)
    stencil = stencil_of(draft, place, dims, "time tiles")
    require_parallel_steps(draft.dependences, stencil, "time tiles")
    reaches = reaches_of(stencil.flow, stencil.places, max(rules.TIME_STEPS), draft.scop.context)
    return Prices(stencil, halos(stencil.statements, reaches, dims), min(shared, rules.TILE_BYTES))


_SECONDS = 1.0  # to look at one loop


def _written(script: Script, place: Loop, prices: Prices) -> bool:
    best = prices.best
    assert best is not None
    steps = script.pick(f"time_steps.{place.name}", best.steps, rules.TIME_STEPS_TRIED, _WHY)
    if not steps:
        return False
    choice = best if steps == best.steps else prices.fastest(steps)
    if choice is None:
        raise script.refused(InputError(f"no block has room for time tiles of {steps} steps of loop '{place.name}'"))
    before = {each.name for each in loops(script.draft.nested)}
    script.do("time_tile", place.name, sizes=choice.sizes, steps=choice.steps, rows=choice.rows)
    new = [each.name for each in loops(script.draft.nested) if each.name not in before]
    axes = AXES[: len(choice.sizes)]
    for axis, on in zip(axes, reversed("xyz"[: len(axes)]), strict=True):
        for letter, kind in (("b", "block"), ("t", "thread")):
            script.do("bind", _called(f"{axis}_{letter}", new, before), f"{kind}.{on}")
    return True


_WHY = "time steps of one kernel: as many fewer passes over memory, for a halo that blocks compute again"


def _called(name: str, new: Sequence[str], before: set[str]) -> str | list[str]:
    """A pattern for the new loops of that name, or their names where others fit it, too."""
    own = [each for each in new if each == name or each.startswith(f"{name}_")]
    return own if any(each.startswith(name) for each in before) else f"{name}*"
