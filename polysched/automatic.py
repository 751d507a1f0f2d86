"""The schedule that `optimize` finds by itself, as a history: the edits of the default strategy, or the mapped tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polysched import clock, isl
from polysched.constraints import TileSizes
from polysched.errors import InputError, PolyschedError
from polysched.history import History, Start
from polysched.ir.nodes import Function
from polysched.mapped import IN_SOURCE_ORDER, options_by_hand
from polysched.model.tree import Band, Serial, Tree, children, marked_as, marks_in, with_children
from polysched.options import Options
from polysched.plan import Plan, planned_by_hand
from polysched.prelude.choose import readable
from polysched.prelude.edit import NestEdit
from polysched.strategy.cpu import cpu
from polysched.strategy.decision import Decision, Value
from polysched.strategy.gpu import gpu
from polysched.strategy.script import Script
from polysched.target import TargetData
from polysched.transform.hand.applied import all_applied
from polysched.transform.hand.draft import Draft
from polysched.transform.hand.edit import draft_of
from polysched.transform.hand.registry import EDITS, Edit


@dataclass(frozen=True)
class State:
    """What a schedule is at a time: how it came about, and the draft that this led to."""

    prelude: tuple[NestEdit, ...]
    history: History
    draft: Draft
    written: Written | None = None  # by whom, if its last edits are a strategy's
    unwritten: str = "they are the user's"  # why they are not

    def after(self, draft: Draft, edits: Sequence[Edit]) -> State:
        """With more edits, which led to that draft."""
        return State(self.prelude, replace(self.history, edits=(*self.history.edits, *edits)), draft)


@dataclass(frozen=True)
class Written:
    """What a strategy was given, and what it decided."""

    begun: State
    target: TargetData
    options: Options
    answers: Mapping[str, Value]
    decisions: tuple[Decision, ...]

    def again(self, answers: Mapping[str, Value]) -> State:
        """With these answers, too."""
        return by_strategy(self.begun, self.target, self.options, {**self.answers, **answers})


def found(function: Function, plan: Plan, target: TargetData, options: Options) -> State:
    """What led to the plan: the edits of the default strategy, if they lead there; else the mapped tree."""
    met = tuple(each for each in options.constraints if not isinstance(each, TileSizes))  # tiles have theirs
    options = replace(options, constraints=met)
    scripted: State | str = "the tree was given"
    if plan.scheduled.rung != "given":
        in_source_order = plan.scheduled.rung == "source order" or plan.mapping == IN_SOURCE_ORDER
        start: Start = "source" if in_source_order or options.scheduler == "source" else "ilp"
        scripted = _scripted(_begun(function, plan, start, options), plan, target, options)
    return _as_mapped(function, plan, options, scripted) if isinstance(scripted, str) else scripted


def mapped(function: Function, state: State, target: TargetData) -> State:
    """What `optimize` makes of a schedule without marks: further edits, or the mapped tree.

    InputError if a tree would lose what an edit says of data.
    """
    options, draft = state.history.options, state.draft
    plan = planned_by_hand(draft, state.prelude, target, options)
    scripted = _scripted(state, plan, target, options_by_hand(draft.nested, options))
    if isinstance(scripted, State):
        return scripted
    if lost := [edit for edit in state.history.edits if EDITS[edit.name].legality not in ("order", "run")]:
        message = f"a tree for '{target.name}' would lose {lost[0]}, and {scripted}"
        raise InputError(message, hint="give the schedule to optimize(), which maps it, or map it by hand")
    return _as_mapped(function, plan, options, scripted)


def by_strategy(begun: State, target: TargetData, options: Options, answers: Mapping[str, Value]) -> State:
    """With the edits of the default strategy for the target, which takes these answers to its decisions."""
    script = Script(begun.draft, options, answers)
    strategy = gpu if target.has_grid else cpu
    strategy(script)
    draft = all_applied(begun.draft, script.edits, begun.history.options, len(begun.history.edits) + 1)
    written = Written(begun, target, options, answers, tuple(script.decisions))
    return replace(begun.after(draft, script.edits), written=written)


def _scripted(begun: State, plan: Plan, target: TargetData, options: Options) -> State | str:
    """The edits of the strategy, if they lead to the loops of the plan, and in half of the time that is left; else the
    reason."""
    try:
        with isl.within(clock.left() / 2):
            state = by_strategy(begun, target, options, {})
            reached = planned_by_hand(state.draft, plan.prelude, target, options)
    except PolyschedError as error:
        return f"no edits were found that lead to it: {str(error).splitlines()[0]}"
    return state if reached.kernel == plan.kernel else "the edits that were found lead to other loops"


def _as_mapped(function: Function, plan: Plan, options: Options, why: str) -> State:
    """The mapped tree as it is; a mark says so, if there is none."""
    tree = plan.tree if marks_in(plan.tree) else _serial(plan.tree)
    return replace(_begun(function, plan, tree, options), unwritten=why)


def _serial(tree: Tree) -> Tree:
    if isinstance(tree, Band):
        return marked_as(tree, Serial())
    return with_children(tree, tuple(map(_serial, children(tree))))


def _begun(function: Function, plan: Plan, start: Start | Tree, options: Options) -> State:
    """Without edits; the plan has the model and what the ILP finds."""
    prelude = None if plan.prelude == readable(function).edits else plan.prelude
    tree = plan.scheduled.tree if start == "ilp" else plan.scop.tree if start == "source" else start
    history = History(function.name, start, options, prelude=prelude)
    return State(plan.prelude, history, draft_of(plan.scop, plan.dependences, tree))
