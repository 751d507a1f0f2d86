"""What statements that stay as they are may touch: all arrays that others can reach, and all variables that they see.

    a[i] = s                        a[i] = s[0]
    outside = step_1(outside)       a[outside] = touched(outside, a[outside]), s[outside] = touched(...)
    s = a[i]                  ->    outside = step_1(outside)
                                    a[outside] = touched(outside, a[outside]), s[outside] = touched(...)
                                    s[0] = a[i]

To all of the compiler, an element that data tells is read and stored before the call and after it: so nothing of that
array changes place with the call, is kept over it, or is left out. The printers leave out such stores. A variable that
others see is an array of one element, which is not held elsewhere while they look at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polysched.errors import Loc
from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.names import Key, key
from polysched.ir.dtypes import boolean, i64
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import TOUCHED, Array, Call, Const, Expr, For, If, Load, Stmt, Store


def has_more(body: tuple[Stmt, ...], read: Expressions) -> bool:
    """Is there more in a region than texts, and the heads of loops that are no ranges?"""
    assert read.opaque is not None, "the region has texts"
    heads = {read.variables.names.get(number) for number in read.opaque.numbers}
    for store in (node for node in walk(body) if isinstance(node, Store)):
        is_told = isinstance(store.value, Call) and store.value.fn in read.macros
        is_flag = isinstance(store.value, Const) and store.value.dtype == boolean
        if not (is_told or is_flag or store.array in heads):
            return True
    return False


def with_touched(
    body: tuple[Stmt, ...], arrays: dict[str, Array], read: Expressions, reached: frozenset[Key]
) -> tuple[tuple[Stmt, ...], dict[str, Array]]:
    """The body, with that around each such statement; and the arrays, with those of one element."""
    assert read.opaque is not None, "the region has texts"
    expressions, texts, world = read.variables.expressions, read.opaque.texts, Load(read.outside, (), i64)
    seen = {a.name for a in arrays.values() if not a.shape and key(read.variables.decls[a.name]) in reached}
    arrays = {a.name: replace(a, shape=(Const(1),)) if a.name in seen else a for a in arrays.values()}
    expressions.update((name, f"&{expressions[name]}") for name in seen)
    shared = [array for array in arrays.values() if array.shape and array.space == "global"]

    def touches(loc: Loc | None) -> Iterator[Store]:
        for array in shared:
            index: tuple[Expr, ...] = (world,) * len(array.shape)
            value = Call(TOUCHED, (world, Load(array.name, index, array.dtype)), array.dtype, pure=False)
            yield Store(array.name, index, value, loc)

    def is_touch(stmt: Stmt) -> bool:
        return isinstance(stmt, Store) and isinstance(stmt.value, Call) and stmt.value.fn == TOUCHED

    def around(stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for stmt in stmts:
            match stmt:
                case Store(value=Call(fn)) if fn in texts:
                    before = [] if found and is_touch(found[-1]) else touches(stmt.loc)
                    found += [*before, stmt, *touches(stmt.loc)]
                case For():
                    found.append(replace(stmt, body=around(stmt.body)))
                case If():
                    found.append(replace(stmt, then=around(stmt.then), other=around(stmt.other)))
                case _:
                    found.append(stmt)
        return tuple(found)

    def in_memory(node: Expr | Stmt) -> Expr | Stmt | None:
        if isinstance(node, Load | Store) and node.array in seen and not node.index:
            return replace(node, index=(Const(0),))
        return None

    return around(rewrite(body, in_memory)), arrays
