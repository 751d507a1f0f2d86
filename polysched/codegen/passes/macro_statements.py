"""Macro-statements: a scalar whose life is one iteration, and the small constant loops that use it, as one statement.

    for i in 0..n:                              for i in 0..n:
        alloc s: private i32[]                      alloc s: private i32[]
        s[] = 0                                     s[] = 0
        for d in -1..2:               ->            s[] = s[] + A[i - 1]
            if d != 0:                              s[] = s[] + A[i + 1]
                s[] = s[] + A[i + d]                B[i] = select(s[] == 1, 1, 0)
        B[i] = select(s[] == 1, 1, 0)

Written out, the loops belong to the statement around them, and nothing outside of it sees the scalar. It needs no
element for each iteration, and orders none of them.

Keeps: what is computed, in its order. Where iterations share operands along one loop and not along another, as those of
a product of matrices do, loops are left to register tiles; where a constant loop itself steps through memory, as along
short rows, it stays, since elements side by side are loaded faster.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.node import map_blocks, map_list, statements, substitute, walk
from polysched.ir.nodes import Alloc, Const, Expr, For, Function, If, Load, Stmt, Store, Var
from polysched.ir.rename import bound_names
from polysched.ir.simplify import simplify

_MOST_STEPS = 100  # loops and statements, of one life


def macro_statements(fn: Function) -> Function:
    """`fn` with the constant loops that private scalars live through written out; the same object if there are none."""
    body = map_list(fn.body, lambda stmt: _inside(stmt, ()))
    return fn if body is fn.body else replace(fn, body=body)


def _inside(stmt: Stmt, loops: tuple[str, ...]) -> Stmt:
    inner = (*loops, stmt.var) if isinstance(stmt, For) else loops
    return map_blocks(stmt, lambda body: _block(body, inner))


def _block(body: tuple[Stmt, ...], loops: tuple[str, ...]) -> tuple[Stmt, ...]:
    """A block inside of `loops`; the blocks in what is left of it come after it."""
    for alloc in body:
        if loops and isinstance(alloc, Alloc) and not alloc.array.shape:
            users = [k for k, stmt in enumerate(body) if _touches(stmt, alloc.array.name)]
            life = slice(users[0], users[-1] + 1) if users else slice(0)
            if any(isinstance(node, For) for node in walk(body[life])) and _should(body[life], loops):
                before, after = body[: life.start], body[life.stop :]
                straight = _written_out(body[life], {*bound_names(before), *bound_names(after)})
                if straight is not None:
                    body = (*before, *straight, *after)
    return map_list(body, lambda stmt: _inside(stmt, loops))


def _touches(stmt: Stmt, name: str) -> bool:
    return any(isinstance(node, Load | Store) and node.array == name for node in walk(stmt))


def _should(body: tuple[Stmt, ...], loops: tuple[str, ...]) -> bool:
    """Does each operand depend on all of the loops that tell the results apart, and step through memory with one of
    them, or depend on none?"""
    along = set(loops) & {name for node in walk(body) if isinstance(node, Store) for name in _variables(node.index)}
    used = [(_variables(node.index) & along, node.index) for node in walk(body) if isinstance(node, Load)]
    return all(names == along and _variables(index[-1:]) & along for names, index in used if names)


def _variables(index: tuple[Expr, ...]) -> set[str]:
    return {node.name for node in walk(index) if isinstance(node, Var)}


def _written_out(body: tuple[Stmt, ...], taken: set[str]) -> tuple[Stmt, ...] | None:
    """The scalars that the statements declare, and the statements without loops; None if a loop is not constant, there
    are too many iterations, a branch or a name for a value is in the way, or a scalar's name is bound elsewhere."""
    born, straight, ahead = list[Alloc](), list[Stmt](), list(body)
    for _ in range(_MOST_STEPS):
        if not ahead:
            scalars = tuple(dict.fromkeys(born))  # each once, of all iterations
            names = {alloc.array.name for alloc in scalars}
            return (*scalars, *straight) if len(names) == len(scalars) and not names & taken else None
        match stmt := ahead.pop(0):
            case For(var, Const(int(lo)), Const(int(hi)), step, inner, "serial") if (
                len(range(lo, hi, step)) < _MOST_STEPS
            ):
                trips = [substitute(inner, {var: Const(k)}) for k in range(lo, hi, step)]
                ahead = [*(each for trip in trips for each in simplify(trip)), *ahead]
            case Alloc(array) if not array.shape:
                born.append(stmt)
            case Store():
                straight.append(stmt)
            case If() if all(isinstance(each, Store | If) for each in statements((stmt,))):
                straight.append(stmt)
            case _:
                return None
    return None
