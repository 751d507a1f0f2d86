"""From a nest to its loops: prelude, model, schedule, mapping, each within its budget.

    plan = planned(gemm, TARGETS["c"], Options())
    plan.prelude        expand("s"), units(), ...    what was done to the nest before
    plan.tree           tiled and mapped             plan.kernel       its loops
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from polysched.config.options import Options
from polysched.config.target import TargetData
from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.errors import BudgetExceeded
from polysched.ir.nodes import Function
from polysched.model.scop import Scop
from polysched.model.tree.form import require_form
from polysched.model.tree.nodes import Tree
from polysched.plan.mapped import Mapped, loops_within_budget, require_target
from polysched.plan.prepare import WITHOUT_DEAD, living, modelled
from polysched.prelude.choose import leaves_order_open, prelude
from polysched.prelude.edit import NestEdit
from polysched.prelude.expand import shares_arrays
from polysched.solve.constraints.honoured import require_met
from polysched.solve.scheduler import Scheduled, find_schedule
from polysched.strategy.decision import Order
from polysched.support import isl
from polysched.support.trace import step, timed
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.reduces import require_reduces


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The loops of a nest, and what led to them."""

    prelude: tuple[NestEdit, ...]
    scop: Scop
    dependences: Dependences
    scheduled: Scheduled
    mapped: Mapped  # to the target: tiles, marks, and what led to them
    kernel: Function  # what it lowers to
    mapping: str  # the rung that gave it

    @property
    def tree(self) -> Tree:
        """What is lowered."""
        return self.mapped.tree


def planned(function: Function, target: TargetData, options: Options, given: Tree | None = None) -> Plan:
    """The loops of the nest: as the ILP finds their order, or as it is given."""
    is_open = given is None and leaves_order_open(options)
    model = lru_cache(maxsize=1)(partial(modelled, options=options))
    nest, edits = prelude(function, target, options, model, is_given=given is not None)
    scop, deps = model(nest)
    if is_open and not target.has_grid:
        alive, deps = living(scop, deps, options)
        edits = edits if alive is scop else (*edits, WITHOUT_DEAD)
        scop = alive
    if given is not None:
        require_reduces(require_form(given, scop.function.sizes), deps)
        return _mapped(edits, scop, deps, _checked(given, scop, deps, options), target, options)
    is_kept = is_open and not target.has_grid and shares_arrays(nest, scop)
    scheduled = _found(scop, deps, replace(options, scheduler="source") if is_kept else options)
    return _mapped(edits, scop, deps, scheduled, target, options, is_free=is_open)


def planned_by_hand(draft: Draft, edits: Sequence[NestEdit], target: TargetData, options: Options) -> Plan:
    """The loops of a schedule by hand."""
    scop, deps = draft.scop, draft.dependences
    scheduled = _checked(draft.tree, scop, deps, options)
    return _mapped(tuple(edits), scop, deps, scheduled, target, options, is_by_hand=True)


def _checked(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Scheduled:
    """A tree that is given, which must be legal and meet the constraints."""
    step("legality", require_legal, tree, deps, scop)
    timed("constraints", require_met, tree, scop, deps, options.constraints)
    return Scheduled(tree=tree, rung="given", constraints=options.constraints)


def _mapped(
    edits: tuple[NestEdit, ...],
    scop: Scop,
    deps: Dependences,
    scheduled: Scheduled,
    target: TargetData,
    options: Options,
    *,
    is_by_hand: bool = False,
    is_free: bool = False,
) -> Plan:
    require_target(scheduled.tree, target, options)
    order: Order = "kept" if scheduled.rung == "source order" else "free"
    mapped, kernel, mapping = loops_within_budget(
        scop, deps, scheduled.tree, target, options, is_by_hand=is_by_hand, is_free=is_free, order=order
    )
    return Plan(
        prelude=edits, scop=scop, dependences=deps, scheduled=scheduled, mapped=mapped, kernel=kernel, mapping=mapping
    )


def _found(scop: Scop, deps: Dependences, options: Options) -> Scheduled:
    """The schedule that is found, and checked; source order, which is legal as it is, if that takes too long."""
    scheduled = step("schedule", find_schedule, scop, deps, options)
    try:
        with isl.within(options.solve_seconds):
            step("legality", require_legal, scheduled.tree, deps, scop)
    except BudgetExceeded as error:
        reason = f"{scheduled.rung}: its legality was not decided in time: {error}"
        require_met(scop.tree, scop, deps, options.constraints)
        scheduled = Scheduled(tree=scop.tree, rung="source order", reasons=(*scheduled.reasons, reason))
    return scheduled
