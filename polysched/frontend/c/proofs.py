"""What is known at a place of a region, and what must hold there: shown, assumed of the parameters, or refused.

    for (unsigned i = 1; i < n; i++)
        A[i - 1]                          i - 1 >= 0: shown by the loop
    for (unsigned i = 0; i < n - 1; i++)  n - 1 >= 0: an assumption, "n >= 1"
        A[i - 1]                          i - 1 >= 0: refused, it fails whenever the loop runs
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from polysched import isl
from polysched.errors import InputError
from polysched.frontend.c.types import greatest
from polysched.ir.dtypes import DType, i64
from polysched.ir.node import children, walk
from polysched.ir.nodes import Alloc, Binary, Const, Expr, For, If, Load, Select, Stmt, Store, Unary, Var
from polysched.model.affine import AffineSpace, NotAffine
from polysched.model.loops import loop_conditions


@dataclass(frozen=True)
class Where:
    """A place in a nest: the loops around it, outermost first, and conditions that hold there."""

    loops: tuple[For, ...] = ()
    guards: tuple[Expr, ...] = ()

    def inside(self, loop: For) -> Where:
        return replace(self, loops=(*self.loops, loop))

    def given(self, condition: Expr) -> Where:
        return replace(self, guards=(*self.guards, condition))

    @property
    def conditions(self) -> list[Expr]:
        return [*(c for loop in self.loops for c in loop_conditions(loop)), *self.guards]


def _narrowed(known: isl.Set, condition: Expr, space: AffineSpace) -> isl.Set:
    match condition:
        case Binary("&&", left, right):
            return _narrowed(_narrowed(known, left, space), right, space)
        case Unary("!", Binary("||", left, right)):
            return _narrowed(_narrowed(known, Unary("!", left), space), Unary("!", right), space)
    try:
        return known.intersect(space.where(condition))
    except NotAffine:
        return known


class Unproven(InputError):
    """What would have to hold cannot be shown."""


_USUAL = 100


def _is_usual(good: isl.Set, sizes: tuple[str, ...]) -> bool:
    """Does the condition hold where all parameters are of one moderate size? m <= n does, and n <= 0 does not."""
    space = AffineSpace("", (), sizes)
    values = (space.where(Binary("==", Var(size), Const(_USUAL))).params() for size in sizes)
    return bool(reduce(isl.Set.intersect, values, space.universe.params()).is_subset(good))


@dataclass
class Proofs:
    """Requirements of one region; `assumptions` collects those on parameters, as C conditions."""

    types: Mapping[str, DType]  # of the integer variables that may be sizes, as C declares them
    expressions: Mapping[str, str]  # how C spells them
    assumptions: list[str] = field(default_factory=list)
    sparing: bool = False  # assume only what holds for usual sizes: there is another way to read the text

    def require(self, condition: Expr, where: Where) -> None:
        """Unproven if the condition may fail, and parameters alone do not tell; NotAffine if it is not affine."""
        space = self.space(where, (condition,))
        sizes = space.sizes
        instances = self.instances(where, space)
        bad = instances.subtract(space.where(condition)).params()
        if bad.is_empty():
            return
        if instances.params().is_subset(bad):
            raise Unproven("it does whenever the loops around it run")
        varies = {node.name for node in walk(condition) if isinstance(node, Var)} & set(space.iterators)
        good = bad.complement() if varies else space.where(condition).params()
        if self.sparing and not _is_usual(good, sizes):
            raise Unproven("it does for usual parameters")
        text = self.text(good, sizes) or self.text(good.complement().remove_divs().complement(), sizes)
        if not text:
            raise Unproven("no simple condition on the parameters prevents it")
        if text not in self.assumptions:
            self.assumptions.append(text)

    def shows(self, condition: Expr, where: Where) -> bool:
        """Does the condition hold wherever that place is reached?"""
        space = self.space(where, (condition,))
        try:
            return bool(self.instances(where, space).is_subset(space.where(condition)))
        except NotAffine:
            return False

    def space(self, where: Where, expressions: Iterable[Expr] = ()) -> AffineSpace:
        """The instances at a place; its sizes are the integers that the expressions and the place name."""
        iterators = tuple(loop.var for loop in where.loops)
        mentioned = (node for node in walk((*expressions, *where.conditions)) if isinstance(node, Var))
        names = {node.name for node in mentioned if node.dtype == i64 and node.name in self.types}
        return AffineSpace("", iterators, tuple(sorted(names - {*iterators})))

    def instances(self, where: Where, space: AffineSpace) -> isl.Set:
        """{ [i, j] : ... } that may come there; conditions on data are left out."""
        known = reduce(lambda known, condition: _narrowed(known, condition, space), where.conditions, space.universe)
        return known.intersect_params(self.ranges(space.sizes))

    def ranges(self, sizes: Iterable[str]) -> isl.Set:
        """{ : 0 <= n <= greatest value of its type }"""
        space = AffineSpace("", (), tuple(sorted(sizes)))
        known = space.universe
        for size in sizes:
            most = min(greatest(self.types[size]), (1 << 63) - 1)
            for condition in (Binary(">=", Var(size), Const(0)), Binary("<=", Var(size), Const(most))):
                known = known.intersect(space.where(condition))
        return known.params()

    def text(self, good: isl.Set, sizes: tuple[str, ...]) -> str:
        """The condition in C; "" if it needs more than sums and comparisons."""
        simple = good.coalesce().gist(self.ranges(sizes)).coalesce().remove_redundancies()
        text = isl.AstBuild.from_context(self.ranges(sizes)).expr_from_set(simple).to_C_str()
        if re.search(r"[%?]|floord|min|max|/", re.sub(rf"\b({'|'.join(sizes)})\b", "", text)):
            return ""
        alone = re.fullmatch(r"\w+ [<>=]+ \d+", text) is not None

        def spelled(found: re.Match[str]) -> str:
            name = self.expressions.get(found[0], found[0])
            return name if alone or found[0] not in self.types else f"(long long){name}"

        text = re.sub(r"\b[A-Za-z_]\w*\b", spelled, text)
        return f"({text})" if "||" in text else text


def accesses(body: tuple[Stmt, ...], where: Where = Where()) -> Iterator[tuple[Load | Store, Where]]:
    """Every access of a nest, and the place where it happens."""
    for stmt in body:
        match stmt:
            case Store(index=index, value=value):
                for expr in (*index, value):
                    yield from _loads(expr, where)
                yield stmt, where
            case For(lo=lo, hi=hi, body=inner):
                for expr in (lo, hi):
                    yield from _loads(expr, where)
                yield from accesses(inner, where.inside(stmt))
            case If(cond, then, other):
                yield from _loads(cond, where)
                yield from accesses(then, where.given(cond))
                yield from accesses(other, where.given(Unary("!", cond)))
            case Alloc():
                pass
            case _:
                raise TypeError(f"a region has no {type(stmt).__name__}")


def _loads(expr: Expr, where: Where) -> Iterator[tuple[Load | Store, Where]]:
    match expr:
        case Load(index=index):
            for subscript in index:
                yield from _loads(subscript, where)
            yield expr, where
        case Select(cond, then, other):
            yield from _loads(cond, where)
            yield from _loads(then, where.given(cond))
            yield from _loads(other, where.given(Unary("!", cond)))
        case Binary("&&" | "||" as op, left, right):
            yield from _loads(left, where)
            yield from _loads(right, where.given(left if op == "&&" else Unary("!", left)))
        case _:
            for child in children(expr):
                yield from _loads(child, where)
