"""Array contraction: a temporary array of which each iteration uses one element becomes a scalar of that iteration.

    s: f64[n]                                 for i in 0..n (parallel):
    for i in 0..n (parallel):                     s: f64
        s[i] = 0                      ->          s = 0
        for k in 0..n:                            for k in 0..n:
            s[i] = s[i] + a[i, k]                     s = s + a[i, k]
        b[i] = s[i]                               b[i] = s

Where a branch that runs once has two sides, as the versions of a nest, either has a temporary of its own.

With `rows`, one that an iteration of a parallel loop uses along some dimensions alone becomes an array of these: the
row of a matrix, which then stays in a cache. What several loops over the threads of a block use is a variable of the
block, in shared memory.

Needs: names are bound once.
Keeps: every value; only where a temporary lives changes. A loop may hold the declaration if every element is used in
one of its iterations alone, which the access relations of the lowered nest tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from polysched.codegen.lowered import changed, is_mapped, values_of_lets
from polysched.ir.node import map_blocks, map_list, rewrite, statements, substitute, uses, variables, walk, with_uses
from polysched.ir.nodes import PARALLEL, Alloc, Array, Barrier, Expr, For, Function, If, Let, Load, Stmt, Store, Var
from polysched.ir.rename import fresh_names, renamed, used_names
from polysched.model.affine import AffineSpace
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.support import isl
from polysched.support.remembered import remembered


def contract(fn: Function, *, rows: bool = False) -> Function:
    """`fn` with every temporary array that one block uses at one subscript declared there, as a scalar; with `rows`,
    one of which an iteration of a parallel loop uses a part, as that part."""
    scop = cache(lambda: extract(without_lets(fn), check_bounds=False))  # slow, and seldom asked for
    body, taken = fn.body, used_names(fn)
    for alloc in (stmt for stmt in fn.body if isinstance(stmt, Alloc) and stmt.array.shape):
        rest = tuple(stmt for stmt in body if stmt is not alloc)
        stays = partial(_stays, array=alloc.array.name, scop=scop)
        contracted = _declared_inside(rest, alloc.array, stays) or _on_both_sides(rest, alloc.array, stays, taken)
        if contracted is None and rows:
            contracted = _row_inside(rest, alloc.array, stays)
        body = body if contracted is None else contracted
    return changed(fn, body=map_list(body, lambda stmt: map_blocks(stmt, _scalars_of_a_block)))


def _scalars_of_a_block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A block inside, with the arrays declared in it that it uses at one subscript as scalars, as are temporaries
    whose elements for each iteration were no use: the loop in which they lived had one iteration."""
    own = (stmt for stmt in body if isinstance(stmt, Alloc) and stmt.array.space == "private")
    for alloc in (stmt for stmt in own if stmt.array.shape):
        subscripts = {use.index for use in uses(body, alloc.array.name)}
        if len(subscripts) == 1 and is_fixed(subscripts.pop(), body):
            scalar = replace(alloc, array=replace(alloc.array, shape=()))
            body = _with_dimensions(_replaced(body, alloc, scalar), alloc.array.name)
    return map_list(body, lambda stmt: map_blocks(stmt, _scalars_of_a_block))


def without_lets(fn: Function) -> Function:
    """The same nest with every bound name replaced by its value."""
    return substitute(rewrite(fn, lambda node: () if isinstance(node, Let) else None), values_of_lets(fn.body))


def _iterations(scop: Scop, array: str, var: str, *, alone: bool) -> isl.UnionMap | None:
    """{ t[x] -> [i] }: the iterations of loop `var` that use an element; None if a use is not in that loop, which is
    to be `alone` with them."""
    found = isl.UnionMap("{ }")
    for statement in scop.statements:
        for access in (*statement.reads, *statement.writes):
            if access.array != array:
                continue
            if var not in statement.iterators:
                if alone:
                    return None
                continue
            space = AffineSpace(statement.name, statement.iterators, scop.function.sizes)
            value = isl.Map.from_pw_aff(space.function(Var(var)))
            uses = access.relation.intersect_domain(statement.domain)
            found = found.union(isl.UnionMap.from_map(uses.reverse().apply_range(value)))
    return found


def _stays(var: str, array: str, scop: Callable[[], Scop], *, alone: bool = True) -> bool:
    """Is every element used in one iteration of loop `var` alone? Where that is not `alone`, others use it when the
    loop does not run."""
    found = _iterations(scop(), array, var, alone=alone)
    return found is not None and bool(found.is_single_valued())


