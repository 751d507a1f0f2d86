"""Loops of a tree by name: handles that survive edits.

    band: i, j                            i          loop(tree, "i")
      sequence                            j          loop(tree, "j")
        filter: S0   band: k     ->       k, k_2     matching(tree, "k*") == ("k", "k_2")
        filter: S1   band: k              k_2        matching(tree, "S1.k") == ("k_2",)

All here is about trees whose bands have one member each, as `nested` makes them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import reduce
from itertools import pairwise

from polysched.errors import InputError
from polysched.model.extents import largest
from polysched.model.loop_names import free, named
from polysched.model.tree.nodes import (
    BESIDE,
    Band,
    Context,
    Domain,
    Filter,
    InOrder,
    Member,
    Product,
    Set,
    Tree,
    children,
    mark_of,
    own_marks,
    with_children,
)
from polysched.support import isl
from polysched.support.remembered import remembered


@remembered
def nested(tree: Tree) -> Tree:
    """`tree` with every member in a band of its own, and a name for each; names that it has stay."""
    return named(_one_member_each(tree))


@remembered
def _one_member_each(tree: Tree) -> Tree:
    below = tuple(_one_member_each(child) for child in children(tree))
    if not isinstance(tree, Band):
        return with_children(tree, below)
    first, *others = tree.members
    if not (others or first.coincident or tree.permutable or tree.separate):
        return with_children(tree, below)
    return nest([replace(member, coincident=False) for member in tree.members], below[0])


def nest(members: Sequence[Member], child: Tree) -> Tree:
    """Loops with a band for each, outermost first."""
    for member in reversed(members):
        child = Band((member,), False, child)
    return child


@dataclass(frozen=True)
class Loop:
    """A band of one member, and where it stands."""

    name: str
    band: Band
    path: tuple[int, ...]  # which child to go to, from the root on
    instances: isl.UnionSet  # those that reach it
    around: tuple[Band, ...]  # the loops around it, outermost first

    @property
    def member(self) -> Member:
        return self.band.members[0]

    @property
    def bands(self) -> tuple[Band, ...]:
        """The loops around it, and itself."""
        return (*self.around, self.band)

    @property
    def iterations(self) -> isl.UnionMap:
        """{ S[i, j] -> [values of these loops] }"""
        return coordinates_of(self.bands, self.instances)

    @property
    def statements(self) -> tuple[str, ...]:
        """Names of the statements that it runs."""
        return statements_in(self.instances)

    def is_around(self, other: Loop) -> bool:
        """Is the other inside of it, or itself?"""
        return other.path[: len(self.path)] == self.path


@remembered
def statements_in(instances: isl.UnionSet) -> tuple[str, ...]:
    """The names of those that have some of the instances."""
    return tuple(s.get_tuple_name() or "" for s in isl.sets_of(instances) if not s.is_empty())


def loops(tree: Tree) -> tuple[Loop, ...]:
    """All loops of the tree, outer ones first."""
    assert isinstance(tree, Domain)
    return _loops(tree, (), tree.domain, ())


@remembered
def _loops(
    tree: Tree, path: tuple[int, ...], instances: isl.UnionSet, around: tuple[Band, ...]
) -> tuple[Loop, ...]:
    """Parts of a tree that an edit leaves, with all that is around them, are not walked again."""
    own: tuple[Loop, ...] = ()
    if isinstance(tree, Filter):
        instances = _passing(instances, tree.filter)
    if isinstance(tree, Band):
        own, around = (Loop(tree.members[0].name, tree, path, instances, around),), (*around, tree)
    below = (_loops(child, _step(path, k), instances, around) for k, child in enumerate(children(tree)))
    return sum(below, own)


@remembered
def _step(path: tuple[int, ...], k: int) -> tuple[int, ...]:
    return (*path, k)


@remembered
def _by_name(tree: Tree) -> Mapping[str, Loop]:
    """Those of which no other has the name."""
    often = Counter(each.name for each in loops(tree))
    return {each.name: each for each in loops(tree) if often[each.name] == 1}


@remembered
def _passing(instances: isl.UnionSet, filter: isl.UnionSet) -> isl.UnionSet:
    return instances.intersect(filter)


def loop(tree: Tree, name: str) -> Loop:
    """The one loop of that name, or that a pattern as in `matching` fits; InputError if it is none or several."""
    if place := _by_name(tree).get(name):
        return place
    found = _matching(tree, name)
    if len(found) == 1:
        return found[0]
    known = ", ".join(each.name for each in loops(tree)) or "none"
    if not found:
        raise InputError(f"there is no loop '{name}'", hint=f"the loops are: {known}")
    several = ", ".join(each.name for each in found)
    raise InputError(f"'{name}' may be any of the loops {several}", hint="name one of them")


def below_context(tree: Domain) -> tuple[int, ...]:
    """The way to what the whole nest runs."""
    return (0, 0) if isinstance(tree.child, Context) else (0,)


def unmarked(tree: Tree, name: str, *, may_be_full: bool = False) -> Loop:
    """The loop of that name as by `loop`; InputError if it has a mark, even the one that says that it is full, or if a
    product has it."""
    place = loop(tree, name)
    products = [mark_of(band, Product) for band in place.around]
    own = [mark for mark in place.member.marks if not (may_be_full and isinstance(mark, BESIDE))]
    marks = [type(mark).__name__.lower() for mark in (*products, *own) if mark is not None]
    if marks:
        raise InputError(f"loop '{place.name}' is marked {marks[-1]} already", hint="edit loops before they are marked")
    return place


def matching(tree: Tree, pattern: str) -> tuple[str, ...]:
    """The names of the loops that a pattern fits: "i", "k*", or "S1.k", those around statement S1 that are called k or,
    where that name was taken, k_2, k_3, ...; InputError if there is none."""
    found = tuple(each.name for each in _matching(tree, pattern))
    if not found:
        known = ", ".join(each.name for each in loops(tree)) or "none"
        raise InputError(f"no loop fits '{pattern}'", hint=f"the loops are: {known}")
    return found


def _matching(tree: Tree, pattern: str) -> list[Loop]:
    statement, dot, name = pattern.rpartition(".")
    return [each for each in loops(tree) if _fits(each, statement if dot else None, name)]


def _fits(loop: Loop, statement: str | None, name: str) -> bool:
    if statement is None:
        return fnmatchcase(loop.name, name)
    is_around = any(fnmatchcase(each, statement) for each in loop.statements)
    return is_around and any(fnmatchcase(each, name) for each in (loop.name, re.sub(r"_\d+$", "", loop.name)))


def arrival(place: Loop) -> isl.UnionMap:
    """{ S[i, j] -> [values of the loops around] }"""
    return coordinates_of(place.around, place.instances.universe())


def coordinates_of(bands: Sequence[Band], instances: isl.UnionSet) -> isl.UnionMap:
    """{ instance -> [value in each loop] }"""
    return _coordinates(instances, [band.members[0].schedule for band in bands])


def _coordinates(instances: isl.UnionSet, loops: Sequence[isl.UnionMap]) -> isl.UnionMap:
    none = isl.UnionMap.from_domain_and_range(instances.universe(), isl.UnionSet("{ [] }"))
    return reduce(isl.UnionMap.flat_range_product, loops, none).intersect_domain(instances)


def most_iterations(place: Loop, context: isl.Set | None = None) -> int | None:
    """A constant that the loop's last value less its first one, plus one, never exceeds, whatever the values of the
    loops around; for sizes in the context, if there is one. None if there is no such constant."""
    instances = place.instances if context is None else place.instances.intersect_params(context)
    return longest(place.member.schedule, instances, *(band.members[0].schedule for band in place.around))


@remembered
def longest(schedule: isl.UnionMap, instances: isl.UnionSet, *around: isl.UnionMap) -> int | None:
    """The same of these values in one iteration of the loops around."""
    values = _coordinates(instances, around).reverse().apply_range(schedule).coalesce()
    spans = values.reverse().apply_range(values).deltas()
    if spans.is_empty():
        return 0
    most = largest(isl.Set.from_union_set(spans))
    return int(most.to_python()) + 1 if most.is_int() else None


def fresh(tree: Tree, name: str) -> str:
    """The name itself, or with a number if a loop of the tree has it."""
    return free(name, {each.name for each in loops(tree)})


def given(tree: Tree, name: str) -> str:
    """A name that the user gives to a new loop; InputError if it is no word, or if a loop of the tree has it."""
    require_word(name, "loop")
    taken = [each.name for each in loops(tree)]
    if name in taken:
        raise InputError(f"the name '{name}' is taken", hint=f"the loops are: {', '.join(taken)}")
    return name


def all_given(tree: Tree, names: Sequence[str]) -> list[str]:
    """Names as by `given`; InputError if one is given twice."""
    if len(set(names)) < len(names):
        raise InputError(f"a name is given twice in {', '.join(names)}")
    return [given(tree, name) for name in names]


def require_word(name: str, what: str) -> None:
    """InputError unless the name is one that edits can be given."""
    if not re.fullmatch(r"[a-zA-Z_]\w*", name, re.ASCII):
        raise InputError(f"'{name}' is no name for a new {what}", hint="a name has letters, digits and _, as in 'i_o'")


def node_at(tree: Tree, path: Sequence[int]) -> Tree:
    """The node that the path leads to."""
    for k in path:
        tree = children(tree)[k]
    return tree


def changed_at(tree: Tree, path: Sequence[int], change: Callable[[Tree], Tree]) -> Tree:
    """`tree` with another node where the path leads."""
    if not path:
        return change(tree)
    first, *rest = path
    below = list(children(tree))
    below[first] = changed_at(below[first], rest, change)
    return with_children(tree, tuple(below))


def with_member(tree: Tree, path: Sequence[int], member: Member) -> Tree:
    """`tree` with another member in the band where the path leads."""

    def change(band: Tree) -> Tree:
        assert isinstance(band, Band)
        return replace(band, members=(member,))

    return changed_at(tree, path, change)


class Imperfect(InputError):
    """Loops that do not follow one another, because other statements are in the outer one, too."""

    def __init__(self, outer: Loop, inner: Loop, node: InOrder | Set):
        self.outer, self.inner, self.node = outer, inner, node
        inside = (s.get_tuple_name() or "" for each in node.children for s in isl.sets_of(each.filter))
        names = list(dict.fromkeys(inside))
        statements = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:]))) or "statements that never run"
        super().__init__(f"a sequence of {statements} is {_between(outer, inner)}")


def _between(outer: Loop, inner: Loop) -> str:
    return f"between the loops '{outer.name}' and '{inner.name}'"


def chain(tree: Tree, names: Sequence[str]) -> list[Loop]:
    """The loops of these names, outermost first; InputError if they are not nested with nothing but other loops in
    between, as loops around a sequence are not nested with those inside (Imperfect), or if one of them is marked."""
    if not names:
        raise InputError("no loop is named")
    found = sorted((unmarked(tree, name) for name in names), key=lambda each: len(each.path))
    if len({each.name for each in found}) < len(names):
        raise InputError(f"a loop is named twice in {', '.join(names)}")
    for outer, inner in pairwise(found):
        if not outer.is_around(inner):
            raise InputError(f"loop '{inner.name}' is not inside of loop '{outer.name}'")
        node: Tree = outer.band
        for k in inner.path[len(outer.path) :]:
            node = children(node)[k]
            for mark in own_marks(node):
                what = f"the mark {type(mark).__name__.lower()} is {_between(outer, inner)}"
                raise InputError(what, hint="edit loops before they are marked")
            if isinstance(node, InOrder | Set):
                raise Imperfect(outer, inner, node)
    return found


def adjacent(tree: Tree, names: Sequence[str]) -> list[Loop]:
    """The loops of these names as by `chain`; InputError if others are between them."""
    found = chain(tree, names)
    if len({len(place.path) - k for k, place in enumerate(found)}) > 1:
        raise InputError(f"other loops are between {', '.join(names)}", hint="reorder them first")
    return found
