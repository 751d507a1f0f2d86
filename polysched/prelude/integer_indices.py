"""Places that are computed with floats, as integers: proven by trying every iteration, where their number is known.

    for i in 0..8: out[i] = a[i64(floor((f32(i) + 0.5) * 0.5 - 0.5))]    ->    out[i] = a[floordiv(i - 1, 2)]

so that the access is affine, and dependences and bounds are exact. What rounds to other integers than a line does, for
one iteration alone, stays as it is, and may touch any element; so does what depends on sizes or more than one loop.

Keeps: every value. Arithmetic of floats is IEEE's, so what holds here holds in C and on a GPU, unless products and sums
are rounded once there (Options.contract_floats); then the value is still that of the nest as it stands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from polysched.ir.build import add, floordiv, mul
from polysched.ir.dtypes import i64
from polysched.ir.interp import compiled
from polysched.ir.node import map_children, variables, walk
from polysched.ir.nodes import Binary, Call, Cast, Const, Expr, For, Function, Load, Unary, Var
from polysched.ir.simplify import simplify
from polysched.model.loops import trip_count

_MOST = 4096  # iterations that are tried
_LARGE = 1 << 31  # values below it differ by what int64 holds
_EXACT = frozenset({"floor", "ceil", "trunc", "rint", "fabs", "sqrt"})  # functions that all platforms round alike


def integer_indices(fn: Function) -> Function:
    """`fn` with each integer made of floats that depend on one loop as a quotient, where it is one."""
    found: Function = map_children(fn, partial(_visited, loops={}))
    return found


def _visited(node: object, loops: Mapping[str, For]) -> object:
    """`loops` are those around of known bounds, by their variables."""
    match node:
        case For(var=var):
            known = isinstance(node.lo, Const) and node.step > 0 and (trip_count(node) or _MOST + 1) <= _MOST
            loops = {name: loop for name, loop in loops.items() if name != var} | ({var: node} if known else {})
        case Cast(arg, dtype) if arg.dtype.is_float and dtype.is_integer and (line := _line(node, loops)) is not None:
            return line if dtype == i64 else Cast(line, dtype)
    return map_children(node, partial(_visited, loops=loops))


def _line(place: Cast, loops: Mapping[str, For]) -> Expr | None:
    """The place as a quotient; None if it is none."""
    names = variables(place)
    if len(names) != 1 or not names <= loops.keys() or not all(map(_is_exact, walk(place.arg))):
        return None
    (name,) = names
    loop = loops[name]
    assert isinstance(loop.lo, Const) and isinstance(loop.hi, Const)
    values = range(int(loop.lo.value), int(loop.hi.value), loop.step)
    try:
        of = compiled(Cast(place.arg, i64))
        tried = [int(of({name: x})) for x in values]
    except (OverflowError, ValueError, ZeroDivisionError):  # a NaN, or beyond all integers
        return None
    found = digital_line(values, tried) if all(abs(value) < _LARGE for value in tried) else None
    if found is None:
        return None
    slope, start, divisor = found
    return simplify(floordiv(add(mul(slope, Var(name)), start), divisor))


def _is_exact(node: Expr) -> bool:
    match node:
        case Call(fn=fn):
            return fn in _EXACT
        case Load():
            return False
        case Binary() | Unary() | Cast() | Const() | Var():
            return True
    return False


def digital_line(at: Sequence[int], values: Sequence[int]) -> tuple[int, int, int] | None:
    """p, s and the smallest q with floor((p * x + s) / q) the value at each x, of which one is as far from the next as
    any; None if there are none.

    There are if a slope is less than (v[y] - v[x] + 1) / (y - x) and more than (v[y] - v[x] - 1) / (y - x) for all
    x < y (Reveilles, Geometrie discrete, 1991).
    """
    if len(at) < 2:
        return (0, values[0], 1) if at else None
    low, high = Fraction(-1 << 62), Fraction(1 << 62)
    step, height = at[1] - at[0], np.array(values, np.int64)
    for reach in range(1, len(at)):
        rises = height[reach:] - height[:-reach]
        low = max(low, Fraction(int(rises.max()) - 1, reach * step))
        high = min(high, Fraction(int(rises.min()) + 1, reach * step))
        if low >= high:
            return None
    slope = _simplest_between(low, high)
    p, q = slope.numerator, slope.denominator
    return p, max(q * v - p * x for x, v in zip(at, values, strict=True)), q


def _simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of the least denominator in an open interval, by continued fractions."""
    whole = math.floor(low)
    if whole + 1 < high:
        return Fraction(whole + 1)
    if low == whole:  # and high is at most whole + 1
        return whole + Fraction(1, math.floor(1 / (high - whole)) + 1)
    return whole + 1 / _simplest_between(1 / (high - whole), 1 / (low - whole))
