"""Structures that a region goes to by pointers: they are there where the text goes to them, and perhaps nowhere else.

    for (i = 0; i < p->n; i++)          p is always read: the kernel may read p->n and p->x before all loops
        p->x[i] = q->x[i];              q is read if p->n > 0, which is a condition of the kernel then

A structure stays where it is, since a nest stores no pointers; but that a store of characters changes a pointer, or one
of integers a member that is a size, has to be tested when the kernel is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from polysched.frontend.c.file.names import Decl, Key, Member, key
from polysched.frontend.c.file.source import Source
from polysched.frontend.c.proofs import Proofs
from polysched.frontend.c.variables import Variables
from polysched.ir.node import walk
from polysched.ir.nodes import Unary, Var
from polysched.model.known import Where, narrowed


@dataclass
class Structures:
    """Where a region goes to structures, in the order of its text."""

    places: dict[Key, list[Where]] = field(default_factory=dict)  # by the pointer
    members: dict[Key, Member] = field(default_factory=dict)  # one that each pointer leads to

    def come_to(self, member: Member, where: Where) -> None:
        for pointer in member.pointers:
            self.members.setdefault(key(pointer), member)
            self.places.setdefault(key(pointer), []).append(where)

    def conditions(self, source: Source, proofs: Proofs, variables: Variables) -> dict[Key, tuple[str, ...]]:
        """When the region surely goes to each of them, as C; not for those that it always goes to. Each may use
        what those before it guard. InputError where that depends on data."""
        always = {pointer for pointer, places in self.places.items() if any(map(_is_always, _together(places)))}
        found: dict[Key, tuple[str, ...]] = {}
        for pointer, places in self.places.items():
            if pointer in always:
                continue
            usable = (where for where in _together(places) if _leads(where, proofs, variables) <= always | found.keys())
            tests = (_reached(where, proofs, variables) for where in usable)
            known = next((each for each in tests if each is not None), None)
            if known is None:
                member = self.members[pointer]
                message = f"'{member.spelling}' is used only where data tells so, and may be nowhere otherwise"
                raise source.error(member.node, message, "copy it to a variable before the region")
            found[pointer] = known
        return found


def _together(places: list[Where]) -> list[Where]:
    """With the place before a branch for each two of which one is reached where the other is not."""
    found = list(places)
    known = {(where.loops, where.guards) for where in found}
    for where in found:  # which grows
        if where.guards:
            *before, last = where.guards
            if (where.loops, (*before, Unary("!", last))) in known and (where.loops, tuple(before)) not in known:
                known.add((where.loops, tuple(before)))
                found.append(Where(where.loops, tuple(before), where.loc))
    return found


def _is_always(where: Where) -> bool:
    return not where.loops and not where.guards


def _leads(where: Where, proofs: Proofs, variables: Variables) -> set[Key]:
    """The pointers that the sizes of a place are read by."""
    names = [*proofs.space(where).sizes]
    for name in names:  # which grow
        names += [part.name for part in walk(variables.factors.get(name, ())) if isinstance(part, Var)]
    decls = (variables.decls[name] for name in names if name in variables.decls)
    return {key(pointer) for decl in decls for pointer in pointers(decl)}


def _reached(where: Where, proofs: Proofs, variables: Variables) -> tuple[str, ...] | None:
    """When the region surely comes to a place, as tests in C; None if that cannot be said.

    The text means what its numbers do where the assumptions hold, so that these are tests, too.
    """
    space = proofs.space(where)
    known = space.universe
    for condition in where.conditions:
        known, is_exact = narrowed(known, condition, space)
        if not is_exact:
            return None
    text = proofs.text(known.params(), space.sizes)
    ranges = [test for size in space.sizes for test in variables.range_of(size)]
    behind = [test for test in proofs.assumptions if _is_behind(test) and test not in ranges]
    if not text or (behind and any(_is_behind(variables.expressions[size]) for size in space.sizes)):
        return None
    plain = (assumption for assumption in proofs.assumptions if assumption not in behind)
    return tuple(test for test in dict.fromkeys((*ranges, *plain, text)) if test != "1")


def _is_behind(text: str) -> bool:
    """Does the C text read what a pointer leads to?"""
    return "->" in text or ("[" in text and not text.startswith("sizeof("))


def guarded(decl: Decl, text: str, conditions: dict[Key, tuple[str, ...]]) -> str:
    """The value of a number, `text`, where its structure is there, else 0."""
    order = list(conditions)
    last = max((order.index(key(pointer)) for pointer in pointers(decl) if key(pointer) in conditions), default=-1)
    tests = dict.fromkeys(test for pointer in order[: last + 1] for test in conditions[pointer])
    return f"({' && '.join(tests)} ? {text} : 0)" if tests else text


def pointers(decl: Decl) -> Iterator[Decl]:
    """What leads to a member, the last one first."""
    return decl.pointers if isinstance(decl, Member) else iter(())
