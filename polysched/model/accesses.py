"""What one statement reads and writes, as relations from its instances to array elements.

    if i > 0: t = a[i - 1]              reads  { S[i] -> a[i - 1] : i > 0 }
    b[c[i]] = t              ->         reads  { S[i] -> c[i] }
                                        writes { S[i] -> b[x] : 0 <= x < n }, may
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from polysched.errors import InputError, Loc
from polysched.ir.node import children, walk
from polysched.ir.nodes import (
    Alloc,
    Array,
    Binary,
    Call,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
)
from polysched.ir.text import show
from polysched.model.affine import AffineSpace, NotAffine
from polysched.model.scop import Access
from polysched.support import isl


def accesses(
    body: tuple[Stmt, ...], space: AffineSpace, arrays: dict[str, Array]
) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    """Reads and writes of an instance that runs `body`; a read that an earlier write of the body covers is left out.

    Data-dependent subscripts and conditions over-approximate: any element, and may instead of must. InputError for
    subscripts in iterators and sizes alone that are not affine: but of a remainder by the extent, which is any element,
    nothing could show that they stay in bounds.
    """
    collector = _Collector(space, arrays)
    collector.statements(body, _Where(space.universe, True))
    return tuple(collector.reads), tuple(collector.writes)


_HINT = "use a dimension for each index, as in A[i, j] for A[i * n + j]; or load the subscript from an array"


@dataclass(frozen=True)
class _Where:
    """For which instances the walk reaches this point; `must`: whether it surely does for all of them."""

    instances: isl.Set
    must: bool


@dataclass
class _Collector:
    space: AffineSpace
    arrays: dict[str, Array]
    reads: list[Access] = field(default_factory=list)
    writes: list[Access] = field(default_factory=list)
    loc: Loc | None = None  # of the statement at hand

    def statements(self, body: tuple[Stmt, ...], where: _Where) -> None:
        for stmt in body:
            self.statement(stmt, where)

    def statement(self, stmt: Stmt, where: _Where) -> None:
        self.loc = stmt.loc
        match stmt:
            case Store(array=array, index=index, value=value):
                for expr in (*index, value):
                    self.expression(expr, where)
                self.write(array, index, where)
            case If(cond=cond, then=then, other=other):
                self.expression(cond, where)
                self.statements(then, self.given(where, cond))
                self.statements(other, self.given(where, Unary("!", cond)))
            case For(lo=lo, hi=hi, body=body):
                self.expression(lo, where)
                self.expression(hi, where)
                self.statements(body, replace(where, must=False))
            case Let(value=value):
                self.expression(value, where)
            case Alloc():
                pass
            case _:
                raise AssertionError(f"a source nest has no {type(stmt).__name__}")

    def expression(self, expr: Expr, where: _Where) -> None:
        match expr:
            case Load(array=array, index=index):
                for subscript in index:
                    self.expression(subscript, where)
                self.read(array, index, where)
            case Select(cond=cond, then=then, other=other):
                self.expression(cond, where)
                self.expression(then, self.given(where, cond))
                self.expression(other, self.given(where, Unary("!", cond)))
            case Binary(op="&&" | "||" as op, left=left, right=right):
                self.expression(left, where)
                self.expression(right, self.given(where, left if op == "&&" else Unary("!", left)))
            case _:
                for child in children(expr):
                    self.expression(child, where)

    def given(self, where: _Where, cond: Expr) -> _Where:
        """`where` narrowed to the instances for which `cond` holds, as far as that is known."""
        match cond:
            case Binary(op="&&", left=left, right=right):
                return self.given(self.given(where, left), right)
            case Unary(op="!", arg=Binary(op="||", left=left, right=right)):
                return self.given(self.given(where, Unary("!", left)), Unary("!", right))
        try:
            return replace(where, instances=where.instances.intersect(self.space.where(cond)))
        except NotAffine:
            return replace(where, must=False)

    def read(self, array: str, index: tuple[Expr, ...], where: _Where) -> None:
        if array not in self.arrays:
            return  # a temporary of this very instance
        relation, exact = self.relation(array, index, where)
        for write in self.writes:
            if write.must and write.array == array:
                relation = relation.subtract(write.relation)
        _add(self.reads, Access(array=array, relation=relation, must=exact and where.must))

    def write(self, array: str, index: tuple[Expr, ...], where: _Where) -> None:
        if array not in self.arrays:
            return
        relation, exact = self.relation(array, index, where)
        _add(self.writes, Access(array=array, relation=relation, must=exact and where.must))

    def relation(self, name: str, index: tuple[Expr, ...], where: _Where) -> tuple[isl.Map, bool]:
        """{ S[i] -> A[subscripts] }, and whether every subscript was affine."""
        array, exact = self.arrays[name], True
        relation = isl.Map.from_domain_and_range(where.instances, isl.Set("{ [] }"))
        for subscript, extent in zip(index, array.shape, strict=True):
            try:
                dimension = isl.Map.from_pw_aff(self.space.function(subscript))
            except NotAffine as error:
                if self.is_known(subscript) and not _is_remainder(subscript, extent):
                    raise InputError(
                        f"subscript '{show(subscript)}' of '{name}' is not affine: {show(error.expr)}", self.loc, _HINT
                    ) from error
                dimension, exact = self.any_element(extent), False
            relation = relation.flat_range_product(dimension)
        return relation.set_tuple_name(isl.dim_type.out, name), exact

    def is_known(self, subscript: Expr) -> bool:
        """Does it depend on nothing but iterators and sizes? Then it is a mistake rather than data."""
        known = {*self.space.iterators, *self.space.sizes}
        return all(n.name in known if isinstance(n, Var) else not isinstance(n, Load | Call) for n in walk(subscript))

    def any_element(self, extent: Expr) -> isl.Map:
        """{ S[i] -> [x] : 0 <= x < extent }; without the upper bound when the extent is not affine."""
        free = isl.Map.universe(isl.Map.from_pw_aff(self.space.function(Const(0))).get_space())
        free = free.lower_bound_val(isl.dim_type.out, 0, isl.Val(0))
        try:
            upper = isl.Map.from_pw_aff(self.space.function(extent))
        except NotAffine:
            return free
        below = upper.apply_range(isl.Map("{ [e] -> [x] : 0 <= x < e }"))
        return free.intersect(below)


def _is_remainder(subscript: Expr, extent: Expr) -> bool:
    """Does its form show that it is in bounds?"""
    match subscript:
        case Binary("floormod", _, divisor):
            return divisor == extent
    return False


def _add(found: list[Access], access: Access) -> None:
    """Appends, unless nothing is accessed or the same access is known already."""
    known = any(
        a.array == access.array and a.must == access.must and a.relation.plain_is_equal(access.relation) for a in found
    )
    if not known and not access.relation.is_empty():
        found.append(access)
