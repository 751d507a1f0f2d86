"""What statements that stay as they are may touch: all arrays that others can reach, and all variables that they see.

    a[i] = 1                        a[i] = 1
    outside = step_1(outside)       a[outside] = touched(outside, a[outside])       prints nothing
    x = a[i]                  ->    outside = step_1(outside, s)                    s = what the nest holds; step(...)
                                    a[outside] = touched(outside, a[outside])
                                    s = s_is(outside)
                                    x = a[i]

To all of the compiler, an element that data tells is read and stored before the call and after it: so nothing of that
array changes place with the call, is kept over it, or is left out. The printers leave out such stores.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.names import Key, key
from polysched.ir.dtypes import boolean, i64
from polysched.ir.node import walk
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
) -> tuple[Stmt, ...]:
    """The body, with that around each such statement; their macros, complete."""
    assert read.opaque is not None, "the region has texts"
    variables, texts, world = read.variables, read.opaque.texts, Load(read.outside, (), i64)
    seen = [a for a in arrays.values() if not a.shape and key(variables.decls[a.name]) in reached]
    given = {Load(each.name, (), each.dtype): variables.expressions[each.name] for each in seen}
    back: dict[str, str] = {}
    for array in seen:
        back[array.name] = variables.own(f"{array.name}_is")
        read.macros[back[array.name]] = 0, f"({variables.expressions[array.name]})"
    sets = "".join(f"{place} = ({{}}); " for place in given.values())
    for name in texts:
        count, text = read.macros[name]
        read.macros[name] = count + len(given), f"(__extension__ ({{{{ {sets}{text}}}}}))"

    def touches(stmt: Store) -> list[Stmt]:
        found: list[Stmt] = []
        for array in arrays.values():
            if array.shape and array.space == "global":
                index: tuple[Expr, ...] = (world,) * len(array.shape)
                value = Call(TOUCHED, (world, Load(array.name, index, array.dtype)), array.dtype, pure=False)
                found.append(Store(array.name, index, value, stmt.loc))
        return found

    def around(stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for stmt in stmts:
            match stmt:
                case Store(value=Call(fn, args)) if fn in texts:
                    call = Call(fn, (args[0], *given, *args[1:]), i64, pure=False)
                    again = (Call(back[a.name], (world,), a.dtype, pure=False) for a in seen)
                    found += [*touches(stmt), Store(stmt.array, (), call, stmt.loc), *touches(stmt)]
                    found += [Store(a.name, (), value, stmt.loc) for a, value in zip(seen, again, strict=True)]
                case For():
                    found.append(replace(stmt, body=around(stmt.body)))
                case If():
                    found.append(replace(stmt, then=around(stmt.then), other=around(stmt.other)))
                case _:
                    found.append(stmt)
        return tuple(found)

    return around(body)
