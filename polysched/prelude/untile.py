"""Loops over tiles, as in a nest that was tiled by hand, left out: the schedule makes tiles of its own.

    for ii in 0..n by 32:                           for i in 0..n:
        for j in 0..m:                                  for j in 0..m:
            for i in ii..min(ii + 32, n):     ->            a[i, j] = b[j, i]
                a[i, j] = b[j, i]

Loops that count inside of a tile, as t in `a[ii * 32 + t]`, count elements first. A loop goes if nothing but the bounds
of loops inside uses its variable, if these tell in which of its iterations an instance runs, and if the order that is
left is legal.

Keeps: the instances of every statement and their dependences, by the exact ones; not their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from polysched.deps.dataflow import dependences
from polysched.deps.dependences import Dependences
from polysched.deps.legality import first_violation
from polysched.errors import InputError
from polysched.ir.build import add, mul
from polysched.ir.dtypes import i64
from polysched.ir.integers.linear import Linear, expression, forms
from polysched.ir.node import map_blocks, map_list, rewrite, substitute, variables, walk
from polysched.ir.nodes import Alloc, Binary, Const, Expr, For, Function, If, Load, Stmt, Store, Var
from polysched.model.affine import NotAffine, value
from polysched.model.extract import extract
from polysched.model.scop import Scop, Statement
from polysched.model.tree.instances import copied
from polysched.prelude.expand import expand_temporaries
from polysched.prelude.structure.forward import forward_indices
from polysched.prelude.structure.structure import structured
from polysched.prelude.uses import iterations
from polysched.support import isl

_Loops = tuple[For, ...]  # around a place, outermost first


def untiled(fn: Function) -> Function:
    """`fn` without its loops over tiles; the same object if it has none."""
    given = replace(fn, body=_counting_elements(forward_indices(structured(fn))[0], ()))
    proof = _Proof(given)
    done, k = given, 0
    while k < len(loops := list(_innermost_first(done.body, ()))):  # what is legal in the end is so on the way, then
        plain = _without(done, *loops[k])
        if plain is not None and proof.holds_for(plain):
            done = plain
        else:
            k += 1
    return fn if done is given else done


def _innermost_first(body: tuple[Stmt, ...], around: _Loops) -> Iterator[tuple[For, _Loops]]:
    """The loops, and those around each."""
    for stmt in body:
        match stmt:
            case For():
                yield from _innermost_first(stmt.body, (*around, stmt))
                yield stmt, around
            case If():
                yield from _innermost_first((*stmt.then, *stmt.other), around)


# --- loops inside of a tile


def _counting_elements(body: tuple[Stmt, ...], around: _Loops) -> tuple[Stmt, ...]:
    """The block, in which a loop counts elements, not those of a tile, where the body knows no difference."""

    def statement(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For) and stmt.step == 1:
            for tiles in reversed(around):
                stmt = _in_elements(stmt, tiles.var)
        inside = (*around, stmt) if isinstance(stmt, For) else around
        return map_blocks(stmt, partial(_counting_elements, around=inside))

    return map_list(body, statement)


def _in_elements(loop: For, tile: str) -> For:
    """for t in 0..32: a[ii * 32 + t]  ->  for t in ii * 32..ii * 32 + 32: a[t]; the loop itself where t is alone."""
    sizes = (_tile_size(form, loop.var, tile) for form in _subscripts(loop.body, {loop.var, tile}))
    size = next(filter(None, sizes), 0)

    def rule(node: Any) -> Expr | None:
        if isinstance(node, Binary) and node.op in ("+", "-") and node.dtype == i64:
            form, *others = forms(node, upper=True)
            if not others and _tile_size(form, loop.var, tile) == size:
                rest = {atom: times for atom, times in form.items() if atom not in (Var(loop.var), Var(tile))}
                return expression({_ELEMENT: form[Var(loop.var)], **rest})
        return None

    body = rewrite(loop.body, rule) if size else loop.body
    if not size or loop.var in variables(body):
        return loop
    first = mul(Var(tile), size)
    return replace(loop, lo=add(first, loop.lo), hi=add(first, loop.hi), body=substitute(body, {"": Var(loop.var)}))


def _subscripts(body: tuple[Stmt, ...], names: Set[str]) -> Iterator[Linear]:
    """What those with these names in them may be."""
    uses = (node for node in walk(body) if isinstance(node, Load | Store))
    having = (subscript for use in uses for subscript in use.index if variables(subscript) >= names)
    return (form for subscript in having for form in forms(subscript, upper=True))


_ELEMENT = Var("")  # until no use of the loop's variable is left


def _tile_size(form: Linear, var: str, tile: str) -> int:
    """32 where the form has 32 * tile + var, or a multiple of that; 0 where not."""
    one, many = form.get(Var(var), 0), form.get(Var(tile), 0)
    return many // one if one and many % one == 0 else 0


# --- loops over tiles


def _without(fn: Function, tiles: For, around: _Loops) -> Function | None:
    """`fn` without the loop, those inside of it with the bounds of all its iterations; None if more depends on it."""
    try:
        body = _widened(tiles.body, (*around, tiles), tiles, fn.sizes)
    except NotAffine:
        return None
    if body is tiles.body or tiles.kind != "serial" or tiles.var in variables(body) or _has_own_values(body):
        return None
    return replace(fn, body=rewrite(fn.body, lambda node: body if node is tiles else None))


def _has_own_values(body: tuple[Stmt, ...]) -> bool:
    """Has a block temporaries, but no statement that would tell which of the iterations of tiles share them?"""
    blocks = [body, *(block for node in walk(body) for block in _blocks(node))]
    return any(_holds(block, Alloc) and not _holds(block, Store) for block in blocks)


def _blocks(node: Any) -> tuple[tuple[Stmt, ...], ...]:
    match node:
        case For(body=body):
            return (body,)
        case If(then=then, other=other):
            return (then, other)
    return ()


def _holds(block: tuple[Stmt, ...], kind: type[Stmt]) -> bool:
    return any(isinstance(stmt, kind) for stmt in block)


def _widened(body: tuple[Stmt, ...], around: _Loops, tiles: For, sizes: tuple[str, ...]) -> tuple[Stmt, ...]:
    """The block, whose loops run through what they do in any iteration of `tiles`."""

    def statement(stmt: Stmt) -> Stmt:
        inside = (*around, stmt) if isinstance(stmt, For) else around
        stmt = map_blocks(stmt, lambda block: _widened(block, inside, tiles, sizes))
        match stmt:
            case For(lo=lo, hi=hi, step=1, kind="serial") if tiles.var in variables((lo, hi)):
                lo, hi = _bounds(inside, tiles, sizes)
                return replace(stmt, lo=lo, hi=hi)
        return stmt

    return map_list(body, statement)


def _bounds(loops: _Loops, tiles: For, sizes: tuple[str, ...]) -> tuple[Expr, Expr]:
    """Of the innermost loop, in any iteration of `tiles`: functions of the others around it."""
    values = iterations(loops, sizes)
    if values.is_empty():
        return Const(0), Const(0)
    values = values.project_out(isl.dim_type.set, loops.index(tiles), 1)
    values = values.move_dims(isl.dim_type.param, len(sizes), isl.dim_type.set, 0, len(loops) - 2).coalesce()
    return value(values.dim_min(0)), value(values.dim_max(0).add_constant_val(isl.Val(1)))


# --- why that is right


@dataclass(frozen=True)
class _Proof:
    """That nests without some of the loops of `fn` run its instances, in an order that is legal."""

    fn: Function

    @cached_property
    def scop(self) -> Scop:
        return extract(expand_temporaries(self.fn), check_bounds=False)

    @cached_property
    def dependences(self) -> Dependences:
        return dependences(self.scop)

    def holds_for(self, plain: Function) -> bool:
        try:
            return self.is_legal(extract(expand_temporaries(plain), check_bounds=False))
        except InputError:  # with indices put in, it cannot be read
            return False

    def is_legal(self, other: Scop) -> bool:
        """Do these run each instance once, and in an order that is legal?"""
        if list(map(_told, self.scop.statements)) != list(map(_told, other.statements)):
            return False
        same = isl.union_map(
            isl.Map(f"{{ {one.name}[{', '.join(one.iterators)}] -> {two.name}[{', '.join(two.iterators)}] }}")
            for one, two in zip(self.scop.statements, other.statements, strict=True)
        ).intersect_domain(self.scop.domain.intersect_params(self.scop.context))
        if not same.is_injective() or not same.range().is_equal(other.domain.intersect_params(self.scop.context)):
            return False
        return first_violation(copied(other.tree, same), self.dependences, self.scop) is None


def _told(statement: Statement) -> tuple[Any, ...]:
    """Its name, and the loops in it, of whose order no dependence speaks."""
    return statement.name, *((node.var, node.lo, node.hi) for node in walk(statement.body) if isinstance(node, For))
