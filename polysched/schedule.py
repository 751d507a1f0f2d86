"""Schedules by hand: each edit is checked against the exact dependences, and refused with a witness.

    s = ps.Schedule(seidel).skew("i", by="t").skew("j", by="t").skew("j", by="i").tile("t", "i", "j", sizes=(8, 16, 64))
    done = ps.optimize(seidel, schedule=s)

A schedule does not change: each edit gives another one, or raises IllegalSchedule. Loops are known by name, as they are
printed; a name stays with its loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec

from polysched import isl
from polysched.brief import brief
from polysched.entry import entries
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError, PolyschedError
from polysched.explain.text import explain
from polysched.frontend.python import Nest
from polysched.history import Edit, History, Start, history_from_json
from polysched.ir.contents import without_contents
from polysched.ir.nodes import Function
from polysched.model.tree import Tree
from polysched.model.tree_form import require_form
from polysched.model.tree_names import renamed
from polysched.model.tree_text import show_tree
from polysched.model.tree_yaml import from_yaml, to_yaml
from polysched.options import Options, require_options
from polysched.plain import plain_arguments
from polysched.plot.draw import Before, plot, titled
from polysched.plot.notebook import notebook_html
from polysched.prepare import function_of, modelled, prepared
from polysched.solve.scheduler import find_schedule
from polysched.trace import step, timed
from polysched.transform.hand.assume import assume, independent
from polysched.transform.hand.bind import Axis, bind
from polysched.transform.hand.cache import cache_read, cache_write
from polysched.transform.hand.compute_at import compute_at
from polysched.transform.hand.diamond import diamond
from polysched.transform.hand.distribute import distribute
from polysched.transform.hand.double_buffer import double_buffer
from polysched.transform.hand.edit import Draft, draft_of
from polysched.transform.hand.fuse import fuse
from polysched.transform.hand.inline import inline
from polysched.transform.hand.loops import loops
from polysched.transform.hand.pad import pad
from polysched.transform.hand.parallel import parallel
from polysched.transform.hand.peel import peel
from polysched.transform.hand.privatize import privatize
from polysched.transform.hand.reorder import interchange, reorder
from polysched.transform.hand.reverse import reverse
from polysched.transform.hand.reverse_compute import reverse_compute_at
from polysched.transform.hand.rfactor import rfactor
from polysched.transform.hand.set_scope import set_scope
from polysched.transform.hand.shift import shift
from polysched.transform.hand.skew import skew
from polysched.transform.hand.split import Tail, split
from polysched.transform.hand.split_set import split_set
from polysched.transform.hand.storage import Scope
from polysched.transform.hand.tile import tile
from polysched.transform.hand.unroll import unroll, unroll_and_jam
from polysched.transform.hand.vectorize import vectorize
from polysched.transform.hand.wavefront import wavefront

P = ParamSpec("P")


def edit(method: Callable[Concatenate[Schedule, P], Draft]) -> Callable[Concatenate[Schedule, P], Schedule]:
    """A method that gives the draft of an edit, as one that gives the schedule after it, which remembers the edit."""

    @wraps(method)
    def edited(self: Schedule, *args: P.args, **kwargs: P.kwargs) -> Schedule:
        plain, named = plain_arguments(method, args, kwargs)
        done, options = Edit(method.__name__, plain, tuple(named.items())), self.history.options
        try:
            with isl.within(options.edit_seconds, options.isl_operations):
                draft = timed(method.__name__, lambda schedule: method(schedule, *plain, **named), self)
        except BudgetExceeded as error:
            hint = "edit in another order, or allow more, as in Options(edit_seconds=60, isl_operations=10**9)"
            message = f"{done}: whether that is legal was not decided in time: {error}"
            raise IllegalSchedule(message, hint=hint) from error
        return self._with(draft, done)

    edited.is_edit = True  # type: ignore[attr-defined]
    edited.__annotations__ = {**method.__annotations__, "return": "Schedule"}  # for help() and editors
    edited.__signature__ = signature(method, eval_str=True).replace(return_annotation="Schedule")  # type: ignore[attr-defined]
    return edited


@entries
class Schedule:
    """A legal order of the nest's iterations, to be edited; from source order, from the ILP's, or from a tree."""

    nest: Function
    history: History
    draft: Draft

    def __repr__(self) -> str:
        return brief(self, f"{self.nest.name}: loops {', '.join(self.loops)}; edits: {len(self.history.edits)}")

    def __init__(self, nest: Nest | Function, start: Start | Tree = "source", *, options: Options | None = None):
        self.nest, options = function_of(nest), Options() if options is None else options
        require_options(options)
        with isl.within(options.compile_seconds):
            self.draft = _begun(without_contents(self.nest), start, options)
        self.history = History(self.nest.name, start, options)

    # --- edits

    @edit
    def reorder(self, *loops: str) -> Draft:
        """The loops in the order in which they are named, outermost first; others stay where they are."""
        return reorder(self.draft, loops)

    @edit
    def interchange(self, one: str, other: str) -> Draft:
        """Two loops in each other's place."""
        return interchange(self.draft, one, other)

    @edit
    def skew(self, name: str, by: str, factor: int = 1) -> Draft:
        """The loop with `factor` times one around it added; always legal."""
        return skew(self.draft, name, by, factor)

    @edit
    def tile(self, *loops: str, sizes: Sequence[int], names: Sequence[str] = ()) -> Draft:
        """The loops in blocks of these sizes; the loops over blocks are called `names`, or i_o for i."""
        return tile(self.draft, loops, sizes, names)

    @edit
    def split(self, name: str, size: int, tail: Tail = "cut", names: Sequence[str] = ()) -> Draft:
        """The loop as one over blocks of `size` iterations and one inside; a block in part is "cut" short, or has a
        "guard", or the blocks are "exact"."""
        return split(self.draft, name, size, tail, names)

    @edit
    def wavefront(self, *loops: str, name: str = "") -> Draft:
        """The sum of nested loops in the place of the outermost of them; the others inside are parallel."""
        return wavefront(self.draft, loops, name)

    @edit
    def diamond(self, outer: str, inner: str, size: int, names: Sequence[str] = ()) -> Draft:
        """Two nested loops of a stencil in diamonds, which may all start at once along a wavefront."""
        return diamond(self.draft, outer, inner, size, names)

    @edit
    def shift(self, statements: str, name: str, by: int) -> Draft:
        """Instances of the statements, a pattern, so much later along a loop, or earlier."""
        return shift(self.draft, statements, name, by)

    @edit
    def reverse(self, name: str) -> Draft:
        """The loop from its last iteration to the first."""
        return reverse(self.draft, name)

    @edit
    def peel(self, name: str, first: int = 0, last: int = 0) -> Draft:
        """The first and last iterations of the loop apart, before and after it; always legal."""
        return peel(self.draft, name, first, last)

    @edit
    def split_set(self, name: str, at: str) -> Draft:
        """The loop for the instances with a condition such as "i < j", then for the others; "n // 2" is short for
        those before."""
        return split_set(self.draft, name, at)

    @edit
    def fuse(self, *loops: str, shift: int | None = None) -> Draft:
        """Loops that follow one another as one; the later runs `shift` iterations late, None being the least legal."""
        return fuse(self.draft, loops, shift)

    @edit
    def distribute(self, name: str, before: str = "") -> Draft:
        """The loop cut in two before a statement, or into as many loops as its dependences allow."""
        return distribute(self.draft, name, before)

    @edit
    def assume(self, facts: str) -> Draft:
        """For sizes of which these affine conditions hold, as in "n >= 32 and n % 32 == 0"; other calls are refused."""
        return assume(self.draft, facts)

    @edit
    def independent(self, source: str = "*", sink: str = "*", array: str = "*") -> Draft:
        """Without the dependences between two statements through an array, patterns all; taken on trust."""
        return independent(self.draft, source, sink, array)

    @edit
    def unroll(self, name: str, factor: int | None = None) -> Draft:
        """The loop unrolled: all of it, if it is short, or blocks of `factor` iterations."""
        return unroll(self.draft, name, factor)

    @edit
    def unroll_and_jam(self, name: str, factor: int) -> Draft:
        """The loop in blocks of `factor` iterations, which are unrolled in the innermost loops inside."""
        return unroll_and_jam(self.draft, name, factor)

    @edit
    def vectorize(self, name: str) -> Draft:
        """The innermost loop as SIMD lanes."""
        return vectorize(self.draft, name)

    @edit
    def parallel(self, name: str) -> Draft:
        """The loop with its iterations on threads."""
        return parallel(self.draft, name)

    @edit
    def bind(self, loops: str | Sequence[str], axis: Axis, threads: int | None = None) -> Draft:
        """A loop, or several, on an axis of the GPU's grid: "blockIdx.x", "threadIdx.y", ...; `threads` take turns."""
        return bind(self.draft, loops, axis, threads)

    @edit
    def cache_read(self, array: str, at: str | None, scope: Scope = "private", name: str = "") -> Draft:
        """What each iteration of loop `at`, or the nest, reads of an array, first copied to a small one, A_c for A."""
        return cache_read(self.draft, array, at, scope, name)

    @edit
    def cache_write(self, array: str, at: str | None, scope: Scope = "private", name: str = "") -> Draft:
        """What each iteration of loop `at`, or the nest, uses of an array in a small one, which is copied back."""
        return cache_write(self.draft, array, at, scope, name)

    @edit
    def privatize(self, array: str, at: str, scope: Scope = "private", name: str = "") -> Draft:
        """For what each iteration of loop `at` uses of an array, one of its own, t_p for t; no value may cross."""
        return privatize(self.draft, array, at, scope, name)

    @edit
    def set_scope(self, array: str, scope: Scope) -> Draft:
        """A small array in "private" (or "local"), "shared" or "global" memory."""
        return set_scope(self.draft, array, scope)

    @edit
    def pad(self, array: str, dim: int = -1, extra: int = 1) -> Draft:
        """A small array with `extra` more elements along a dimension, which nothing uses."""
        return pad(self.draft, array, dim, extra)

    @edit
    def double_buffer(self, array: str) -> Draft:
        """A small array filled one iteration ahead of what reads it, in two buffers by turns."""
        return double_buffer(self.draft, array)

    @edit
    def inline(self, array: str) -> Draft:
        """Every read of the array replaced by the expression that is stored there."""
        return inline(self.draft, array)

    @edit
    def compute_at(self, array: str, at: str, scope: Scope = "private") -> Draft:
        """What each iteration of loop `at` reads of the array computed in it, in a small one, b_at for b."""
        return compute_at(self.draft, array, at, scope)

    @edit
    def reverse_compute_at(self, array: str, at: str) -> Draft:
        """What writes the array moved into loop `at`, each instance when all that it needs of the loop has run."""
        return reverse_compute_at(self.draft, array, at)

    @edit
    def rfactor(self, name: str, target: str, scope: Scope = "private") -> Draft:
        """A reduction into an array, or by a statement, summed up for each iteration of the loop and added after it."""
        return rfactor(self.draft, name, target, scope)

    # --- what there is

    @property
    def tree(self) -> Tree:
        """The schedule tree, in normal form."""
        return self.draft.tree

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
        dependences as arrows, hyperplanes as lines, tiles; what may run at the same time has one colour.

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

    def to_json(self) -> str:
        """The history, to be read by `Schedule.from_json`."""
        return self.history.to_json()

    @staticmethod
    def from_json(nest: Nest | Function, text: str) -> Schedule:
        """The schedule of the nest with a history as `to_json` gives it, every edit checked again."""
        return _replayed(history_from_json(text), nest)

    def to_yaml(self) -> str:
        """The tree in isl's YAML, which isl and PPCG read too."""
        return to_yaml(self.tree)

    @staticmethod
    def from_yaml(nest: Nest | Function, text: str, names: Mapping[str, str] | None = None) -> Schedule:
        """The schedule of the nest that isl's YAML describes, of PPCG too, checked.

        `names` says what statements of the text are called here, as in {"S_0": "S0"}; those called alike need none.
        """
        return Schedule(nest, renamed(from_yaml(text), names or {}))

    def _with(self, draft: Draft, edit: Edit) -> Schedule:
        other = object.__new__(Schedule)
        other.nest, other.draft = self.nest, draft
        other.history = replace(self.history, edits=(*self.history.edits, edit))
        return other


