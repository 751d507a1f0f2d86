"""What several passes ask of lowered loops, and how they put them together again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any, TypeGuard, TypeVar

from polysched.ir.dtypes import DType
from polysched.ir.node import children, map_children, map_list, rewrite, substitute, walk
from polysched.ir.nodes import Array, Binary, Call, Cast, Const, Expr, For, If, Let, Load, Stmt, Store, Unary, Var
from polysched.ir.rename import fresh_names
from polysched.support.fields import with_fields

N = TypeVar("N")
Element = tuple[str, tuple[Expr, ...]]  # an array and a subscript


def is_mapped(node: Any, *levels: str) -> TypeGuard[For]:
    """Is it a loop over blocks or threads, or over what is named?"""
    return isinstance(node, For) and node.kind.startswith(levels or ("block", "thread"))


def is_flat(loop: For) -> bool:
    """Are there but names and stores in it?"""
    return all(isinstance(stmt, Store | Let) for stmt in loop.body)


def own_expressions(stmt: Stmt) -> Iterator[Expr]:
    """Those of the statement itself, without the statements in it."""
    return (child for child in children(stmt) if isinstance(child, Expr))


def changed(node: N, **fields: Any) -> N:
    """`node` with these fields, the same object if it has them."""
    has_them = all(getattr(node, name) is value for name, value in fields.items())
    return node if has_them else with_fields(node, **fields)


def if_changed(old: tuple[Stmt, ...], new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The new statements, or the old tuple if it has the same objects."""
    return old if len(new) == len(old) and all(map(operator.is_, new, old)) else new


def with_own(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """The statement with these changed; the same object back when nothing is."""
    return map_children(stmt, lambda child: change(child) if isinstance(child, Expr) else child)


def in_subscripts(index: tuple[Expr, ...], change: Callable[[Expr], Expr]) -> tuple[Expr, ...]:
    """The subscripts changed, but for constants that end them: these are offsets of addresses."""

    def in_one(expr: Expr) -> Expr:
        match expr:
            case Binary("+" | "-", base, Const()):
                return changed(expr, left=change(base))
        return change(expr)

    return map_list(index, in_one)


def outermost(body: tuple[Stmt, ...], is_one: Callable[[For], bool]) -> Iterator[For]:
    """The loops of a kind that are in no other one of it."""
    for stmt in body:
        match stmt:
            case For() if is_one(stmt):
                yield stmt
            case For(body=inner):
                yield from outermost(inner, is_one)
            case If(then=then, other=other):
                yield from outermost((*then, *other), is_one)


def chain(body: Sequence[Stmt]) -> list[For]:
    """Loops that are each all there is in the one around."""
    loops = []
    while len(body) == 1 and isinstance(body[0], For):
        loops.append(body[0])
        body = body[0].body
    return loops


def operation(node: Expr) -> object:
    """What tells the node from others, but for its operands."""
    match node:
        case Var(name):
            return name, node.dtype
        case Const():
            return node
        case Binary(op) | Unary(op):
            return type(node), op
        case Load(array, index):
            return Load, array, len(index), node.dtype
        case Call(fn, args):
            return Call, fn, len(args), node.dtype
        case Cast(dtype=dtype):
            return Cast, dtype
    return type(node)


@lru_cache(1 << 14)  # passes look several times at each
def names_in(expr: Expr) -> frozenset[str]:
    """The names of variables and arrays in it."""
    own = (expr.name,) if isinstance(expr, Var) else (expr.array,) if isinstance(expr, Load) else ()
    return frozenset(own).union(*map(names_in, children(expr)))


def values_of_lets(node: Any) -> dict[str, Expr]:
    """What the names are that are bound in it, without such names."""
    values: dict[str, Expr] = {}
    for part in walk(node):
        if isinstance(part, Let):
            values[part.name] = substitute(part.value, values)
    return values


def elements(array: Array) -> int:
    """How many a temporary of a kernel has, whose extents are constants."""
    return prod(int(extent.value) for extent in array.shape if isinstance(extent, Const))


def bytes_of(array: Array) -> int:
    """All of such a temporary."""
    return elements(array) * array.dtype.bits // 8


def private(wish: str, dtype: DType, shape: tuple[Expr, ...], taken: set[str]) -> Array:
    """A new array of a thread, named after another one."""
    return Array(next(fresh_names(f"{wish}_", taken)), dtype, shape, "private")


def around(loops: Sequence[For], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """These loops, outermost first, around the body in place of theirs."""
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return body


def nested(loops: Sequence[For], body: tuple[Stmt, ...]) -> For:
    """The first of these loops, of which there is one, around the others and the body in place of theirs."""
    return replace(loops[0], body=around(loops[1:], body))


def from_start(start: Expr, offset: Expr) -> Expr:
    """Their sum, without a start of zero."""
    return offset if start == Const(0) else Binary("+", start, offset)


def moved(node: Any, places: Mapping[Element, Element]) -> Any:
    """`node` with loads and stores of these elements in their new places."""

    def rule(part: Any) -> Any:
        if isinstance(part, Load | Store) and (place := places.get((part.array, part.index))):
            return replace(part, array=place[0], index=place[1])
        return None

    return rewrite(node, rule)


def rolled(node: Any) -> Any:
    """`node` with nothing unrolled, for tiles of any shape."""

    return rewrite(node, lambda n: replace(n, kind="serial") if isinstance(n, For) and n.kind == "unrolled" else None)
