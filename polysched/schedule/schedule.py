"""Schedules by hand: each edit is checked against the exact dependences, and refused with a witness.

    s = ps.Schedule(seidel).skew("i", by="t").skew("j", by="t").skew("j", by="i").tile("t", "i", "j", sizes=(8, 16, 64))
    done = ps.optimize(seidel, schedule=s)

A schedule does not change: each edit gives another one, or raises IllegalSchedule. Loops are known by name, as they are
printed; a name stays with its loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter
from typing import Any, Concatenate, ParamSpec, get_type_hints

import numpy as np

from polysched.config.constraints import TileSizes
from polysched.config.options import Options, Target, require_options
from polysched.config.target import TARGETS, TargetData, require_known
from polysched.deps.dependences import Dependences
from polysched.errors import BudgetExceeded, InputError
from polysched.explain.text import explain
from polysched.frontend.op.op import Op
from polysched.frontend.python import Nest
from polysched.ir.defaults import without_contents
from polysched.ir.nodes import Function
from polysched.model.scop import Scop
from polysched.model.tree.form import require_form
from polysched.model.tree.instances import renamed
from polysched.model.tree.nodes import Tree, marks_in
from polysched.model.tree.text import show_tree
from polysched.model.tree_yaml import from_yaml, to_yaml
from polysched.plan.plan import planned
from polysched.plan.prepare import function_of, modelled, modelled_after
from polysched.plot.draw import Before, plot, titled
from polysched.plot.notebook import notebook_html
from polysched.prelude.choose import readable
from polysched.prelude.edit import NestEdit
from polysched.schedule.automatic import State, found, mapped, rest_mapped, written_again
from polysched.schedule.history import History, Start, history_from_json
from polysched.solve.scheduler import find_schedule
from polysched.strategy.decision import Decision, Value
from polysched.support import isl
from polysched.support.brief import brief
from polysched.support.entry import entries
from polysched.support.trace import step
from polysched.transform.edits import table as edits
from polysched.transform.edits.base.applied import MORE, all_applied, applied
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.edit import draft_of
from polysched.transform.edits.base.loops import loops
from polysched.transform.edits.base.registry import EDITS, Edit, plain_edit

P = ParamSpec("P")
_AN_EDIT = 'as in [ps.Edit.of("tile", "i", sizes=(32,))]'


def method(function: Callable[Concatenate[Draft, P], Draft]) -> Callable[Concatenate[Schedule, P], Schedule]:
    """An edit as a method, which gives the schedule after it, and remembers it."""
    name = function.__name__

    def edited(self: Schedule, /, *args: P.args, **kwargs: P.kwargs) -> Schedule:
        edit = plain_edit(name, args, kwargs)
        return self._with(applied(self.draft, edit, self.history.options), edit)

    edited.__name__, edited.__qualname__, edited.__doc__ = name, f"Schedule.{name}", function.__doc__
    hints = {of: kind for of, kind in get_type_hints(function).items() if of != "draft"}
    edited.__annotations__ = hints | {"return": "Schedule"}  # for help() and editors
    me, public = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), EDITS[name].signature
    public = public.replace(parameters=(me, *public.parameters.values()), return_annotation="Schedule")
    edited.__signature__ = public  # type: ignore[attr-defined]
    return edited


@entries
class Schedule:
    """A legal order of the nest's iterations, to be edited; from source order, from the ILP's, or from a tree."""

    nest: Function
    _state: State

    def __repr__(self) -> str:
        return brief(self, f"{self.nest.name}: loops {', '.join(self.loops)}; edits: {len(self.history.edits)}")

    def __init__(
        self,
        nest: Nest | Op | Function,
        start: Start | Tree = "source",
        *,
        options: Options | None = None,
        prelude: Sequence[NestEdit] | None = None,
    ):
        self.nest, options = function_of(nest), Options() if options is None else options
        require_options(options)
        function = without_contents(self.nest)
        with isl.within(options.compile_seconds):
            usual = readable(function)
            edits = usual.edits if prelude is None else _edits_of(prelude)
            is_usual = edits == usual.edits
            model = modelled(usual.function, options) if is_usual else modelled_after(function, edits, options)
            draft = _begun(*model, start, options)
        history = History(self.nest.name, start, options, prelude=None if is_usual else edits)
        self._state = State(edits, history, draft)

    @property
    def prelude(self) -> tuple[NestEdit, ...]:
        """What is done to the nest before it is scheduled."""
        return self._state.prelude

    @property
    def history(self) -> History:
        return self._state.history

    @property
    def draft(self) -> Draft:
        return self._state.draft

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Those of the strategy that wrote the last edits; none if they are by hand, or there are none."""
        return self._state.written.decisions if self._state.written else ()

    @staticmethod
    def auto(nest: Nest | Op | Function, target: Target = "c", *, options: Options | None = None) -> Schedule:
        """What `optimize` does by itself, as a schedule that gives the same kernel, to be printed and changed.

        It is a script of edits, but where loops stay as they are or time runs out: then it starts from that tree. What
        is done to the nest before is its `prelude`; what was tuned counts for `optimize` alone. InputError for a nest
        that cannot be compiled.
        """
        options = Options() if options is None else options
        require_options(options)
        require_known(target)
        with isl.within(options.compile_seconds):
            return schedule_of(function_of(nest), _automatic(nest, TARGETS[target], options))

    def map(self, target: Target = "c") -> Schedule:
        """This schedule with tiles, threads and SIMD, or a grid, as `optimize` adds them for `target`: further edits,
        but where loops stay as they are or time runs out: then it starts from that tree. One that has marks says itself
        what runs how: for CPUs it stays as it is, and on a grid it gets the loops that are not marked, nor inside of
        such ones.

        InputError where that tree would lose what an edit says of data.
        """
        require_known(target)
        options, data = self.history.options, TARGETS[target]
        with isl.within(options.compile_seconds):
            if (unedited := as_options(self, options)) is not None:
                return schedule_of(self.nest, _automatic(self.nest, data, unedited))
            if marks_in(self.draft.nested):
                state = rest_mapped(self._state, data) if data.has_grid else self._state
                return self if state is self._state else schedule_of(self.nest, state)
            return schedule_of(self.nest, mapped(without_contents(self.nest), self._state, data))

    # --- edits

    reorder = method(edits.reorder)
    interchange = method(edits.interchange)
    skew = method(edits.skew)
    shift = method(edits.shift)
    reverse = method(edits.reverse)
    wavefront = method(edits.wavefront)
    diamond = method(edits.diamond)

    tile = method(edits.tile)
    cyclic = method(edits.cyclic)
    split = method(edits.split)
    peel = method(edits.peel)
    split_set = method(edits.split_set)
    specialize = method(edits.specialize)

    fuse = method(edits.fuse)
    distribute = method(edits.distribute)
    separate = method(edits.separate)

    unroll = method(edits.unroll)
    unroll_and_jam = method(edits.unroll_and_jam)
    vectorize = method(edits.vectorize)
    parallel = method(edits.parallel)
    collapse = method(edits.collapse)
    serial = method(edits.serial)
    prefetch = method(edits.prefetch)
    bind = method(edits.bind)
    product = method(edits.product)
    tensorize = method(edits.tensorize)

    cache_read = method(edits.cache_read)
    cache_write = method(edits.cache_write)
    privatize = method(edits.privatize)
    set_scope = method(edits.set_scope)
    pad = method(edits.pad)
    transform_layout = method(edits.transform_layout)
    fold_storage = method(edits.fold_storage)
    double_buffer = method(edits.double_buffer)

    inline = method(edits.inline)
    compute_at = method(edits.compute_at)
    reverse_compute_at = method(edits.reverse_compute_at)
    rfactor = method(edits.rfactor)
    online = method(edits.online)
    snapshot = method(edits.snapshot)
    time_tile = method(edits.time_tile)

    assume = method(edits.assume)
    independent = method(edits.independent)

    def apply(self, edits: Sequence[Edit]) -> Schedule:
        """All of the edits, as in Edit.of("tile", "i", "j", sizes=(8, 64)): the order that they leave is checked once.

        IllegalSchedule names the edit from which on it is illegal, as if all before it had been made one by one.
        """
        if not (isinstance(edits, Sequence) and all(isinstance(each, Edit) for each in edits)):
            raise InputError(f"the edits are {edits!r}, but are a list of polysched.Edit", hint=_AN_EDIT)
        plain = tuple(Edit.of(each.name, *each.args, **dict(each.kwargs)) for each in edits)
        number = len(self.history.edits) + 1
        return self._with(all_applied(self.draft, plain, self.history.options, number), *plain)

    # --- what there is

    @property
    def tree(self) -> Tree:
        """The schedule tree, in normal form, made when it is first read; BudgetExceeded where that takes longer than an
        edit may."""
        try:
            with isl.within(self.history.options.edit_seconds, self.history.options.isl_operations):
                return self.draft.tree
        except BudgetExceeded as error:
            message = f"which loops are permutable and parallel was not decided in time: {error}"
            raise BudgetExceeded(f"{message}\nhint: {MORE}") from error

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of all loops, outer ones first."""
        return tuple(each.name for each in loops(self.draft.nested))

    def __str__(self) -> str:
        return show_tree(self.tree, names=True)

    def plot(
        self,
        sizes: Mapping[str, int] | None = None,
        *,
        statements: Sequence[str] | None = None,
        before: Before = False,
    ) -> Any:
        """A matplotlib Figure of the iterations in this order, in source order with `before=True`, or in "both":
        dependences as arrows, hyperplanes as lines, tiles; what may run at the same time has one color.

        Small sizes are taken if none are given. PolyschedError if matplotlib, of the extra [report], is missing.
        """
        scop, trees = self.draft.scop, titled(self.draft.scop.tree, self.tree, before)
        return plot(scop, self.draft.dependences, trees, sizes=sizes, statements=statements)

    def _repr_html_(self) -> str:
        scop, trees = self.draft.scop, titled(self.draft.scop.tree, self.tree, "both")
        return notebook_html(scop, self.draft.dependences, trees, {"history": str(self.history)}, scop.name)

    def explain(self, *, line: int | None = None) -> str:
        """Why each loop, of the source and as it is after the edits, is or is not parallel, tiled, SIMD and fused, and
        what would change it; with `line`, only the loops around the statements of that source line."""
        found = "".join(map(str, self.history.edits))
        return explain(self.draft.scop, self.draft.dependences, self.tree, found=found, line=line)

    # --- its history

    def replay(self, nest: Nest | Function) -> Schedule:
        """The same edits of another nest, from its source order or its ILP's; what raises names the edit.

        InputError if this schedule started from a tree, which is of one nest alone.
        """
        if isinstance(self.history.start, Tree):
            raise InputError("a schedule that started from a tree fits its own nest alone", hint="start from 'source'")
        return _replayed(self.history, nest)

    def decision(self, key: str) -> Decision:
        """The one of its `decisions` with this key; InputError if there is none."""
        if self._state.written is None:
            hint = "ps.Schedule.auto(nest) and Schedule.map() have some; edit what decide() gives"
            raise InputError(f"this schedule has no decisions: {self.unwritten}", hint=hint)
        known = {decision.key: decision for decision in self.decisions}
        if key not in known:
            hint = f"the decisions are {', '.join(known)}" if known else "there is none"
            raise InputError(f"there is no decision {key!r}", hint=hint)
        return known[key]

    def decide(self, key: str, value: Value) -> Schedule:
        """The script with another answer to one of its `decisions`, as in decide("tile.i", 32): those made after it are
        made anew.

        InputError if there is no such decision or value, IllegalSchedule if what follows from it breaks a dependence.
        Only what a strategy wrote has decisions: `Compiled.schedule`, `auto` and `map`, before further edits.
        """
        self.decision(key)
        written = self._state.written
        assert written
        value = value.item() if isinstance(value, np.generic) else value
        with isl.within(written.given.options.compile_seconds):
            return schedule_of(self.nest, written.again({key: value}))

    def without(self, key: str) -> Schedule:
        """The script without what one of its `decisions` leads to: the answer is False, 0 or ""."""
        nothing = next((type(decision.value)() for decision in self.decisions if decision.key == key), 0)
        return self.decide(key, nothing)

    @property
    def unwritten(self) -> str:
        """Why there are no `decisions`; "" if there are."""
        if self._state.written:
            return ""
        by_hand = "its last edits were read or made by hand" if self.history.edits else "no strategy has written it"
        return self._state.unwritten or by_hand

    @property
    def script(self) -> str:
        """The history as Python: with `ps` and the nest in scope, it makes this schedule again."""
        return str(self.history)

    def to_json(self) -> str:
        """The history, to be read by `Schedule.from_json`, with what its strategy was given."""
        return self.history.to_json(self._state.written.given if self._state.written else None)

    @staticmethod
    def from_json(nest: Nest | Function, text: str) -> Schedule:
        """The schedule of the nest, whatever its name, with a history as `to_json` gives it, every edit checked again.

        It has its `decisions` again, unless the strategy would write other edits now: `unwritten` says so.
        """
        history, given = history_from_json(text)
        if given is None:
            return _replayed(history, nest)
        begun = _replayed(replace(history, edits=history.edits[: given.after]), nest)
        edits = history.edits[given.after :]
        with isl.within(given.options.compile_seconds):
            state = written_again(begun._state, given, edits)
        if isinstance(state, State):
            return schedule_of(begun.nest, state)
        return schedule_of(begun.nest, replace(begun.apply(edits)._state, unwritten=state))

    def to_yaml(self) -> str:
        """The tree in isl's YAML, which isl and PPCG read too."""
        return to_yaml(self.tree)

    @staticmethod
    def from_yaml(nest: Nest | Function, text: str, names: Mapping[str, str] | None = None) -> Schedule:
        """The schedule of the nest that isl's YAML describes, of PPCG too, checked.

        `names` says what statements of the text are called here, as in {"S_0": "S0"}; those called alike need none.
        """
        return Schedule(nest, renamed(from_yaml(text), names or {}))

    def _with(self, draft: Draft, *edits: Edit) -> Schedule:
        return schedule_of(self.nest, self._state.after(draft, edits))


