"""Walking and rewriting the IR, generically: no pass spells out how to recurse; and what is used in it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, Function, If, Load, Stmt, Store, Var
from polysched.support.fields import with_fields

_NUMBER = "int | float | bool"
_DEFAULTS = f"tuple[tuple[str, {_NUMBER} | Contents], ...]"
_PAIRS = "tuple[tuple[str, int], ...]"
_FOREIGN = "tuple[Foreign, ...]"
_LEAF_TYPES = ("str", "int", "bool", "DType", "Loc | None", "tuple[str, ...]", _PAIRS, _NUMBER, _DEFAULTS, _FOREIGN)
_CHILD_FIELDS: dict[type, tuple[str, ...]] = {  # the fields that can hold nodes, in source order
    cls: tuple(f.name for f in fields(cls) if f.type not in _LEAF_TYPES)
    for cls in (*Expr.__subclasses__(), *Stmt.__subclasses__(), *Store.__subclasses__(), Array, Function)
}
_LEAVES = frozenset((Var, Const))


def _last_first(names: tuple[str, ...]) -> Callable[[Any], Iterable[Any]]:
    """The fields of that name of a node, from the last to the first."""
    get = operator.attrgetter(*reversed(names)) if names else lambda node: ()
    return get if len(names) != 1 else lambda node: (get(node),)


_LAST_FIRST = {cls: _last_first(names) for cls, names in _CHILD_FIELDS.items()}


def children(node: Any) -> Iterable[Any]:
    """The nodes directly below `node`, left to right."""
    if type(node) is Binary:  # most of them
        return node.left, node.right
    return _below(node)


def _below(node: Any) -> Iterator[Any]:
    for name in _CHILD_FIELDS[type(node)]:
        value = getattr(node, name)
        if isinstance(value, tuple):
            yield from value
        else:
            yield value


def walk(node: Any) -> Iterator[Any]:
    """`node` and everything below it, parents first; a tuple of nodes is walked in order."""
    rest = [node]
    while rest:
        node = rest.pop()
        kind = type(node)
        if kind is tuple:
            rest += reversed(node)
        else:
            yield node
            if kind not in _LEAVES:  # half of all nodes
                rest += _LAST_FIRST[kind](node)


def statements(nodes: Any) -> Iterator[Any]:
    """The statements and those inside of them, parents first; of their expressions, `walk` yields many more."""
    rest = [nodes]
    while rest:
        node = rest.pop()
        kind = type(node)
        if kind is tuple:
            rest += reversed(node)
        else:
            yield node
            if kind is For or kind is Function:
                rest.append(node.body)
            elif kind is If:
                rest += node.other, node.then


def map_children(node: Any, fn: Callable[[Any], Any]) -> Any:
    """`node` with `fn` applied to each child; the same object back when nothing changed.

    In a statement list `fn` may return a tuple, which is spliced in (the empty tuple deletes).
    """
    kind = type(node)
    if kind in _LEAVES:
        return node
    if kind is Binary:  # most of the others
        left, right = fn(node.left), fn(node.right)
        return node if left is node.left and right is node.right else Binary(node.op, left, right)
    changes = {}
    for name in _CHILD_FIELDS[kind]:
        old = getattr(node, name)
        new = map_list(old, fn) if isinstance(old, tuple) else fn(old)
        if new is not old:
            changes[name] = new
    return with_fields(node, **changes) if changes else node


def map_list(nodes: tuple[Any, ...], fn: Callable[[Any], Any]) -> tuple[Any, ...]:
    """`fn` over a list, splicing tuples; the same tuple back when nothing changed."""
    out: list[Any] = []
    for node in nodes:
        new = fn(node)
        out.extend(new) if isinstance(new, tuple) else out.append(new)
    same = len(out) == len(nodes) and all(map(operator.is_, out, nodes))
    return nodes if same else tuple(out)


def map_blocks(stmt: Stmt, fn: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Stmt:
    """`stmt` with `fn` applied to the blocks of a loop or branch; the same object back when nothing changed."""
    match stmt:
        case For(body=body):
            new = fn(body)
            return stmt if new is body else with_fields(stmt, body=new)
        case If(then=then, other=other):
            new_then, new_other = fn(then), fn(other)
            same = new_then is then and new_other is other
            return stmt if same else with_fields(stmt, then=new_then, other=new_other)
    return stmt


def flattened(expr: Expr, op: str) -> Iterator[Expr]:
    """The operands of nested `op`, left to right; the expression itself if it is none."""
    if isinstance(expr, Binary) and expr.op == op:
        yield from flattened(expr.left, op)
        yield from flattened(expr.right, op)
    else:
        yield expr


def rewrite(node: Any, rule: Callable[[Any], Any | None]) -> Any:
    """`node` rebuilt bottom-up: `rule` sees each node after its children, and returns a new one or None to keep it.

    For a statement the rule may return a tuple of statements. Rules never recurse; this driver does.
    """
    if isinstance(node, tuple):
        return map_list(node, lambda child: rewrite(child, rule))
    rebuilt = map_children(node, lambda child: rewrite(child, rule))
    new = rule(rebuilt)
    return rebuilt if new is None else new


def without_subscripts(node: Any) -> Any:
    """`node` with loads of arrays alone, whatever their elements."""
    return rewrite(node, lambda n: Load(n.array, (), n.dtype) if isinstance(n, Load) else None)


def substitute(node: Any, values: dict[str, Expr]) -> Any:
    """`node` with every `Var` named in `values` replaced; bound names must not clash with those in the values."""
    return rewrite(node, lambda n: values.get(n.name) if isinstance(n, Var) else None)


# --- what is used


def variables(nodes: Any) -> frozenset[str]:
    """The names of loops, sizes and values that are used."""
    return frozenset(node.name for node in walk(nodes) if isinstance(node, Var))


def arrays_of(fn: Function) -> dict[str, Array]:
    """Those that it takes and those that it allocates, by their names."""
    local = (node.array for node in statements(fn.body) if isinstance(node, Alloc))
    return {array.name: array for array in (*fn.arrays, *local)}


def loaded(nodes: Any) -> frozenset[str]:
    """The arrays that are loaded from."""
    return frozenset(node.array for node in walk(nodes) if isinstance(node, Load))


def stored(nodes: Any) -> frozenset[str]:
    """The arrays that are stored to."""
    return frozenset(node.array for node in statements(nodes) if isinstance(node, Store))


def loads(nodes: Any, array: str) -> list[Load]:
    return [node for node in walk(nodes) if isinstance(node, Load) and node.array == array]


def uses(nodes: Any, array: str) -> list[Load | Store]:
    return [node for node in walk(nodes) if isinstance(node, Load | Store) and node.array == array]


def touches(nodes: Any, array: str) -> bool:
    """Is an element of the array loaded or stored?"""
    return any(isinstance(node, Load | Store) and node.array == array for node in walk(nodes))


def at_element(nodes: Any, array: str, name: str, index: tuple[Expr, ...]) -> Any:
    """The nodes with one element, of the array called `name`, wherever they load or store `array`."""
    return with_uses(nodes, array, lambda use: replace(use, array=name, index=index))


def with_uses(nodes: Any, array: str, change: Callable[[Any], Any]) -> Any:
    """The nodes with what `change` makes of each load and store of the array."""
    return rewrite(nodes, lambda n: change(n) if isinstance(n, Load | Store) and n.array == array else None)
