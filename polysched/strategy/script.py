"""A schedule while a strategy writes it: edits are made at once, and checked together at the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from polysched.config.constraints import Constraint, TileSizes
from polysched.config.heuristics.cpu import SIZES_TRIED
from polysched.config.options import Options
from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.errors import IllegalSchedule, InputError, PolyschedError
from polysched.model.loop_names import free
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Member, Product, Tree, mark_of, marks_in
from polysched.solve.constraints.honoured import unmet
from polysched.strategy.decision import Decision, Value, sizes_around
from polysched.support.trace import left_out, timed, verifies_each
from polysched.transform.analysis.roles import Around
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.loops import loops
from polysched.transform.edits.base.reduces import with_reduces
from polysched.transform.edits.base.registry import Edit

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
        """The value, or the user's answer to that; recorded. InputError for an invalid answer."""
        decision = Decision(key, value, tuple(candidates), why)
        if key in self.answers:
            decision = decision.or_else(self.answers[key])
        self.decisions.append(decision)
        return decision.value  # type: ignore[return-value]  # of the same type

    def size(self, key: str, size: int, why: str, powers: range = SIZES_TRIED) -> int:
        """The size, of those and powers of two, or the user's answer."""
        return self.pick(key, size, sizes_around(size, powers), why)

    def sizes(self, what: str) -> dict[str, int]:
        """What was decided of so many loops, by their names."""
        sizes = {each.key: each.value for each in self.decisions if isinstance(each.value, int)}
        return {key.removeprefix(f"{what}."): size for key, size in sizes.items() if key.startswith(f"{what}.")}

    def phase(self, name: str, write: Callable[..., R], *args: Any, meets: bool = True) -> R | None:
        """What `write` adds to the script, as a named step; nothing where an edit is refused, or where it would break a
        constraint of the user's, which it otherwise `meets`. Raises if the user's answer to a decision led to that."""
        before, found = self.state, list[R]()

        def written(_: Tree) -> Tree:
            found.append(write(self, *args))
            return self.tree

        after = self.attempt(name, lambda: timed(name, written, before.draft.tree))
        if after is None:
            return None
        if after is not before.draft.tree and verifies_each():
            require_legal(with_reduces(after, self.dependences), self.dependences, self.scop)
        if meets and (missed := unmet(after, self.scop, self.dependences, self.options.constraints)):
            self._require_unasked(name, before, missed)
            self.back_to(before)
            return None
        return found[0]

    def _require_unasked(self, name: str, before: Script, missed: Sequence[Constraint]) -> None:
        """IllegalSchedule if the user has asked for what misses these constraints."""
        tiles = [each for each in self.options.constraints if name == "tile" and isinstance(each, TileSizes)]
        if asked := [str(each) for each in (*tiles, *self._answered(before))]:
            one, other = (" and ".join(map(str, each)) for each in (asked, missed))
            raise IllegalSchedule(f"{one} and {other} contradict each other")

    def _answered(self, before: Script) -> list[str]:
        """The user's answers that were taken since."""
        since = self.decisions[len(before.decisions) :]
        return [f"{each.key} = {each.value!r}" for each in since if each.key in self.answers]

    @property
    def state(self) -> Script:
        """The script as it is now, to go back to."""
        return replace(self, edits=[*self.edits], decisions=[*self.decisions])

    def attempt(self, name: str, write: Callable[[], R]) -> R | None:
        """What `write` gives, which adds to the script; None, and nothing is added, where an edit is refused. Raises
        what no edit, or an answer of the user's, led to."""
        before = self.state
        try:
            return write()
        except (InputError, IllegalSchedule) as error:
            if error is not self.refusal or self._answered(before):
                raise
            left_out(name, error)
            self.back_to(before)
            return None

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
            self.draft = edit.made(replace(self.draft, waits=True))
        except (InputError, IllegalSchedule) as error:
            error.add_note(f"edit {len(self.edits) + 1} of the script: {edit}")
            raise self.refused(error) from error.__cause__
        self.edits.append(edit)

    def refused(self, error: PolyschedError) -> PolyschedError:
        """The error, for which a phase may be left out."""
        self.refusal = error
        return error

    def to_front(self, name: str, members: Sequence[Member]) -> None:
        """One loop around the others of a permutable band."""
        self.reorder([name, *(each for each in names_of(members) if each != name)])

    def reorder(self, names: Sequence[str]) -> None:
        """Nested loops in this order, if they are in another one."""
        if self.in_order(names) != [*names]:
            self.do("reorder", *names)

    def keep(self) -> None:
        """Where nothing runs in parallel, a mark that says so: without any, the script would be mapped once more."""
        outermost = [each.name for each in loops(self.draft.nested) if not each.around]
        for name in outermost if not marks_in(self.draft.nested) else ():
            self.do("serial", name)

    def block(self, name: str, size: int, letter: str) -> str:
        """The loop in blocks of so many iterations; the name of that over the blocks."""
        (block,) = self.named(letter, name)
        self.do("tile", name, sizes=(size,), names=(block,))
        return block

    def named(self, letter: str, *names: str) -> list[str]:
        """A name that is free for a new loop made of each of these."""
        taken = {each.name for each in loops(self.draft.nested)}
        found = []
        for name in names:
            found.append(free(f"{_word(name)}_{letter}", taken))
            taken.add(found[-1])
        return found

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

    @property
    def around(self) -> Around:
        """What is above the tree: nothing."""
        return Around((), self.dependences.coincidence)

    def bands(self, *, inner_first: bool = False) -> list[tuple[Band, Around]]:
        """The bands, outer ones first or last, with what is around each; those of products are left alone."""
        nodes = self.around.walk(self.tree, lambda node: mark_of(node, Product), inner_first=inner_first)
        return [(node, around) for node, around in nodes if isinstance(node, Band)]


def names_of(members: Sequence[Member]) -> list[str]:
    return [member.name for member in members]


def _word(name: str) -> str:
    """2t+i gives l2t_i."""
    plain = re.sub(r"\W+", "_", name.replace("-", "neg_")).strip("_")
    return plain if plain[:1].isalpha() else f"l{plain}"