def schedule_of(nest: Function, state: State) -> Schedule:
    made = object.__new__(Schedule)
    made.nest, made._state = nest, state
    return made


def _automatic(nest: Nest | Op | Function, target: TargetData, options: Options) -> State:
    function = without_contents(function_of(nest))
    return found(function, planned(function, target, options), target, options)


def as_options(schedule: Schedule, options: Options) -> Options | None:
    """The options with which the compiler's own way starts where the schedule does; None if it has edits."""
    match schedule.history:
        case History(start="ilp", edits=(), prelude=None):
            return options
        case History(start="source", edits=(), prelude=None):
            return replace(options, scheduler="source")
    return None


def left_to_meet(schedule: Schedule, options: Options) -> Options:
    """The options without the sizes that its strategy was asked for: its tiles have them."""
    written = schedule._state.written
    asked = written.given.options.constraints if written and not written.given.answers else ()
    left = tuple(each for each in options.constraints if not (isinstance(each, TileSizes) and each in asked))
    return replace(options, constraints=left)


def _edits_of(prelude: object) -> tuple[NestEdit, ...]:
    if isinstance(prelude, Sequence) and all(isinstance(edit, NestEdit) for edit in prelude):
        return tuple(prelude)
    hint = 'as in prelude=[ps.NestEdit.of("expand", "s")]'
    raise InputError(f"the prelude is {prelude!r}, but is a list of polysched.NestEdit", hint=hint)


def _begun(scop: Scop, dependences: Dependences, start: Start | Tree, options: Options) -> Draft:
    match start:
        case "source":
            tree = scop.tree
        case "ilp":
            tree = step("schedule", find_schedule, scop, dependences, options).tree
        case Tree():
            tree = require_form(start, scop.function.sizes)
        case Schedule():
            raise InputError("a schedule cannot start from another one", hint="edit that one, or give its .tree")
        case _:
            raise InputError(f"a schedule cannot start from {start!r}", hint="give 'source', 'ilp' or a tree")
    return draft_of(scop, dependences, tree)


def _replayed(history: History, nest: Nest | Function) -> Schedule:
    started = Schedule(nest, history.start, options=history.options, prelude=history.prelude)
    return started.apply(history.edits)
