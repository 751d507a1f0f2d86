"""A schedule while a strategy writes it: edits are made at once, and checked together at the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from polysched.constraints import Constraint, TileSizes
from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.errors import IllegalSchedule, InputError, PolyschedError
from polysched.model.scop import Scop
from polysched.model.tree import Band, Member, Product, Tree, children, mark_of
from polysched.options import Options
from polysched.solve.honoured import unmet
from polysched.strategy.decision import Decision, Value
from polysched.trace import left_out, step, verifies_each
from polysched.transform.hand.applied import applied
from polysched.transform.hand.draft import Draft
from polysched.transform.hand.loops import loops
from polysched.transform.hand.reduces import with_reduces
from polysched.transform.hand.registry import Edit
from polysched.transform.roles import Around

T = TypeVar("T", bool, int, str)
R = TypeVar("R")


@dataclass
class Script:
    """The draft so far, and the edits that made it. Its order may be illegal until it is checked."""

    draft: Draft
    options: Options
    answers: Mapping[str, Value] = field(default_factory=dict)  # to decisions, by key, in place of the strategy's own
    edits: list[Edit] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    refusal: PolyschedError | None = None  # of the last edit that was refused

    def pick(self, key: str, value: T, candidates: Sequence[T], why: str) -> T:
        """The value, or the user's answer to that; recorded. InputError for an answer that is none."""
        decision = Decision(key, value, tuple(candidates), why)
        if key in self.answers:
            decision = decision.or_else(self.answers[key])
        self.decisions.append(decision)
        return decision.value  # type: ignore[return-value]  # of the same type

    def phase(self, name: str, write: Callable[..., R], *args: Any, meets: bool = True) -> R | None:
        """What `write` adds to the script, as a named step; nothing where an edit is refused that no answer of the
        user's led to, or where it would break one of the user's constraints, which it otherwise `meets`."""
        before, found = self.state, list[R]()

        def written(_: Tree) -> Tree:
            found.append(write(self, *args))
            return self.tree

        try:
            after = step(name, written, before.draft.tree)
        except (InputError, IllegalSchedule) as error:
            self.undo(before, name, error)
            return None
        if after is not before.draft.tree and verifies_each():
            require_legal(with_reduces(after, self.dependences), self.dependences, self.scop)
        if meets and (missed := unmet(after, self.scop, self.dependences, self.options.constraints)):
            self._require_no_tiles(name, missed)
            self.back_to(before)
            return None
        return found[0]

    def _require_no_tiles(self, name: str, missed: Sequence[Constraint]) -> None:
        if asked := [each for each in self.options.constraints if name == "tile" and isinstance(each, TileSizes)]:
            sizes, others = (" and ".join(map(str, each)) for each in (asked, missed))
            raise IllegalSchedule(f"{sizes} and {others} contradict each other")

    @property
    def state(self) -> Script:
        """The script as it is now, to go back to."""
        return replace(self, edits=[*self.edits], decisions=[*self.decisions])

    def undo(self, before: Script, name: str, error: PolyschedError) -> None:
        """Leaves a step out because of an edit that was refused; raises what no edit, or the user's answers, led to."""
        if self.answers or error is not self.refusal:
            raise error
        left_out(name, error)
        self.back_to(before)

    def back_to(self, before: Script) -> None:
        """Forgets what was written since."""
        self.draft, self.edits, self.decisions = before.draft, [*before.edits], [*before.decisions]

    def says(self, key: str, why: str) -> bool:
        """Is something that pays to be done?"""
        return self.pick(key, True, (False, True), why)

    def do(self, name: str, *args: Any, **kwargs: Any) -> None:
        """One edit more."""
        edit = Edit.of(name, *args, **kwargs)
        try:
            self.draft = applied(replace(self.draft, waits=True), edit, self.options)
        except PolyschedError as error:
            error.add_note(f"edit {len(self.edits) + 1} of the script: {edit}")
            self.refusal = error
            raise
        self.edits.append(edit)

    def reorder(self, names: Sequence[str]) -> None:
        """Nested loops in this order, if they are in another one."""
        if self.in_order(names) != [*names]:
            self.do("reorder", *names)

    def block(self, name: str, size: int, letter: str) -> str:
        """The loop in blocks of so many iterations; the name of that over the blocks."""
        block = f"{word(name)}_{letter}"
        self.do("tile", name, sizes=(size,), names=(block,))
        return block

    def in_order(self, names: Iterable[str]) -> list[str]:
        """The loops as they stand in the tree."""
        wanted = set(names)
        return [each.name for each in loops(self.draft.nested) if each.name in wanted]

    @property
    def tree(self) -> Tree:
        """In normal form."""
        return self.draft.tree

    @property
    def scop(self) -> Scop:
        return self.draft.scop

    @property
    def dependences(self) -> Dependences:
        return self.draft.dependences

    def bands(self) -> list[tuple[Band, Around]]:
        """The bands, outer ones first, with what is around each; not those of products, which are left alone."""
        return list(_bands(self.tree, Around((), self.dependences.coincidence)))


def _bands(tree: Tree, around: Around) -> Iterator[tuple[Band, Around]]:
    if mark_of(tree, Product):
        return
    if isinstance(tree, Band):
        yield tree, around
    below = around.below(tree)
    for child in children(tree):
        yield from _bands(child, below)


def names_of(members: Sequence[Member]) -> list[str]:
    return [member.name for member in members]


def word(name: str) -> str:
    """A name for a new loop that is made of that of another one: 2t+i gives l2t_i."""
    plain = re.sub(r"\W+", "_", name.replace("-", "neg_")).strip("_")
    return plain if plain[:1].isalpha() else f"l{plain}"
