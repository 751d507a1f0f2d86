"""Zeros around data, in sums of products with it, in one of three lowerings.

    for i in 0..n: for r in 0..3:
        out[i] = out[i] + (i + r - 1 >= 0 && i + r - 1 < n ? a[i + r - 1] : 0.0) * b[r]

    domain cut      if i + r - 1 >= 0 && i + r - 1 < n: out[i] = out[i] + a[i + r - 1] * b[r]
    padded copy     for x0 in 0..n + 2: a0[x0] = x0 >= 1 && n >= x0 ? a[x0 - 1] : 0.0
                    ...
                    out[i] = out[i] + a0[i + r] * b[r]
    guard           as it is

A copy is exact. A cut leaves out the products with zero, and becomes bounds of loops. It is exact for integers; for
floats, with fast_math, or where zero times the other factor is zero and adding zero changes no sum: where
the sum starts at a constant other than -0.0, since a sum, rounded to nearest, is -0.0 only if both its operands are.

Conditions on data stay as they are.

Which factors are surely finite, so that zero times them is zero.

    for i in 0..3: g[i] = i == 0 ? 1.0 : 0.5          g[k] is: all that is stored there are such constants
    f32(i % 4)                                        is: an integer
    a[k], a parameter                                 is not: it may hold an infinity

Elements of `g` that are read before they are stored have no value at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from polysched.errors import InputError
from polysched.ir.effects import may_change
from polysched.ir.node import map_blocks, map_list, rewrite, statements, walk
from polysched.ir.nodes import Alloc, Binary, Cast, Const, Expr, For, Function, If, Load, Select, Stmt, Store
from polysched.ir.rename import used_names
from polysched.prelude.padding.padded_copy import PaddedCopy, padded_copy

How = Literal["domain cut", "padded copy", "guard"]
Elements = frozenset[tuple[str, tuple[Expr, ...]]]


@dataclass(frozen=True)
class PaddedSum:
    """A store that adds a product, of which one factor is an element of padded data, inside of loops."""

    store: Store
    access: Select
    load: Load
    others: tuple[Expr, ...]  # factors
    loops: tuple[For, ...]
    is_guarded: bool
    is_started: bool = False  # at a value other than -0.0
    shape: tuple[Expr, ...] | None = None  # of the data; None if that changes in the nest around

    def of(self, element: Expr) -> Store:
        """The store with `element` in place of the access."""
        new: Store = rewrite(self.store, lambda node: element if node == self.access else None)
        return new


def zeros(fn: Function, data: str, how: str | Sequence[str], fast_math: bool = False) -> Function:
    """`fn` with the zeros around `data` in this lowering, in all sums of products with it; or in one for each of them.

    InputError if there is no such sum, or it has no padded copy; and for a cut that is not exact, without `fast_math`.
    """
    count = len(sums_around(fn, data))
    hows = [how] * count if isinstance(how, str) else list(how)
    if wrong := [one for one in hows if one not in get_args(How)]:
        raise InputError(f"zeros(how={wrong[0]!r}): how is one of {', '.join(map(repr, get_args(How)))}")
    if not count:
        hint = "they are part of what is summed up, as in sum(select(i + r >= 1, a[i + r - 1], 0) * b[r])"
        raise InputError(f"there is no sum of products with zeros around '{data}'", hint=hint)
    if len(hows) != count:
        raise InputError(f"the sums of products with zeros around '{data}' are {count}, not {len(hows)}")
    left, tables, taken = iter(hows), finite_tables(fn), used_names(fn)
    made: list[Stmt] = []  # for the statement at hand

    def lowered(found: PaddedSum) -> Stmt:
        if found.load.array != data:
            return found.store
        match next(left):
            case "padded copy":
                copy = copy_for(found, fn, taken)
                if copy is None:
                    hint = "data that nothing changes has one, if it is zero beyond its edges alone"
                    raise InputError(f"'{data}' has no padded copy", hint=hint)
                made.extend(copy.statements)
                return found.of(copy.element)
            case "domain cut":
                if not cut_is_exact_since(found, tables, fast_math=fast_math):
                    message = f"a sum with '{data}' may differ without products with zeros: zero times infinity is NaN"
                    raise InputError(message, hint="allow that with fast_math=True, or make a padded copy")
                return If(found.access.cond, (found.of(found.load),), (), found.store.loc)
        return found.store

    def behind_its_copies(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        made.clear()
        new = _lowered(stmt, fn, lowered)
        return (*made, new) if made else new

    body = map_list(fn.body, behind_its_copies)
    return fn if body is fn.body else replace(fn, body=body)


def padded_sums(fn: Function) -> tuple[PaddedSum, ...]:
    """The sums of products with zeros around data, in their order."""
    found: list[PaddedSum] = []

    def kept(one: PaddedSum) -> Stmt:
        found.append(one)
        return one.store

    for stmt in fn.body:
        _lowered(stmt, fn, kept)
    return tuple(found)


def sums_around(fn: Function, data: str) -> tuple[PaddedSum, ...]:
    return tuple(found for found in padded_sums(fn) if found.load.array == data)


def cut_is_exact_since(found: PaddedSum, tables: frozenset[str], *, fast_math: bool) -> str:
    """Why leaving out the terms with zero changes nothing; empty if it may."""
    if not found.store.value.dtype.is_float:
        return "integers are"
    if fast_math:
        return "fast_math has it so"
    match found.others:  # a product of two may not be finite
        case () | (_,) if found.is_started and all(is_finite(factor, tables) for factor in found.others):
            return "the other factor is finite" if found.others else "nothing else is a factor"
    return ""


def copy_for(found: PaddedSum, fn: Function, taken: set[str]) -> PaddedCopy | None:
    """The padded copy that the sum may read; None if there is none. Its names are none of those `taken`, which grow."""
    if found.shape is None:
        return None
    return padded_copy(found.access, found.shape, found.loops, fn.sizes, taken)


def _lowered(stmt: Stmt, fn: Function, lower: Callable[[PaddedSum], Stmt]) -> Stmt:
    """A statement of the function with what `lower` makes of each sum."""
    own = (each.array for each in statements(fn.body) if isinstance(each, Alloc))
    stored = {node.array for node in walk(stmt) if isinstance(node, Store)}
    shapes = {array.name: array.shape for array in (*fn.arrays, *own) if array.name not in stored}
    (new,) = _Lowering(shapes, lower).block((stmt,), (), frozenset())
    return new


@dataclass(frozen=True)
class _Lowering:
    shapes: Mapping[str, tuple[Expr, ...]]  # of arrays that stay as they are
    lower: Callable[[PaddedSum], Stmt]

    def block(self, body: tuple[Stmt, ...], around: tuple[For | If, ...], started: Elements) -> tuple[Stmt, ...]:
        """The statements inside of those around, where the elements `started` are sums that are not -0.0."""

        def statement(stmt: Stmt) -> Stmt:
            nonlocal started
            started = _started(started, stmt)
            if isinstance(stmt, Store) and (found := _padded_sum(stmt, around)) is not None:
                is_started, shape = (stmt.array, stmt.index) in started, self.shapes.get(found.load.array)
                return self.lower(replace(found, is_started=is_started, shape=shape))
            inside = (*around, stmt) if isinstance(stmt, For | If) else around
            known = started
            return map_blocks(stmt, lambda block: self.block(block, inside, known))

        return map_list(body, statement)


def _started(known: Elements, stmt: Stmt) -> Elements:
    """The elements that hold sums other than -0.0 while and after the statement runs."""
    stores = [node for node in walk(stmt) if isinstance(node, Store)]
    lost = {store.array for store in stores if not _adds(store)}
    kept = frozenset(element for element in known if element[0] not in lost)
    match stmt:
        case Store(array, index, Const(value=value)) if value != 0 or math.copysign(1.0, value) > 0:
            return kept | {(array, index)}
    return kept


def _adds(store: Store) -> bool:
    match store.value:
        case Binary("+" | "-", Load(array, index)):
            return (array, index) == (store.array, store.index)
    return False


def _padded_sum(store: Store, around: tuple[For | If, ...]) -> PaddedSum | None:
    """The store, if it adds a product with an element of padded data, whose place alone decides what is padding."""
    if not _adds(store) or not isinstance(store.value, Binary):
        return None
    factors = list(_factors(store.value.right))
    for k, factor in enumerate(factors):
        match factor:
            case Select(cond, Load() as load, Const(value=0)) if not may_change(cond):
                loops = tuple(stmt for stmt in around if isinstance(stmt, For))
                others = (*factors[:k], *factors[k + 1 :])
                return PaddedSum(store, factor, load, others, loops, is_guarded=len(loops) < len(around))
    return None


def _factors(term: Expr) -> Iterator[Expr]:
    """The factors of a product; of a factor that is cast, which keeps zeros, what is cast."""
    match term:
        case Binary("*", left, right):
            yield from _factors(left)
            yield from _factors(right)
        case Cast(Select() as arg):
            yield arg
        case _:
            yield term


_GREATEST = {16: 65504.0, 32: 3.4028234e38, 64: 1.7976931348623157e308}  # by the bits of a float


def finite_tables(fn: Function) -> frozenset[str]:
    """The arrays of its own that hold nothing but constants that are finite."""
    stored: dict[str, list[Expr]] = {}
    for stmt in statements(fn.body):
        match stmt:
            case Alloc(array):
                stored.setdefault(array.name, [])
            case Store(array, value=value) if array in stored:
                stored[array].append(value)
    return frozenset(name for name, values in stored.items() if values and all(map(is_finite, values)))


def is_finite(expr: Expr, tables: frozenset[str] = frozenset()) -> bool:
    """Is it neither infinite nor NaN?"""
    return (isinstance(expr, Load) and expr.array in tables) or _magnitude(expr) < math.inf


def _magnitude(expr: Expr) -> float:
    """What its magnitude is at most; infinity if nothing tells."""
    match expr:
        case Const(value=value):
            most = abs(float(value)) if math.isfinite(value) else math.inf
        case Select(_, then, other):
            most = max(_magnitude(then), _magnitude(other))
        case Cast(arg):
            most = _magnitude(arg)
        case _ if not expr.dtype.is_float:
            most = 2.0**expr.dtype.bits
        case _:
            most = math.inf
    return most if not expr.dtype.is_float or most <= _GREATEST[expr.dtype.bits] else math.inf
