"""The schedule that `optimize` finds by itself, as a history: the edits of the default strategy, or the mapped tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polysched.config.constraints import TileSizes
from polysched.config.options import Options
from polysched.config.target import TARGETS, TargetData
from polysched.errors import InputError, PolyschedError
from polysched.ir.nodes import Function
from polysched.model.tree.nodes import Band, Serial, Tree, children, marked_as, marks_in, with_children
from polysched.plan.plan import Plan, planned_by_hand
from polysched.prelude.choose import readable
from polysched.prelude.edit import NestEdit
from polysched.schedule.history import Given, History, Start
from polysched.strategy.cpu import cpu
from polysched.strategy.decision import Decision, Value
from polysched.strategy.gpu import gpu
from polysched.strategy.script import Script
from polysched.support import clock, isl
from polysched.transform.edits.base.applied import all_applied
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.edit import draft_of
from polysched.transform.edits.base.loops import nested
from polysched.transform.edits.base.registry import EDITS, Edit


@dataclass(frozen=True)
class State:
    """What a schedule is at a time: how it came about, and the draft that this led to."""

    prelude: tuple[NestEdit, ...]
    history: History
    draft: Draft
    written: Written | None = None  # by whom, if its last edits are a strategy's
    unwritten: str = ""  # why they are not, if that is not because they were read or made by hand

    def after(self, draft: Draft, edits: Sequence[Edit]) -> State:
        """With more edits, which led to that draft."""
        return State(self.prelude, replace(self.history, edits=(*self.history.edits, *edits)), draft)


@dataclass(frozen=True)
class Written:
    """What a strategy was given, where it began, and what it decided."""

    begun: State
    given: Given
    decisions: tuple[Decision, ...] = ()

    def again(self, answers: Mapping[str, Value], *, drops: bool = False) -> State:
        """With these answers, too. Where there is no such decision then, InputError, or with `drops` without it."""
        answers = {**self.given.answers, **answers}
        script = Script(self.begun.draft, self.given.options, answers)
        if TARGETS[self.given.target].has_grid:
            gpu(script, TARGETS[self.given.target].shared)
        else:
            cpu(script, self.given.order)
        asked = {decision.key for decision in script.decisions}
        for key, value in answers.items():
            if key not in asked and not drops:
                hint = "give answers in the order of the decisions: what is decided first may change the names of loops"
                raise InputError(f"{key} = {value!r} would be without effect: it is not asked for", hint=hint)
        given = replace(self.given, answers={key: value for key, value in answers.items() if key in asked})
        return Written(self.begun, given, tuple(script.decisions)).after(script.edits)

    def after(self, edits: Sequence[Edit]) -> State:
        """What these edits lead to."""
        history = self.begun.history
        draft = all_applied(self.begun.draft, edits, history.options, len(history.edits) + 1)
        return replace(self.begun.after(draft, edits), written=self)


def written_again(begun: State, given: Given, edits: Sequence[Edit]) -> State | str:
    """The state in which a strategy was, if it still writes these edits; else why it does not."""
    try:
        state = Written(begun, given).again({})
    except PolyschedError as error:
        return f"the strategy does not write its edits again: {str(error).splitlines()[0]}"
    same = state.history.edits == (*begun.history.edits, *edits)
    return state if same else "the strategy would write other edits now"


def found(function: Function, plan: Plan, target: TargetData, options: Options) -> State:
    """What led to the plan: the edits of the default strategy; the mapped tree, where there are none."""
    met = tuple(each for each in options.constraints if not isinstance(each, TileSizes))  # tiles have theirs
    own = replace(options, constraints=met)
    state = _scripted(_begun(function, plan, _start_of(plan), own), plan, target)
    return _as_mapped(function, plan, own, state) if isinstance(state, str) else state


def mapped(function: Function, state: State, target: TargetData) -> State:
    """What `optimize` makes of a schedule without marks: further edits, or the mapped tree.

    InputError if a tree would lose what an edit says of data.
    """
    options, draft = state.history.options, state.draft
    plan = planned_by_hand(draft, state.prelude, target, options)
    scripted = _scripted(state, plan, target)
    if isinstance(scripted, State):
        return scripted
    if lost := [edit for edit in state.history.edits if EDITS[edit.name].legality not in ("order", "run")]:
        message = f"a tree for '{target.name}' would lose {lost[0]}, and {scripted}"
        raise InputError(message, hint="give the schedule to optimize(), which maps it, or map it by hand")
    return _as_mapped(function, plan, options, scripted)


def rest_mapped(state: State, target: TargetData) -> State:
    """A schedule with marks whose other loops are on the target's grid, too, if that takes any edits."""
    given = Given(target.name, len(state.history.edits), "free", state.history.options, {})
    written = Written(state, given).again({})
    return written if written.history.edits != state.history.edits else state


def _scripted(begun: State, plan: Plan, target: TargetData) -> State | str:
    """What the edits of the plan lead to, checked in half of the time that is left; else the reason why it has none."""
    found = plan.mapped
    if found.unwritten:
        return found.unwritten
    given = Given(target.name, len(begun.history.edits), found.order, found.options, {})
    written = Written(begun, given, found.decisions)
    try:
        with isl.within(clock.left() / 2):
            return written.after(found.edits)
    except PolyschedError as error:
        return f"its edits were not checked again: {str(error).splitlines()[0]}"


def _start_of(plan: Plan) -> Start | Tree:
    """Where the edits begin."""
    start = plan.mapped.start
    if plan.scheduled.rung != "given" and start == plan.scheduled.tree:
        return "ilp"
    return "source" if nested(start) == nested(plan.scop.tree) else start


def _as_mapped(function: Function, plan: Plan, options: Options, why: str) -> State:
    """The mapped tree as it is; a mark says so, if there is none. What edits have made is in no tree: then it is their
    draft, which was checked as it was mapped."""
    made = plan.mapped
    if made.scop is not plan.scop:
        begun = _begun(function, plan, _start_of(plan), options)
        draft = replace(begun.draft, scop=made.scop, dependences=made.dependences, nested=nested(plan.tree))
        return replace(begun.after(draft, made.edits), unwritten=why)
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