def _begun(nest: Function, start: Start | Tree, options: Options) -> Draft:
    scop, dependences = modelled(prepared(nest), options)
    match start:
        case "source":
            tree = scop.tree
        case "ilp":
            tree = step("schedule", find_schedule, scop, dependences, options).tree
        case Tree():
            tree = require_form(start, scop.function.sizes)
        case _:
            raise InputError(f"a schedule cannot start from {start!r}", hint="give 'source', 'ilp' or a tree")
    return draft_of(scop, dependences, tree)


def _replayed(history: History, nest: Nest | Function) -> Schedule:
    schedule = Schedule(nest, history.start, options=history.options)
    for number, one in enumerate(history.edits, 1):
        try:
            schedule = _again(schedule, one)
        except PolyschedError as error:
            error.add_note(f"in edit {number} of the history: {one}")
            raise
    return schedule


def _again(schedule: Schedule, one: Edit) -> Schedule:
    if one.name not in EDITS:
        raise InputError(f"there is no edit '{one.name}'", hint=f"the edits are: {', '.join(sorted(EDITS))}")
    method, named = getattr(schedule, one.name), dict(one.kwargs)
    try:
        signature(method).bind(*one.args, **named)
    except TypeError as error:
        raise InputError(f"{one}: {error}") from None
    return method(*one.args, **named)


EDITS = frozenset(name for name, method in vars(Schedule).items() if hasattr(method, "is_edit"))
