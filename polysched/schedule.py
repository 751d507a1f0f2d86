"""Schedules by hand: each edit is checked against the exact dependences, and refused with a witness.

    s = ps.Schedule(seidel).skew("i", by="t").skew("j", by="t").skew("j", by="i").tile("t", "i", "j", sizes=(8, 16, 64))
    done = ps.optimize(seidel, schedule=s)

A schedule does not change: each edit gives another one, or raises IllegalSchedule. Loops are known by name, as they are
printed; a name stays with its loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec

from polysched.errors import InputError
from polysched.frontend.python import Nest
from polysched.ir.nodes import Function
from polysched.model.tree import Tree
from polysched.model.tree_text import show_tree
from polysched.options import Options
from polysched.prepare import function_of, modelled, prepared
from polysched.solve.scheduler import find_schedule
from polysched.trace import step
from polysched.transform.hand.edit import Draft, draft_of
from polysched.transform.hand.loops import loops
from polysched.transform.hand.parallel import parallel
from polysched.transform.hand.reorder import interchange, reorder
from polysched.transform.hand.skew import skew
from polysched.transform.hand.tile import tile

Start = Literal["source", "ilp"]
P = ParamSpec("P")


@dataclass(frozen=True)
class Step:
    """One edit: its name and what it was given, all of it plain data."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()


def edit(method: Callable[Concatenate[Schedule, P], Draft]) -> Callable[Concatenate[Schedule, P], Schedule]:
    """A method that gives the draft of an edit, as one that gives the schedule after it, which remembers the edit."""

    @wraps(method)
    def edited(self: Schedule, *args: P.args, **kwargs: P.kwargs) -> Schedule:
        draft = step(method.__name__, lambda schedule: method(schedule, *args, **kwargs), self)
        return self._with(draft, Step(method.__name__, args, tuple(kwargs.items())))

    return edited


class Schedule:
    """A legal order of the nest's iterations, to be edited; from source order, from the ILP's, or from a tree."""

    nest: Function
    options: Options
    start: Start | Tree
    history: tuple[Step, ...]
    draft: Draft

    def __init__(self, nest: Nest | Function, start: Start | Tree = "source", *, options: Options | None = None):
        self.nest, self.options, self.start, self.history = function_of(nest), options or Options(), start, ()
        scop, dependences = modelled(prepared(self.nest), self.options)
        match start:
            case "source":
                tree = scop.tree
            case "ilp":
                tree = step("schedule", find_schedule, scop, dependences, self.options).tree
            case Tree():
                tree = start
            case _:
                raise InputError(f"a schedule cannot start from {start!r}", hint="give 'source', 'ilp' or a tree")
        self.draft = draft_of(scop, dependences, tree)

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

    def _with(self, draft: Draft, edit: Step) -> Schedule:
        other = object.__new__(Schedule)
        other.nest, other.options, other.start = self.nest, self.options, self.start
        other.history, other.draft = (*self.history, edit), draft
        return other
