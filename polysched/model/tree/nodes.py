"""The schedule tree: the order in which statement instances run, and nothing else (Verdoolaege et al., IMPACT 2014).

    Tree ::= Domain | Context | Band | Filter | InOrder | Set | Mark | Extension | Leaf

Every field that holds an isl object is a Set, UnionSet or UnionMap, so a tree pickles and can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from polysched.support import isl
from polysched.support.fields import with_fields
from polysched.support.remembered import remembered

M = TypeVar("M")


class Tree:
    """Base of the nodes."""


@dataclass(frozen=True, repr=False)
class Leaf(Tree):
    """Nothing is ordered below."""


@dataclass(frozen=True, repr=False)
class Domain(Tree):
    """The root: which instances run."""

    domain: isl.UnionSet
    child: Tree = Leaf()


@dataclass(frozen=True, repr=False)
class Context(Tree):
    """What is known of the sizes below."""

    context: isl.Set
    child: Tree = Leaf()


class Concurrent:
    """Base of the marks of loops whose iterations run at the same time, with private copies of the arrays that the loop
    `reduces`: they are updated by reductions, which it may carry."""

    reduces: tuple[str, ...]


@dataclass(frozen=True)
class Parallel(Concurrent):
    """On parallel threads."""

    reduces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Vector(Concurrent):
    """As SIMD lanes, in vectors of so many iterations, or as many as the compiler likes."""

    reduces: tuple[str, ...] = ()
    width: int = 0


WIDTHS = (0, 2, 4, 8, 16, 32, 64)  # 64 bytes are the widest vector


@dataclass(frozen=True)
class Map(Concurrent):
    """On this axis: "block.x", "thread.y", ..."""

    axis: str
    reduces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Serial:
    """One after the other, as iterations do without a mark."""


@dataclass(frozen=True)
class Unroll:
    """Unrolled."""


@dataclass(frozen=True)
class Full:
    """Over all of the values 0, 1, ..., size - 1, with a guard inside where there are fewer."""

    size: int


@dataclass(frozen=True)
class Product:
    """The loops from here on run this statement alone, a sum of products over a box: code generation makes it a product
    of "packed" matrices, or "dots", dot products with their terms in any order."""

    statement: str
    kind: Literal["packed", "dots"] = "packed"


@dataclass(frozen=True)
class Tensor:
    """The loop, over terms, and the two inside, over rows and columns, run one statement, a sum of products over a box,
    by tensor instructions of a warp; factors are copied to shared memory so many chunks of terms ahead."""

    instruction: str  # by its name in `model/instructions/`
    stages: int  # of copies of one chunk each, used in turn


@dataclass(frozen=True)
class Intrinsic:
    """The loops from here on, as many as the instruction's, run one statement by an instruction of the user's, tile by
    tile where tiles are full."""

    instruction: str  # by its name
    version: str  # by what it was defined as


@dataclass(frozen=True)
class Prefetch:
    """What it reads of the array so many iterations later is fetched ahead of time."""

    array: str
    ahead: int


LoopMark = Parallel | Vector | Map | Serial | Unroll | Full | Product | Tensor | Intrinsic | Prefetch
BESIDE = (Full, Prefetch)  # marks that leave open how a loop runs


_KINDS = {Parallel: "parallel", Vector: "vector", Unroll: "unrolled", Tensor: "tensor", Intrinsic: "foreign"}


def kind_of(mark: LoopMark) -> str:
    """That of the `For` that a loop with the mark becomes."""
    match mark:
        case Map(axis=kind) | Product(kind=kind):
            return kind
    return _KINDS.get(type(mark), "serial")


@dataclass(frozen=True)
class Member:
    """One dimension of a band: instances run by increasing value of `schedule`."""

    schedule: isl.UnionMap  # { S[i, j] -> [i + j] }, single-valued and total on what reaches the band
    coincident: bool = False  # it carries no dependence inside the band's parents: its iterations are parallel
    name: str = field(default="", compare=False)  # by which schedules by hand know the loop; "" if none has asked
    marks: tuple[LoopMark, ...] = ()  # how it runs; what the last one says goes before the others

    @property
    def function(self) -> isl.UnionPwAff:
        """`schedule` as one function for each statement."""
        return _function(self.schedule)

    @property
    def pieces(self) -> list[isl.Aff]:
        """The affine functions that it is made of."""
        parts = self.function.get_pw_aff_list()
        return [aff for k in range(parts.n_pw_aff()) for _, aff in parts.get_at(k).get_pieces()]

    @property
    def rounds(self) -> bool:
        """Does it divide and round, as loops over tiles do?"""
        return any(aff.dim(isl.dim_type.div) > 0 for aff in self.pieces)

    def iterators(self, statement: str) -> set[int]:
        """The positions of the statement's iterators that it is a function of."""
        kind = isl.dim_type.in_
        own = (aff for aff in self.pieces if aff.get_domain_space().get_tuple_name(isl.dim_type.set) == statement)
        return {k for aff in own for k in range(aff.dim(kind)) if aff.involves_dims(kind, k, 1)}


@remembered
def _function(schedule: isl.UnionMap) -> isl.UnionPwAff:
    return schedule.as_union_pw_multi_aff().get_union_pw_aff(0)