def _is_subscript(var: str, loop: For, array: Array) -> bool:
    """Does each use have this iterator as the same subscript? Then iterations share no element, without a proof."""
    places = zip(*(use.index for use in uses(loop, array.name)), strict=True)
    return any(all(isinstance(each, Var) and each.name == var for each in place) for place in places)


def _declared_inside(
    body: tuple[Stmt, ...], array: Array, stays: Callable[[str], bool], axis: str = ""
) -> tuple[Stmt, ...] | None:
    """`body`, which is in a loop on that axis of a grid, with the temporary declared in the innermost block that can
    hold it; None if that makes no scalar."""
    users = [stmt for stmt in body if array.name in _accessed(stmt)]
    match users:
        case [For(var=var, body=inner, kind=kind) as loop]:
            new = _declared_inside(inner, array, stays, kind if is_mapped(loop) else axis)
            if new is None:
                return None
            if _is_subscript(var, loop, array) or stays(var):  # which takes longer to tell
                return _replaced(body, loop, replace(loop, body=new))
        case [If(cond=cond, then=then, other=()) as branch] if array.name not in _accessed(cond):
            new = _declared_inside(then, array, stays, axis)
            return None if new is None else _replaced(body, branch, replace(branch, then=new))
    subscripts = {use.index for use in uses(tuple(users), array.name)}
    if len(subscripts) != 1 or not is_fixed(subscripts.pop(), body):
        return None
    inside = _with_dimensions(body, array.name)
    if axis.startswith("block") and any(is_mapped(node, "thread") for node in walk(tuple(users))):
        first = next((stmt for stmt in body if not isinstance(stmt, Alloc)), None)
        before = () if isinstance(first, Barrier) else (Barrier(),)  # until nobody uses what it held before
        return (Alloc(replace(array, shape=(), space="shared")), *before, *inside)
    return (Alloc(replace(array, shape=())), *inside)


def _on_both_sides(
    body: tuple[Stmt, ...], array: Array, stays: partial[bool], taken: set[str]
) -> tuple[Stmt, ...] | None:
    """`body` with a temporary of its own declared on each side of the branch that uses it: one of them runs."""
    match [stmt for stmt in body if array.name in _accessed(stmt)]:
        case [If(cond=cond) as branch] if array.name not in _accessed(cond):
            apart = partial(stays, alone=False)
            then, other = (_declared_inside(side, array, apart) for side in (branch.then, branch.other))
            if then is None or other is None:
                return None
            own = renamed(other, {array.name: next(fresh_names(f"{array.name}_", taken))})
            return _replaced(body, branch, replace(branch, then=then, other=own))
    return None


def _row_inside(body: tuple[Stmt, ...], array: Array, stays: Callable[[str], bool]) -> tuple[Stmt, ...] | None:
    """`body` with the part of the temporary that an iteration uses declared in the parallel loop that alone uses it."""
    match [stmt for stmt in body if array.name in _accessed(stmt)]:
        case [For(var=var, body=inner, kind=kind) as loop] if kind in PARALLEL:
            places = list(zip(*(use.index for use in uses(inner, array.name)), strict=True))
            fixed = [len(set(place)) == 1 and is_fixed(place[:1], inner) for place in places]
            if not any(fixed) or not (_is_subscript(var, loop, array) or stays(var)):
                return None
            left = [k for k, is_one in enumerate(fixed) if not is_one]
            part = Alloc(replace(array, shape=tuple(array.shape[k] for k in left)))
            new = (part, *_with_dimensions(inner, array.name, left))
            return _replaced(body, loop, replace(loop, body=new))
    return None


@remembered
def _accessed(node: Stmt | Expr) -> frozenset[str]:
    """The arrays that it reads and writes."""
    return frozenset(n.array for n in walk(node) if isinstance(n, Load | Store))


def is_fixed(index: tuple[Expr, ...], body: tuple[Stmt, ...]) -> bool:
    """Does the subscript keep its value while the block runs?"""
    inside = {node.var for node in statements(body) if isinstance(node, For)}
    inside |= {node.name for node in statements(body) if isinstance(node, Let) and node not in body}
    return inside.isdisjoint(variables(index)) and not any(isinstance(part, Load) for part in walk(index))


def _replaced(body: tuple[Stmt, ...], old: Stmt, new: Stmt) -> tuple[Stmt, ...]:
    return tuple(new if stmt is old else stmt for stmt in body)


def _with_dimensions(body: tuple[Stmt, ...], name: str, left: Sequence[int] = ()) -> tuple[Stmt, ...]:
    """The statements with these dimensions alone of the array of that name."""
    return with_uses(body, name, lambda use: replace(use, index=tuple(use.index[k] for k in left)))
