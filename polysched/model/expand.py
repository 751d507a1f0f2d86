"""Scalar expansion: a temporary that lives across an inner loop gets an element for every iteration around it
(Feautrier, ICS 1988).

    for i in 0..n:                        s: f64[n]
        s = 0                             for i in 0..n:
        for k in 0..n:           ->           s[i] = 0
            s = s + a[i, k]                   for k in 0..n:
        b[i] = s                                  s[i] = s[i] + a[i, k]
                                              b[i] = s[i]

Without it every iteration of i would wait for the one before. `codegen/passes/contract.py` undoes it where the
schedule keeps an iteration's accesses together. Else the temporary takes no more memory than one of the user's arrays.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import permutations

from polysched import isl
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, Function, If, Load, Stmt, Store, Var
from polysched.model.affine import AffineSpace, NotAffine, expression
from polysched.model.loops import loop_conditions, sizes_not_negative


def expand_temporaries(fn: Function) -> Function:
    """`fn` with scalar temporaries expanded by the loops around them where an inner loop uses them.

    Left as they are: temporaries that no loop touches (they stay inside one statement), and those that would take
    more memory than any of the user's arrays.
    """
    return replace(fn, body=_expand(fn.body, (), fn))


def _expand(body: tuple[Stmt, ...], loops: tuple[For, ...], fn: Function) -> tuple[Stmt, ...]:
    for alloc in [stmt for stmt in body if isinstance(stmt, Alloc)]:
        if loops and not alloc.array.shape and _crosses_a_loop(alloc.array.name, body):
            values = _values(loops, fn.sizes)
            extents = () if values.is_empty() else _extents(values, fn.sizes)
            if extents and any(_fits(extents, array, values.params(), fn.sizes) for array in fn.arrays):
                body = _with_elements(body, replace(alloc.array, shape=extents), loops)
    return tuple(_expand_inside(stmt, loops, fn) for stmt in body)


def _expand_inside(stmt: Stmt, loops: tuple[For, ...], fn: Function) -> Stmt:
    match stmt:
        case For(body=body):
            return replace(stmt, body=_expand(body, (*loops, stmt), fn))
        case If(then=then, other=other):
            return replace(stmt, then=_expand(then, loops, fn), other=_expand(other, loops, fn))
        case _:
            return stmt


def _crosses_a_loop(name: str, body: tuple[Stmt, ...]) -> bool:
    inside = (node for loop in walk(body) if isinstance(loop, For) for node in walk(loop))
    return any(isinstance(node, Load | Store) and node.array == name for node in inside)


def _fits(extents: tuple[Expr, ...], array: Array, known: isl.Set, sizes: tuple[str, ...]) -> bool:
    """Is each extent at most that of a dimension of its own of the array, for all the sizes `known`?"""
    space = AffineSpace("", (), sizes)

    def within(extent: Expr, dimension: Expr) -> bool:
        try:
            return bool(known.is_subset(space.where(Binary("<=", extent, dimension)).params()))
        except NotAffine:
            return False

    choices = permutations(array.shape, len(extents))
    return any(all(map(within, extents, dimensions)) for dimensions in choices)


def _with_elements(body: tuple[Stmt, ...], array: Array, loops: tuple[For, ...]) -> tuple[Stmt, ...]:
    """`body` with the scalar of that name replaced by the element of this iteration."""
    element = tuple(Var(loop.var) for loop in loops)

    def rule(node: object) -> object:
        match node:
            case Load(array=name) | Store(array=name) if name == array.name:
                return replace(node, index=element)
            case Alloc(array=Array(name=name)) if name == array.name:
                return Alloc(array, node.loc)
        return None

    return rewrite(body, rule)


def _values(loops: tuple[For, ...], sizes: tuple[str, ...]) -> isl.Set:
    """{ [i, j] }: what the loop variables take; empty if that is unknown, or ever negative."""
    space = AffineSpace("", tuple(loop.var for loop in loops), sizes)
    try:
        conditions = (space.where(condition) for loop in loops for condition in loop_conditions(loop))
        values = reduce(isl.Set.intersect, conditions, space.universe)
    except NotAffine:
        return space.universe.complement()
    values = values.intersect_params(sizes_not_negative(sizes))
    return values if values.is_subset(_not_negative(values)) else space.universe.complement()


def _extents(values: isl.Set, sizes: tuple[str, ...]) -> tuple[Expr, ...]:
    """One more than the largest value of each loop variable, in the sizes; zero where the loops do not run."""
    build = isl.AstBuild.from_context(values.params())
    names: dict[str, Expr] = {size: Var(size) for size in sizes}
    most = (build.expr_from_pw_aff(values.dim_max(k)) for k in range(values.dim(isl.dim_type.set)))
    return tuple(Binary("max", Binary("+", expression(ast, names), Const(1)), Const(0)) for ast in most)


def _not_negative(values: isl.Set) -> isl.Set:
    box = isl.Set.universe(values.get_space())
    for k in range(values.dim(isl.dim_type.set)):
        box = box.lower_bound_val(isl.dim_type.set, k, isl.Val(0))
    return box
