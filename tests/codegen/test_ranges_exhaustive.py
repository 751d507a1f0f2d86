"""Divisions, min, max and conditions over small ranges: all that the facts may decide, for every value that runs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from polysched.codegen.loops.ranges import simplify_ranges
from polysched.ir.build import add, binary, const, load, mul, store, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.nodes import COMPARISONS, Array, Binary, Cast, Expr, Function, If, Let, Select
from polysched.ir.verify import verify
from tests.codegen.soundness import assert_same, result
from tests.nests import loop, nest

i, j, n, m, v, w = (var(name) for name in "ijnmvw")
ROUNDINGS = ("floordiv", "floormod", "truncdiv", "truncmod")
RANGES = ((0, 4), (-4, 1), (-3, 3), (2, 6), (-6, -1), (1, 1))


def recorded(values: list[Expr], *around) -> Function:
    """out[k] = out[k] * 31 + values[k], in the loops and conditions `around`, outermost first."""
    out = Array("out", i64, (const(len(values)),))
    body = tuple(store(out, (k,), add(mul(load(out, k), 31), value)) for k, value in enumerate(values))
    for wrap in reversed(around):
        body = (wrap(*body),)
    return nest("f", "n m", [out], *body, scalars=(v, w))


def over(name, lo, hi, step=1):
    return lambda *body: loop(name, lo, hi, *body, step=step)


def under(cond):
    return lambda *body: If(cond, body)


def assert_sound(fn: Function, sizes=(0,), scalars=(0,)) -> Function:
    after = simplify_ranges(fn)
    verify(after, "source")
    for one, two, x, y in itertools.product(sizes, sizes, scalars, scalars):
        out = np.zeros(fn.arrays[0].shape[0].value, np.int64)
        arguments = {"n": one, "m": two, "v": x, "w": y, "out": out}
        assert_same(result(fn, arguments), result(after, arguments), arguments)
    return after


def as_int(cond: Expr) -> Expr:
    return Cast(cond, i64)


@pytest.mark.parametrize("divisor", [-4, -3, -2, -1, 1, 2, 3, 4, 8, 2**63 - 1, -(2**63)])
def test_divisions_by_constants(divisor):
    forms = [i, add(i, 1), sub(2, i), add(mul(i, divisor), j), add(mul(j, divisor), i), sub(i, j), add(i, j), mul(i, j)]
    forms += [add(mul(i, 2, divisor), mul(j, divisor), 1), add(mul(i, 6), mul(j, 4)), sub(mul(i, divisor), j)]
    values = [binary(op, form, divisor) for op in ROUNDINGS for form in forms]
    values += [binary(op, binary(inner, i, 2), divisor) for op in ROUNDINGS for inner in ROUNDINGS]
    for first, second in itertools.product(RANGES[:4], ((0, 3), (-2, 2), (0, max(1, min(abs(divisor), 5))))):
        assert_sound(recorded(values, over("i", *first), over("j", *second)))


@pytest.mark.slow
def test_comparisons_min_and_max():
    constants = (-4, -1, 0, 3, 5)
    values = [as_int(binary(op, form, c)) for op in sorted(COMPARISONS) for form in (i, sub(i, j)) for c in constants]
    values += [as_int(binary(op, i, j)) for op in sorted(COMPARISONS)]
    values += [binary(op, form, c) for op in ("min", "max") for form in (i, add(i, j)) for c in constants]
    values += [binary(op, i, j) for op in ("min", "max")]
    values += [Select(binary("<", i, j), binary("min", i, j), binary("max", i, j))]
    for first, second in itertools.product(RANGES, ((0, 3), (-2, 2), (i, 4), (-1, i))):
        assert_sound(recorded(values, over("i", *first), over("j", *second)))
        assert_sound(recorded(values, over("i", *first, step=3), over("j", *second, step=2)))
        assert_sound(recorded(values, over("i", first[1], first[0], step=-2), over("j", 2, -2, step=-1)))


def test_divisions_by_sizes():
    forms = [i, j, add(mul(i, m), j), add(mul(j, m), i), sub(mul(i, m), j), add(mul(i, m), j, 1), mul(i, m), sub(i, m)]
    values = [binary(op, form, m) for op in ROUNDINGS for form in forms]
    values += [binary("floordiv", add(mul(i, m, n), mul(j, n), 1), mul(m, n)), binary("floormod", mul(i, m), mul(m, n))]
    for value in values:
        for lo, hi in ((0, n), (-2, 2), (n, 3)):
            assert_sound(recorded([value], over("i", lo, hi), over("j", 0, m)), sizes=range(4))
            assert_sound(recorded([value], over("j", -1, 2), over("i", lo, hi)), sizes=range(3))  # m may be 0


def test_a_fused_index_taken_apart():
    values = [binary("floordiv", i, m), binary("floormod", i, m), binary("floormod", binary("floordiv", i, m), n)]
    values += [binary("truncdiv", i, m), binary("truncmod", i, mul(n, m)), binary("floordiv", i, mul(n, m))]
    for value in values:
        assert_sound(recorded([value], over("i", 0, mul(n, m))), sizes=range(4))
        assert_sound(recorded([value], over("i", 0, add(mul(n, m), 2))), sizes=range(4))
        assert_sound(recorded([value], over("i", -1, mul(n, m)), under(binary("<", 0, m))), sizes=range(4))


EDGES = (-(2**63), -(2**63) + 1, -(2**32), -3, -1, 0, 1, 2, 2**31, 2**62, 2**63 - 2, 2**63 - 1)


@pytest.mark.parametrize("op", sorted(COMPARISONS))
def test_conditions_on_any_numbers_decide_nothing_that_wraps(op):
    """All pairs of numbers at the edges, in one run each."""
    forms = [sub(v, w), add(v, 1), sub(v, 1), sub(0, v), mul(v, 2), binary("max", v, w), binary("min", add(v, w), w)]
    forms += [binary("<<", v, 1), binary(">>", v, 1), binary("&", v, 7), binary("floormod", v, 4), Binary("^", v, w)]
    values = [as_int(binary(other, form, c)) for other in sorted(COMPARISONS) for form in forms for c in (0, 1)]
    values += [binary("floordiv", form, 4) for form in forms] + [binary("truncmod", form, 3) for form in forms]
    out, edges = recorded(values).arrays[0], Array("edges", i64, (const(len(EDGES)),))
    body = recorded(values).body
    for cond in (binary(op, v, w), binary(op, add(v, 1), w), binary(op, sub(v, w), 0), binary(op, v, 0)):
        for guarded in (If(cond, body), If(cond, (), body)):
            pair = (Let("v", load(edges, i)), Let("w", load(edges, j)), guarded)
            fn = nest("f", "", [out, edges], loop("i", 0, len(EDGES), loop("j", 0, len(EDGES), *pair)))
            after = simplify_ranges(fn)
            arguments = {"out": np.zeros(len(values), np.int64), "edges": np.array(EDGES)}
            assert_same(result(fn, arguments), result(after, arguments), arguments)


@pytest.mark.parametrize("op", ROUNDINGS)
def test_division_by_zero_stays(op):
    quotient = binary(op, i, v)
    same = [quotient, sub(quotient, quotient), mul(quotient, 0), binary("min", quotient, quotient)]
    same += [as_int(binary("==", quotient, quotient)), as_int(binary(">=", binary(op, v, i), -(2**63)))]
    same += [binary(op, mul(i, v), v), binary(op, sub(v, v), v), binary(op, i, 0), binary(op, binary(op, i, v), v)]
    for value in same:
        for around in ([], [under(binary("!=", v, 0))], [under(binary(">", v, 0))], [under(binary(">=", v, 0))]):
            fn = recorded([value], over("i", -2, 3), *around)
            assert_sound(fn, scalars=(-2, -1, 0, 1, 2))


def test_lets_are_known_by_their_values():
    values = [binary(op, var("t"), c) for op in (*ROUNDINGS, "min", "max") for c in (1, 2, 4)]
    for t in (mul(i, 4), add(mul(i, 4), 2), binary("floormod", i, 4), binary("max", i, 0), sub(i, v)):
        body = recorded(values).body
        fn = nest("f", "n m", recorded(values).arrays, loop("i", -3, 5, Let("t", t), *body), scalars=(v, w))
        assert_sound(fn, scalars=(-1, 0, 3))
