"""Scalar expansion: a temporary that lives across an inner loop gets an element for every iteration around it
(Feautrier, ICS 1988).

    for i in 0..n:                        s: f64[n]
        s = 0                             for i in 0..n:
        for k in 0..n:           ->           s[i] = 0
            s = s + a[i, k]                   for k in 0..n:
        b[i] = s                                  s[i] = s[i] + a[i, k]
                                              b[i] = s[i]

Without it every iteration of i would wait for the one before. `codegen/passes/contract.py` undoes it where the
schedule keeps an iteration's accesses together. Memory stays of the order of the user's arrays.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from polysched import isl
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, Function, Load, Stmt, Store, Var
from polysched.model.affine import AffineSpace, NotAffine, expression


def expand_temporaries(fn: Function) -> Function:
    """`fn` with scalar temporaries expanded by the loops around them where an inner loop uses them.

    Left as they are: temporaries that no loop touches (they stay inside one statement), and those in more loops
    than the user's largest array has dimensions.
    """
    most = max((len(array.shape) for array in fn.arrays), default=0)
    return replace(fn, body=_expand(fn.body, (), fn.sizes, most))


def _expand(body: tuple[Stmt, ...], loops: tuple[For, ...], sizes: tuple[str, ...], most: int) -> tuple[Stmt, ...]:
    for alloc in [stmt for stmt in body if isinstance(stmt, Alloc)]:
        if not alloc.array.shape and 0 < len(loops) <= most and _crosses_a_loop(alloc.array.name, body):
            extents = _extents(loops, sizes)
            if extents is not None:
                body = _with_elements(body, replace(alloc.array, shape=extents), loops)
    return tuple(
        replace(stmt, body=_expand(stmt.body, (*loops, stmt), sizes, most)) if isinstance(stmt, For) else stmt
        for stmt in body
    )


def _crosses_a_loop(name: str, body: tuple[Stmt, ...]) -> bool:
    inside = (node for stmt in body if isinstance(stmt, For) for node in walk(stmt))
    return any(isinstance(node, Load | Store) and node.array == name for node in inside)


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


def _extents(loops: tuple[For, ...], sizes: tuple[str, ...]) -> tuple[Expr, ...] | None:
    """One more than the largest value of each loop variable, in the sizes; None if unknown or ever negative."""
    space = AffineSpace("", tuple(loop.var for loop in loops), sizes)
    try:
        values = reduce(isl.Set.intersect, (_values(space, loop) for loop in loops), space.universe)
    except NotAffine:
        return None
    positive = reduce(isl.Set.intersect, (space.where(Binary(">=", Var(s), Const(0))) for s in sizes), space.universe)
    values = values.intersect(positive)
    if values.is_empty() or not values.is_subset(_not_negative(values)):
        return None
    build = isl.AstBuild.from_context(positive.params())
    names: dict[str, Expr] = {size: Var(size) for size in sizes}
    most = (build.expr_from_pw_aff(values.dim_max(k)) for k in range(len(loops)))
    return tuple(Binary("+", expression(ast, names), Const(1)) for ast in most)


def _values(space: AffineSpace, loop: For) -> isl.Set:
    below, above = ("<=", ">") if loop.step < 0 else (">=", "<")
    var = Var(loop.var)
    return space.where(Binary(below, var, loop.lo)).intersect(space.where(Binary(above, var, loop.hi)))


def _not_negative(values: isl.Set) -> isl.Set:
    box = isl.Set.universe(values.get_space())
    for k in range(values.dim(isl.dim_type.set)):
        box = box.lower_bound_val(isl.dim_type.set, k, isl.Val(0))
    return box
