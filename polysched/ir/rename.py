"""Fresh names, for copies of statements: every name is bound once in a lowered function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import Any, TypeVar

from polysched.ir.node import children, rewrite, statements, with_uses
from polysched.ir.nodes import Alloc, Call, Expr, For, Function, Let, Load, Stmt, Store, Var
from polysched.support.fields import with_fields
from polysched.support.remembered import remembered

N = TypeVar("N")


def used_names(fn: Function) -> set[str]:
    """Every name that something in `fn` has."""
    return set(_used_names(fn))


@remembered  # most passes ask, and change nothing
def _used_names(fn: Function) -> frozenset[str]:
    parameters = {fn.name, *fn.params, *fn.sizes, *(s.name for s in fn.scalars), *(a.name for a in fn.arrays)}
    parts = (expr for stmt in statements(fn.body) for expr in children(stmt) if isinstance(expr, Expr))
    return frozenset(parameters.union(bound_names(fn.body), *map(_called_in, parts)))


@lru_cache(1 << 14)  # most expressions outlive most passes
def _called_in(expr: Expr) -> frozenset[str]:
    own = (expr.fn,) if isinstance(expr, Call) else ()
    return frozenset(own).union(*map(_called_in, children(expr)))


def bound_names(body: tuple[Stmt, ...]) -> Iterator[str]:
    """Every name that a statement binds, as often as it does."""
    for stmt in statements(body):
        match stmt:
            case Let(name):
                yield name
            case For(var):
                yield var
            case Alloc(array):
                yield array.name


def fresh_names(stem: str, taken: set[str]) -> Iterator[str]:
    """stem0, stem1, ... without those `taken`, which grows by what is given out."""
    for name in (f"{stem}{k}" for k in count()):
        if name not in taken:
            taken.add(name)
            yield name


def rename_bound(body: tuple[Any, ...], fresh: Callable[[str], str]) -> tuple[Any, ...]:
    """`body` with each name that it binds replaced by what `fresh` makes of it."""
    return renamed(body, {name: fresh(name) for name in dict.fromkeys(bound_names(body))})


def renamed(body: tuple[Any, ...], names: Mapping[str, str]) -> tuple[Any, ...]:
    """`body` with other names of loops, values and arrays, where they are bound and where they are used."""

    def rule(node: Any) -> Any:
        match node:
            case Var(name) | Let(name) if name in names:
                return with_fields(node, name=names[name])
            case For(var, reduces=reduces) if var in names or not names.keys().isdisjoint(reduces):
                reduced = tuple(names.get(name, name) for name in reduces)
                return with_fields(node, var=names.get(var, var), reduces=reduced)
            case Load(array) | Store(array) if array in names:
                return with_fields(node, array=names[array])
            case Alloc(array) if array.name in names:
                return replace(node, array=replace(array, name=names[array.name]))
        return None

    return rewrite(body, rule) if names else body


def rename_array(nodes: N, old: str, new: str) -> N:
    """The nodes with another name of an array in their loads and stores."""
    return nodes if old == new else with_uses(nodes, old, lambda use: replace(use, array=new))


def numbered_in_order(body: tuple[Any, ...], names: list[str]) -> tuple[tuple[Any, ...], dict[str, str]]:
    """`body` with these names, which Lets bind, given out again from top to bottom; and which name became which."""
    mine = set(names)
    found = [node.name for node in statements(body) if isinstance(node, Let) and node.name in mine]
    order = dict(zip(found, names, strict=True))
    return body if found == names else renamed(body, order), order