@dataclass(frozen=True, repr=False)
class Band(Tree):
    """Nested loops; `permutable` when every order of the members is legal, so they can be tiled. A member with marks
    begins a band."""

    members: tuple[Member, ...]
    permutable: bool = False
    child: Tree = Leaf()
    separate: bool = False  # in code, each range of its first member that runs the same statements is a loop of its own

    def __post_init__(self) -> None:
        assert not any(member.marks for member in self.members[1:]), "a loop with marks begins a band"

    def within(self, instances: isl.UnionSet) -> Band:
        """The loops for these instances alone, around what they were around."""
        rows = (replace(member, schedule=member.schedule.intersect_domain(instances)) for member in self.members)
        return replace(self, members=tuple(rows))


@dataclass(frozen=True, repr=False)
class Filter(Tree):
    """Only these instances below; children of InOrder and Set are filters."""

    filter: isl.UnionSet
    child: Tree = Leaf()


@dataclass(frozen=True, repr=False)
class InOrder(Tree):
    """The children run one after the other."""

    children: tuple[Filter, ...]


@dataclass(frozen=True, repr=False)
class Set(Tree):
    """The children run in any order."""

    children: tuple[Filter, ...]


@dataclass(frozen=True)
class Kernel:
    """What lies below is one kernel of the target."""

    name: str


@dataclass(frozen=True)
class Storage:
    """Each arrival at the node below has arrays of its own by these names, which nothing else knows."""

    arrays: tuple[str, ...]


@dataclass(frozen=True)
class Wait:
    """In a kernel, around all loops over threads: the threads of a block wait for each other before what is below."""


MarkValue = LoopMark | Kernel | Storage | Wait


@dataclass(frozen=True, repr=False)
class Mark(Tree):
    """A note to code generation about this place."""

    mark: Kernel | Storage | Wait
    child: Tree = Leaf()


@dataclass(frozen=True, repr=False)
class Extension(Tree):
    """Adds instances below: { [outer schedule] -> copy[i] }."""

    extension: isl.UnionMap
    child: Tree = Leaf()


def children(tree: Tree) -> tuple[Tree, ...]:
    """The nodes directly below."""
    match tree:
        case Leaf():
            return ()
        case InOrder(children=below) | Set(children=below):
            return below
        case _:
            return (tree.child,)  # type: ignore[attr-defined]


def with_children(tree: Any, below: tuple[Any, ...]) -> Any:
    """The node over these children; the same object if they are its own."""
    if all(new is old for new, old in zip(below, children(tree), strict=True)):
        return tree
    match tree:
        case Leaf():
            return tree
        case InOrder() | Set():
            return with_fields(tree, children=below)
        case _:
            return with_fields(tree, child=below[0])


def walk(tree: Tree) -> Iterator[Tree]:
    """The node and all below it, parents first."""
    yield tree
    for child in children(tree):
        yield from walk(child)


def reached(
    tree: Tree, instances: isl.UnionSet, around: tuple[Band, ...] = ()
) -> Iterator[tuple[Tree, isl.UnionSet, tuple[Band, ...]]]:
    """The node and all below it, parents first, with those of the instances that reach it, and the bands around it."""
    match tree:
        case Domain(domain=domain):
            instances = domain
        case Filter(filter=passing):
            instances = instances.intersect(passing)
    yield tree, instances, around
    inside = (*around, tree) if isinstance(tree, Band) else around
    for child in children(tree):
        yield from reached(child, instances, inside)


def own_marks(node: Tree) -> tuple[MarkValue, ...]:
    """What the node itself is marked with; of a band, its first loop."""
    match node:
        case Mark(mark=mark):
            return (mark,)
        case Band(members=(first, *_)):
            return first.marks
    return ()


def mark_of(node: Tree, kind: type[M]) -> M | None:
    """The last of the node's own marks that is of this kind."""
    return next((mark for mark in reversed(own_marks(node)) if isinstance(mark, kind)), None)


def word(tree: Tree) -> str:
    """What a printed tree calls the node."""
    return "sequence" if isinstance(tree, InOrder) else type(tree).__name__.lower()


def marks_in(tree: Tree) -> list[MarkValue]:
    """All marks of the node and all below it."""
    return [mark for node in walk(tree) for mark in own_marks(node)]


def with_marks(band: Band, marks: tuple[LoopMark, ...]) -> Band:
    """The band with these marks of its first loop."""
    first, *others = band.members
    return replace(band, members=(replace(first, marks=marks), *others))


def marked_as(band: Band, mark: LoopMark) -> Band:
    """The band with one more mark of its first loop."""
    return with_marks(band, (*band.members[0].marks, mark))


def without_loop_marks(tree: Tree) -> Tree:
    """The order alone: how loops run is left out."""
    below = tuple(without_loop_marks(child) for child in children(tree))
    if isinstance(tree, Band):
        tree = replace(tree, members=tuple(replace(member, marks=()) for member in tree.members))
    return with_children(tree, below)


def is_innermost(band: Band) -> bool:
    """Is there no other band below it?"""
    return not any(isinstance(node, Band) for node in walk(band.child))


def nest_of(tree: Tree) -> tuple[tuple[Member, ...], Tree]:
    """The loops that follow one another from the node on, outermost first, and what is in them: a mark ends them."""
    members: tuple[Member, ...] = ()
    while isinstance(tree, Band) and not (members and own_marks(tree)):
        members, tree = (*members, *tree.members), tree.child
    return members, tree
