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
from typing import Concatenate, ParamSpec

from polysched.errors import InputError, PolyschedError
from polysched.frontend.python import Nest
from polysched.history import Edit, History, Start, history_from_json
from polysched.ir.nodes import Function
from polysched.model.tree import Tree
from polysched.model.tree_names import renamed
from polysched.model.tree_text import show_tree
from polysched.model.tree_yaml import from_yaml, to_yaml
from polysched.options import Options
from polysched.prepare import function_of, modelled, prepared
from polysched.solve.scheduler import find_schedule
from polysched.trace import step
from polysched.transform.hand.assume import assume, independent
from polysched.transform.hand.edit import Draft, draft_of
from polysched.transform.hand.fuse import fuse
from polysched.transform.hand.loops import loops
from polysched.transform.hand.parallel import parallel
from polysched.transform.hand.reorder import interchange, reorder
from polysched.transform.hand.skew import skew
from polysched.transform.hand.tile import tile

P = ParamSpec("P")


def edit(method: Callable[Concatenate[Schedule, P], Draft]) -> Callable[Concatenate[Schedule, P], Schedule]:
    """A method that gives the draft of an edit, as one that gives the schedule after it, which remembers the edit."""

    @wraps(method)
    def edited(self: Schedule, *args: P.args, **kwargs: P.kwargs) -> Schedule:
        draft = step(method.__name__, lambda schedule: method(schedule, *args, **kwargs), self)
        return self._with(draft, Edit(method.__name__, args, tuple(kwargs.items())))

    edited.is_edit = True  # type: ignore[attr-defined]
    return edited


class Schedule:
    """A legal order of the nest's iterations, to be edited; from source order, from the ILP's, or from a tree."""

    nest: Function
    history: History
    draft: Draft

    def __init__(self, nest: Nest | Function, start: Start | Tree = "source", *, options: Options | None = None):
        self.nest, options = function_of(nest), options or Options()
        scop, dependences = modelled(prepared(self.nest), options)
        match start:
            case "source":
                tree = scop.tree
            case "ilp":
                tree = step("schedule", find_schedule, scop, dependences, options).tree
            case Tree():
                tree = start
            case _:
                raise InputError(f"a schedule cannot start from {start!r}", hint="give 'source', 'ilp' or a tree")
        self.draft = draft_of(scop, dependences, tree)
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
    def fuse(self, *loops: str, shift: int | None = None) -> Draft:
        """Loops that follow one another as one; the later runs `shift` iterations late, None being the least legal."""
        return fuse(self.draft, loops, shift)

    @edit
    def assume(self, facts: str) -> Draft:
        """For sizes of which these affine conditions hold, as in "n >= 32 and n % 32 == 0"; other calls are refused."""
        return assume(self.draft, facts)

    @edit
    def independent(self, source: str = "*", sink: str = "*", array: str = "*") -> Draft:
        """Without the dependences between two statements through an array, patterns all; taken on trust."""
        return independent(self.draft, source, sink, array)

    @edit
    def parallel(self, name: str) -> Draft:
        """The loop with its iterations on threads."""
        return parallel(self.draft, name)

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


def _replayed(history: History, nest: Nest | Function) -> Schedule:
    schedule = Schedule(nest, history.start, options=history.options)
    for number, one in enumerate(history.edits, 1):
        if one.name not in EDITS:
            raise InputError(f"there is no edit '{one.name}'", hint=f"the edits are: {', '.join(sorted(EDITS))}")
        try:
            schedule = getattr(schedule, one.name)(*one.args, **dict(one.kwargs))
        except (PolyschedError, TypeError) as error:
            error.add_note(f"in edit {number} of the history: {one}")
            raise
    return schedule


EDITS = frozenset(name for name, method in vars(Schedule).items() if hasattr(method, "is_edit"))
