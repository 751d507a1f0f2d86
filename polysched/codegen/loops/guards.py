"""A loop's body as what leads to its guarded part, and that part: taken apart and put together again.

    x = u + s                                   x = u + s
    if 0 <= x && x < w:                 ->      0 <= x
        acc[] = acc[] + a[x]                    x < w                   and the store

    acc[] = acc[] + (0 <= x ? a[x] : 0)  ->     0 <= x                  and acc[] = acc[] + a[x]

The second reading holds where adding zero changes nothing: for integers, and for floats that are never -0.0, since
-0.0 + 0.0 is 0.0. A sum, rounded to nearest, is -0.0 only if both its operands are; so a variable that only takes
constants other than -0.0, and its own value plus or minus something, is never -0.0, whatever is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

from polysched.codegen.loops.inequalities import is_total
from polysched.ir.build import conjunction
from polysched.ir.dtypes import DType
from polysched.ir.integers.facts import Facts
from polysched.ir.integers.intervals import whole
from polysched.ir.node import flattened, statements
from polysched.ir.nodes import OPPOSITE, Alloc, Binary, Const, Expr, Function, If, Let, Load, Select, Stmt, Store, Unary

Chosen = tuple[Expr, Expr, tuple[Expr, ...]]  # a condition, a value under it, and what is evaluated in any case
Step = Let | Expr  # a Let, or a condition under which the rest runs


def taken_apart(body: tuple[Stmt, ...]) -> tuple[list[Step], tuple[Stmt, ...]]:
    """The Lets and conditions, in their order, that lead to the guarded part of `body`, and that part."""
    steps: list[Step] = []
    while body and isinstance(last := body[-1], If) and not last.other:
        lets = [stmt for stmt in body[:-1] if isinstance(stmt, Let)]
        if len(lets) < len(body) - 1:
            break
        steps += [*lets, *flattened(last.cond, "&&")]
        body = last.then
    return steps, body


def put_together(steps: Sequence[Step], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The inverse, with one `if` for conditions in a row."""
    conditions: list[Expr] = []
    for step in reversed(steps):
        if isinstance(step, Let):
            body, conditions = (step, *_guarded(conditions, body)), []
        else:
            conditions.insert(0, step)
    return _guarded(conditions, body)


def _guarded(conditions: list[Expr], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return (If(conjunction(conditions), body, (), body[0].loc if body else None),) if conditions else body


def guarded_update(body: tuple[Stmt, ...], variables: Variables, facts: Facts, *, fast_math: bool) -> tuple[Stmt, ...]:
    """`body` with the store that ends it under a condition, if it stores what was there where that does not hold, and
    cannot trap.

    With `fast_math`, zero times anything is zero, and nothing is -0.0.
    """
    if not body or not isinstance(store := body[-1], Store):
        return body
    match store.value:
        case Binary(op, Load(array, index) as old, term) if (array, index) == (store.array, store.index):
            found = _neutral_unless(op, term, array, variables, fast_math)
        case _:
            return body
    if found is None:
        return body
    cond, value, always = found
    if not all(is_total(expr, facts, loads=True) for expr in (*store.index, *always)):
        return body
    return (*body[:-1], If(cond, (replace(store, value=Binary(op, old, value)),), (), store.loc))


def _neutral_unless(op: str, term: Expr, array: str, variables: Variables, fast_math: bool) -> Chosen | None:
    """The condition under which `op` with the term changes the array's element, and what the term is then."""
    is_free = fast_math or not term.dtype.is_float
    match op:
        case "+" | "-" if found := _nonzero(term, is_free):
            return found if is_free or array in variables.never_negative_zero else None
        case "max":
            least = max(_range(term.dtype)[0], variables.least.get(array, -math.inf))
            return _selected(term, lambda value: value <= least)
        case "min":
            return _selected(term, lambda value: value >= _range(term.dtype)[1])
    return None


def _nonzero(term: Expr, is_free: bool) -> Chosen | None:
    if isinstance(term, Binary) and term.op == "*":
        left, right = term.left, term.right
        if (is_free or _is_finite(right)) and (found := _nonzero(left, is_free)):
            return found[0], replace(term, left=found[1]), (*found[2], right)
        if (is_free or _is_finite(left)) and (found := _nonzero(right, is_free)):
            return found[0], replace(term, right=found[1]), (*found[2], left)
    return _selected(term, lambda value: value == 0)


def _is_finite(expr: Expr) -> bool:
    """Is it neither infinite nor NaN, so that zero times it is zero?"""
    match expr:
        case Const(value=value):
            return math.isfinite(value)
        case Select(_, then, other):
            return _is_finite(then) and _is_finite(other)
    return False


def _selected(term: Expr, is_neutral: Callable[[float], bool]) -> Chosen | None:
    match term:
        case Select(cond, value, Const(value=other)) if is_neutral(other):
            return cond, value, ()
        case Select(cond, Const(value=other), value) if is_neutral(other):
            return _negated(cond), value, ()
    return None


def _negated(cond: Expr) -> Expr:
    match cond:
        case Binary("||", left, right):
            return Binary("&&", _negated(left), _negated(right))
        case Binary(op, left) if op in OPPOSITE and not left.dtype.is_float:
            return replace(cond, op=OPPOSITE[op])
        case Unary("!", arg):
            return arg
    return Unary("!", cond)


def _range(dtype: DType) -> tuple[float, float]:
    return (-math.inf, math.inf) if dtype.is_float else whole(dtype)


@dataclass(frozen=True)
class Variables:
    """What all stores to variables of one thread say of their values."""

    fn: Function

    @cached_property
    def never_negative_zero(self) -> Set[str]:
        return {name for name, values in self._stored.items() if all(_is_in_sum(value, name) for value in values)}

    @cached_property
    def least(self) -> Mapping[str, float]:
        """What none of its values is below, or it is NaN: a maximum does not change."""
        stored = self._stored.items()
        maxima = {name: values for name, values in stored if all(_is_in_max(value, name) for value in values)}
        starts = {name: [v.value for v in values if isinstance(v, Const)] for name, values in maxima.items()}
        return {name: min(values) for name, values in starts.items() if values}

    @cached_property
    def _stored(self) -> Mapping[str, list[Expr]]:
        nodes = list(statements(self.fn.body))
        arrays = (node.array for node in nodes if isinstance(node, Alloc))
        stores: dict[str, list[Expr]] = {a.name: [] for a in arrays if a.space == "private" and not a.shape}
        for node in nodes:
            if isinstance(node, Store) and node.array in stores:
                stores[node.array].append(node.value)
        return stores


def _is_in_sum(value: Expr, name: str) -> bool:
    """Is it a constant other than -0.0, or the variable's value plus or minus something?"""
    match value:
        case Const(value=constant):
            return constant != 0 or math.copysign(1.0, constant) > 0
        case Binary("+" | "-", Load(array), _):
            return array == name
    return False


def _is_in_max(value: Expr, name: str) -> bool:
    """Is it a constant, or the larger of the variable's value and something?"""
    match value:
        case Const(value=constant):
            return not math.isnan(constant)
        case Binary("max", Load(array), _):
            return array == name
    return False
