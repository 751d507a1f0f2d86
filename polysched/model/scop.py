"""The polyhedral view of a nest: what runs (domains), what it touches (access relations), in which order (tree)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from polysched.errors import Loc
from polysched.ir.nodes import Array, Function, Stmt
from polysched.model.tree.nodes import Tree
from polysched.support import isl
from polysched.support.brief import brief


@dataclass(frozen=True, kw_only=True)
class Access:
    """One read or write of an array by a statement."""

    array: str
    relation: isl.Map  # { S[i, j] -> A[i + 1, j] }; single-valued when exact, the whole array when unknown
    must: bool = True  # False: the element may be touched, or another one of the relation (over-approximation)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What one instance runs: `body`, with the iterators bound."""

    name: str
    iterators: tuple[str, ...]  # names of the domain's dimensions, outermost first
    domain: isl.Set  # { S[i, j] : ... }, the values the user's loop variables take
    writes: tuple[Access, ...]
    reads: tuple[Access, ...]
    body: tuple[Stmt, ...]  # IR over the iterators, sizes and arrays; guards that are not affine stay inside
    loc: Loc | None = None
    reduction: str = ""  # "+", "*", "min", "max" when the body is a[f] = a[f] op e, else ""

    def __repr__(self) -> str:
        return brief(self, f"{self.name}: {self.domain}")

    @property
    def depth(self) -> int:
        return len(self.iterators)

    @property
    def instances(self) -> isl.UnionSet:
        return isl.UnionSet.from_set(self.domain)

    @property
    def accesses(self) -> tuple[Access, ...]:
        return (*self.reads, *self.writes)

    def instance(self, iteration: Iterable[int]) -> str:
        """As in "S[i=0, j=1]"."""
        values = zip(self.iterators, iteration, strict=True)
        return f"{self.name}[{', '.join(f'{name}={value}' for name, value in values)}]"

    @property
    def place(self) -> list[str]:
        """The lines that show where it is in the source, if that is known."""
        return [f"{self.loc}: {self.name}", *self.loc.caret().splitlines()] if self.loc else []


@dataclass(frozen=True, kw_only=True)
class Scop:
    """A nest as sets and relations; equal domains mean equal instances."""

    name: str
    context: isl.Set  # { : ... } what is known of the sizes, one convex set
    valid_sizes: isl.Set  # { : ... } the sizes for which every exact access is in bounds; checked at each call
    statements: tuple[Statement, ...]  # in source order
    arrays: tuple[Array, ...]  # parameters and temporaries
    tree: Tree  # source order
    function: Function  # where it came from
    kills: isl.UnionMap = field(default_factory=lambda: isl.UnionMap("{ }"))  # { S[i] -> t[] }: dead before S[i]
    dead: tuple[Statement, ...] = ()  # with the instances that are left out: nothing reads what they store

    def __repr__(self) -> str:
        return brief(self, f"{self.name}: {', '.join(each.name for each in self.statements)}")

    def statement(self, name: str) -> Statement:
        """The statement of that name; KeyError if there is none."""
        return {s.name: s for s in self.statements}[name]

    @cached_property
    def domain(self) -> isl.UnionSet:
        return isl.union_set(s.domain for s in self.statements)

    @cached_property
    def reads(self) -> isl.UnionMap:
        return isl.union_map(a.relation.intersect_domain(s.domain) for s in self.statements for a in s.reads)

    @cached_property
    def writes(self) -> isl.UnionMap:
        return isl.union_map(a.relation.intersect_domain(s.domain) for s in self.statements for a in s.writes)
