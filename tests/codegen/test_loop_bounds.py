import math
import random

import numpy as np
import pytest

from polysched.codegen.loops.loop_bounds import loop_bounds
from polysched.codegen.memory.linearize import linearize
from polysched.ir.build import add, binary, conjunction, const, floordiv, floormod, lift, load, mul, store, sub, var
from polysched.ir.dtypes import f64, i32, i64
from polysched.ir.nodes import (
    Alloc,
    Array,
    Barrier,
    Binary,
    Call,
    Cast,
    Expr,
    Function,
    If,
    Let,
    Select,
    Stmt,
    Store,
)
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.ir.verify import verify
from tests.codegen.programs import random_program, texts_with_hash_seed
from tests.nests import arguments_for, assert_same_outcome, canonical, loop, nest, outcome, random_nest

h, w, n, m, s, pad = map(var, ("h", "w", "n", "m", "s", "pad"))
r, t, y, x, k = map(var, "rtyxk")
a = var("a")
DATA, OUT = Array("data", i64, (add(n, 8),)), Array("out", i64, (add(n, 8),))
FLOATS = Array("floats", f64, (add(n, 8),))
SUM = Array("sum", f64, (), "private")


def function(*body: Stmt) -> Function:
    fn = nest("f", "n m s h w pad", (DATA, OUT, FLOATS), *body, scalars=(a, var("p", i32)))
    verify(fn, "source")
    return fn


def both(*conditions: Expr) -> Expr:
    return conjunction(conditions)


def less(left: Expr | int, right: Expr | int) -> Expr:
    return binary("<", lift(left), right)


def equal(left: Expr, right: Expr | int) -> Expr:
    return binary("==", left, right)


def at_least_zero(expr: Expr) -> Expr:
    return binary("<=", const(0), expr)


def bump(index: Expr) -> Store:
    """out[index] = out[index] + 1, wherever the index is"""
    place = floormod(index, 8)
    return store(OUT, (place,), add(load(OUT, place), 1))


def after(*body: Stmt, **options: bool | int) -> str:
    """The text of the body, narrowed, which must do the same on a few arguments."""
    fn = function(*body)
    narrowed = loop_bounds(fn, **options)
    verify(narrowed, "source")
    assert loop_bounds(narrowed, **options) is narrowed
    for seed in range(5):
        arguments = arguments_for(fn, random.Random(seed), n=seed % 5)
        assert same_outcome(fn, narrowed, arguments)
        assert same_outcome(fn, narrowed, arguments | {"s": 0, "h": 0})
    return show(narrowed.body)


def same_outcome(one: Function, other: Function, arguments: dict) -> bool:
    """Whether both trap, or leave the same bits in all arrays."""
    expected, actual = result(one, arguments), result(other, arguments)
    if isinstance(expected, type) or isinstance(actual, type):
        return expected is actual
    return all(np.array_equal(expected[name], actual[name], equal_nan=True) for name in expected)


def result(fn: Function, arguments: dict) -> dict[str, np.ndarray] | type:
    try:
        return outcome(fn, arguments)
    except (ZeroDivisionError, IndexError) as error:
        return type(error)


# --- guards into bounds


def convolution(stride: Expr | int = 1) -> Function:
    """2-D, "same" padding, its guard where a naive user puts it."""
    image, weights = Array("image", f64, (h, w)), Array("weights", f64, (n, m))
    result = Array("result", f64, (h, w))
    row, column = sub(add(mul(y, stride), r), pad), sub(add(mul(x, stride), t), pad)
    inside = both(at_least_zero(row), less(row, h), at_least_zero(column), less(column, w))
    update = store(SUM, (), add(load(SUM), mul(load(image, row, column), load(weights, r, t))))
    rows = loop("r", 0, n, loop("t", 0, m, If(inside, (update,))))
    pixel = (Alloc(SUM), store(SUM, (), 0.0), rows, store(result, (y, x), load(SUM)))
    body = loop("y", 0, h, loop("x", 0, w, *pixel))
    return nest("convolution", "h w n m s pad", (image, weights, result), body)


def test_A21_padding_becomes_bounds():
    fn = simplify(linearize(convolution()))
    narrowed = loop_bounds(fn)
    assert show(narrowed.body) == (
        "for y in 0..h:\n"
        "    for x in 0..w:\n"
        "        alloc sum: private f64[]\n"
        "        sum[] = 0.0\n"
        "        for r in max(0, pad - y)..min(n, h + pad - y):\n"
        "            for t in max(0, pad - x)..min(m, w + pad - x):\n"
        "                sum[] = sum[] + image[(y + r - pad) * w + x + t - pad] * weights[r * m + t]\n"
        "        result[y * w + x] = sum[]"
    )
    for sizes in ((3, 4, 3, 2, 1, 1), (2, 2, 5, 5, 1, 2), (0, 3, 1, 1, 1, 0), (3, 3, 0, 2, 1, 9)):
        arguments = arguments_for(fn, random.Random(1), n=2)
        arguments |= dict(zip("hwnm", sizes[:4], strict=True)) | {"s": sizes[4], "pad": sizes[5]}
        for array in fn.arrays:
            extent = {"image": sizes[0] * sizes[1], "weights": sizes[2] * sizes[3], "result": sizes[0] * sizes[1]}
            arguments[array.name] = np.arange(extent[array.name], dtype=float)
        assert_same_outcome(fn, narrowed, arguments)


def test_a_stride_that_is_a_size():
    assert "for r in max(0, pad - y * s)..min(n, h + pad - y * s):" in show(loop_bounds(convolution(s)).body)


def test_every_comparison():
    guards = both(less(r, add(n, -2)), binary(">=", r, y), binary(">", m, r), binary("<=", add(r, 1), s))
    assert after(loop("y", 0, 3, loop("r", 0, n, If(guards, (bump(r),))))) == (
        "for y in 0..3:\n"
        "    for r in max(0, y)..min(min(n - 2, m), s):\n"
        "        out[floormod(r, 8)] = out[floormod(r, 8)] + 1"
    )


def test_an_equation_leaves_one_iteration():
    assert after(loop("y", 0, 3, loop("r", 0, n, If(equal(add(r, y), m), (bump(r),))))).splitlines()[1] == (
        "    for r in max(0, m - y)..min(n, m - y + 1):"
    )


def test_factors_are_divided_by():
    guards = both(less(mul(r, 3), m), at_least_zero(sub(mul(2, r), y)))
    assert after(loop("y", 0, 3, loop("r", 0, n, If(guards, (bump(r),))))).splitlines()[1] == (
        "    for r in max(0, -floordiv(-y, 2))..min(n, floordiv(m - 1, 3) + 1):"
    )


def test_quotients_are_multiplied_with():
    guards = both(less(floordiv(add(r, y), 4), m), at_least_zero(floordiv(sub(y, r), 2)))
    assert after(loop("y", 0, 3, loop("r", 0, n, If(guards, (bump(r),))))).splitlines()[1] == (
        "    for r in 0..min(min(n, m * 4 - y), y + 1):"
    )


def test_a_quotient_rounded_to_zero_is_one_only_of_what_is_not_negative():
    def at_least(least: int, top: Expr) -> Stmt:
        return loop("r", 0, add(n, 7), If(binary("<=", const(least), binary("truncdiv", top, const(4))), (bump(r),)))

    assert unchanged(at_least(0, sub(r, m)))  # zero from r = m - 3 on
    assert unchanged(at_least(-1, sub(m, r)))
    assert after(at_least(1, add(r, m))).startswith("for r in max(0, 4 - m)..n + 7:")


def test_minima_are_several_bounds():
    guard = less(add(r, y), binary("min", m, s))
    assert "r in 0..min(min(n, m - y), s - y):" in after(loop("y", 0, 3, loop("r", 0, n, If(guard, (bump(r),)))))


def test_a_bound_as_narrow_as_another_is_left_out():
    assert after(loop("r", 0, n, If(both(less(r, add(n, 2)), at_least_zero(r)), (bump(r),)))) == (
        "for r in 0..n:\n    out[floormod(r, 8)] = out[floormod(r, 8)] + 1"
    )


def test_a_stride_is_kept():
    assert after(loop("y", 0, 3, loop("r", 1, n, If(both(less(y, r), less(r, m)), (bump(r),)), step=3))) == (
        "for y in 0..3:\n"
        "    for r in 1 + floordiv(max(1, y + 1) - 1 + 2, 3) * 3..min(n, m) by 3:\n"
        "        out[floormod(r, 8)] = out[floormod(r, 8)] + 1"
    )


def test_names_in_the_loop_are_seen_through():
    row = Let("row", sub(add(y, r), pad))
    guard = both(at_least_zero(var("row")), less(var("row"), h))
    assert after(loop("y", 0, 3, loop("r", 0, n, row, If(guard, (bump(var("row")),))))) == (
        "for y in 0..3:\n"
        "    for r in max(0, pad - y)..min(n, h + pad - y):\n"
        "        row = y + r - pad\n"
        "        out[floormod(row, 8)] = out[floormod(row, 8)] + 1"
    )


def test_ifs_in_ifs():
    inner = (Let("column", add(x, t)), If(less(var("column"), w), (bump(t),)))
    rows = loop("r", 0, n, loop("t", 0, m, If(less(add(y, r), h), inner)))
    assert after(loop("y", 0, 2, loop("x", 0, 2, rows))) == (
        "for y in 0..2:\n"
        "    for x in 0..2:\n"
        "        for r in 0..min(n, h - y):\n"
        "            for t in 0..min(m, w - x):\n"
        "                column = x + t\n"
        "                out[floormod(t, 8)] = out[floormod(t, 8)] + 1"
    )


def test_what_no_loop_changes_is_tested_above_them():
    guard = both(less(m, w), equal(floormod(r, 3), y), Binary("!=", r, t))
    text = after(loop("y", 0, 3, loop("r", 0, n, loop("t", 0, m, If(guard, (bump(t),))))))
    assert text.splitlines()[:2] == ["if m < w:", "    for y in 0..3:"]
    assert "if r != t:" in text


# --- what must not become bounds


def unchanged(*body: Stmt, **options: bool | int) -> bool:
    fn = function(*body)
    return loop_bounds(fn, **options) is fn


@pytest.mark.parametrize("offset", [a, load(DATA, const(0)), add(m, a), mul(a, 2)])
def test_data_may_wrap(offset: Expr):
    assert unchanged(loop("r", 0, n, If(less(add(r, offset), m), (bump(r),))))
    assert unchanged(loop("r", 0, n, If(equal(floormod(add(r, offset), 2), 0), (bump(r),))))


def test_data_that_is_small_may_not():
    for small in (Cast(var("p", i32), i64), floormod(a, 7)):
        assert f"r in 0..min(n, m - {small}):" in after(loop("r", 0, n, If(less(add(r, small), m), (bump(r),))))


def test_names_that_anywhere_are_data_may_wrap():
    clash = loop("y", 0, n, Let("u", mul(y, s)), loop("r", 0, n, If(less(add(r, var("u")), m), (bump(r),))))
    data = loop("y", 0, n, Let("u", a), loop("r", 0, n, If(less(add(r, var("u")), m), (bump(r),))))
    assert not unchanged(clash)
    assert unchanged(clash, data)


def test_large_factors_may_wrap():
    u = Let("u", mul(y, 1 << 40))
    assert unchanged(loop("y", 0, n, u, loop("r", 0, n, If(less(add(r, var("u")), m), (bump(r),)))))
    assert unchanged(loop("r", 0, n, If(less(mul(r, 1 << 40), m), (bump(r),))))


def test_a_comparison_of_narrow_integers_stays():
    narrow = binary("<", Cast(r, i32), var("p", i32))
    assert unchanged(loop("r", 0, n, If(narrow, (bump(r),))))


def test_what_may_trap_is_tested_where_it_was():
    quotient = equal(floordiv(m, s), r)  # traps if s is zero and n is not
    assert unchanged(loop("r", 0, n, If(both(quotient, less(r, m)), (bump(r),))))
    assert after(loop("r", 0, n, If(both(less(r, m), quotient), (bump(r),)))).startswith("for r in 0..min(n, m):\n")


def test_a_trap_above_the_loop_needs_an_iteration():
    guard = both(less(r, m), less(floordiv(w, s), 3), less(r, h))
    assert after(loop("r", 0, n, If(guard, (bump(r),)))).splitlines() == [
        "if 0 < min(n, m) && floordiv(w, s) < 3:",
        "    for r in 0..min(min(n, m), h):",
        "        out[floormod(r, 8)] = out[floormod(r, 8)] + 1",
    ]


@pytest.mark.parametrize(
    "before, step",
    [(binary("!=", r, 2), 1), (equal(floormod(r, 4), 3), 1), (less(y, r), 4), (less(0, load(DATA, r)), 1)],
)
def test_a_trap_is_not_above_the_loop_where_not_every_iteration_reaches_it(before: Expr, step: int):
    guard = both(before, less(floordiv(w, s), 3))
    text = after(loop("y", 0, 3, loop("r", 1, binary("min", n, 7), If(guard, (bump(r),)), step=step)))
    assert "        if floordiv(w, s) < 3" in text or f"{before} && floordiv(w, s) < 3" in text


def test_bounds_that_may_trap_are_evaluated_where_they_were():
    quotient = floordiv(n, s)
    for lo, hi in ((0, quotient), (quotient, n)):
        guarded = loop("r", lo, hi, If(both(less(m, w), less(r, m)), (bump(r),)))
        assert unchanged(guarded)
        assert after(If(binary("!=", s, 0), (guarded,))).splitlines()[:2] == [
            "if s != 0:",
            "    if m < w:",
        ]


def test_a_condition_with_an_effect_stops_it():
    noisy = less(Call("noise", (r,), i64, pure=False), 3)
    assert unchanged(loop("r", 0, n, If(both(noisy, less(r, m)), (bump(r),))))


def test_a_load_may_go_untested_but_is_never_added():
    positive = less(0, load(DATA, floormod(r, 8)))
    assert after(loop("r", 0, n, If(both(positive, less(r, m)), (bump(r),)))).splitlines()[:2] == [
        "for r in 0..min(n, m):",
        "    if 0 < data[floormod(r, 8)]:",
    ]
    assert unchanged(loop("r", 0, n, If(less(0, load(DATA, const(1))), (bump(r),))))


def test_an_else_stays():
    assert unchanged(loop("r", 0, n, If(less(r, m), (bump(r),), (bump(m),))))


def test_a_body_that_is_more_than_its_guard_stays():
    assert unchanged(loop("r", 0, n, If(less(r, m), (bump(r),)), bump(m)))


def test_loops_with_barriers_keep_their_bounds():
    guarded = If(less(r, m), (bump(r), Barrier()))
    assert unchanged(loop("r", 0, n, guarded))
    assert unchanged(loop("r", 0, n, loop("t", 0, 4, guarded)))


def test_a_GPU_keeps_its_blocks_and_threads():
    inner = loop("r", 0, n, If(both(less(x, w), less(add(x, r), m)), (bump(r),)))
    threads = loop("y", 0, n, loop("x", 0, 4, inner, kind="thread.x"), kind="block.x")
    assert after(threads) == (
        "for y in 0..n (block.x):\n"
        "    for x in 0..4 (thread.x):\n"
        "        if x < w:\n"
        "            for r in 0..min(n, m - x):\n"
        "                out[floormod(r, 8)] = out[floormod(r, 8)] + 1"
    )


def test_short_loops_that_a_compiler_unrolls_stay_constant():
    short = loop("t", 0, 3, If(both(less(r, m), less(add(t, x), w)), (bump(t),)))
    nest_of = loop("x", 0, 2, loop("r", 0, n, short))
    assert after(nest_of, tiny_loop=3).splitlines()[1:4] == [
        "    for r in 0..min(n, m):",
        "        for t in 0..3:",
        "            if t + x < w:",
    ]
    assert "for t in 0..min(3, w - x):" in after(nest_of, tiny_loop=2)
    vector = loop("x", 0, 2, loop("t", 0, 8, If(less(add(t, x), w), (bump(t),)), kind="vector"))
    assert unchanged(vector)


def test_short_loops_that_nothing_repeats_keep_their_guards():
    short = loop("r", 0, 3, loop("t", 0, 3, If(both(less(r, m), less(t, w)), (bump(t),))))
    assert unchanged(loop("x", 0, 32, short, kind="thread.x"), tiny_loop=3)
    assert not unchanged(loop("x", 0, 32, loop("k", 0, n, short), kind="thread.x"), tiny_loop=3)


def test_loops_that_count_down_stay():
    assert unchanged(loop("r", n, 0, If(less(r, m), (bump(r),)), step=-1))


# --- remainders into strides


def test_A21_parity_becomes_a_stride():
    even = equal(floormod(sub(add(y, pad), r), 2), 0)
    assert after(loop("y", 0, 3, loop("r", 0, n, If(even, (bump(r),))))) == (
        "for y in 0..3:\n"
        "    for r in floormod(y + pad, 2)..n by 2:\n"
        "        out[floormod(r, 8)] = out[floormod(r, 8)] + 1"
    )


def test_quotients_by_the_stride_are_carried():
    even = equal(floormod(sub(add(y, pad), r), 2), 0)
    assert after(loop("y", 0, 3, loop("r", 0, n, If(even, (bump(floordiv(sub(add(y, pad), r), 2)),))))) == (
        "for y in 0..3:\n"
        "    first0 = floormod(y + pad, 2)\n"
        "    quotient0 = floordiv(y + pad - first0, 2)\n"
        "    for step0 in 0..floordiv(n - first0 + 1, 2):\n"
        "        out[floormod(quotient0 - step0, 8)] = out[floormod(quotient0 - step0, 8)] + 1"
    )


@pytest.mark.parametrize("lo", [const(0), const(2), m])
@pytest.mark.parametrize("factor, period, remainder", [(1, 3, 2), (-1, 3, 1), (2, 5, 3), (-3, 4, 0), (1, 2, 1)])
def test_every_remainder(lo: Expr, factor: int, period: int, remainder: int):
    cond = equal(floormod(add(mul(r, factor), y), period), remainder)
    assert f"by {period}" in after(loop("y", 0, 4, loop("r", lo, add(n, 9), If(cond, (bump(r),)))))


@pytest.mark.parametrize("factor, period, remainder", [(2, 4, 0), (1, 3, 3), (1, 3, -1)])
def test_remainders_that_are_no_stride(factor: int, period: int, remainder: int):
    cond = equal(floormod(add(mul(r, factor), m), period), remainder)
    assert unchanged(loop("r", 0, n, If(cond, (bump(r),))))


@pytest.mark.parametrize(
    "lo, guard",
    [
        (const(0), equal(floormod(mul(r, 1 << 40), 3), 0)),
        (const(0), equal(floormod(add(mul(r, 3), m), (1 << 40) + 1), 0)),  # m times the inverse of 3
        (a, both(at_least_zero(r), equal(floormod(r, 3), 0))),  # -a
    ],
)
def test_what_may_wrap_is_no_stride(lo: Expr, guard: Expr):
    assert unchanged(loop("r", lo, n, If(guard, (bump(r),))))


def test_a_quotient_that_may_wrap_is_not_carried():
    guarded = If(equal(floormod(add(r, m), 3), 0), (bump(floordiv(mul(r, 1 << 40), 3)),))
    assert after(loop("r", 0, add(n, 7), guarded)).startswith("for r in floormod(-m, 3)..n + 7 by 3:")


def test_a_truncating_remainder_is_a_stride_if_it_is_zero():
    def rest(remainder: int) -> Stmt:
        top = sub(sub(m, r), s)  # negative as well
        cond = equal(binary("truncmod", top, const(3)), remainder)
        return loop("r", 0, add(n, 7), If(cond, (bump(binary("truncdiv", top, const(3))),)))

    assert "out[floormod(quotient0 - step0, 8)] =" in after(rest(0))
    assert unchanged(rest(1))
    cond = equal(binary("truncmod", sub(m, r), const(3)), 0)
    other = binary("truncdiv", sub(sub(m, r), 1), const(3))  # rounded up where it is negative
    assert "truncdiv(m - r - 1, 3)" in after(loop("r", 0, add(n, 7), If(cond, (bump(other),))))


def test_one_stride_a_loop():
    conditions = both(equal(floormod(add(r, m), 2), 0), equal(floormod(r, 3), 1), less(r, m))
    assert after(loop("r", 0, add(n, 9), If(conditions, (bump(r),)))).splitlines()[:2] == [
        "for r in floormod(-m, 2)..min(n + 9, m) by 2:",
        "    if floormod(r, 3) == 1:",
    ]


def transposed(stride: Expr | int, quotient: str = "floordiv", remainder: str = "floormod") -> Stmt:
    """One row of a transposed convolution."""
    stride = lift(stride)
    top = sub(add(y, pad), r)
    source = binary(quotient, top, stride)
    guard = both(equal(binary(remainder, top, stride), 0), at_least_zero(source), less(source, h))
    return loop("y", 0, mul(h, 2), loop("r", 0, n, If(guard, (bump(add(source, r)),))))


def test_bounds_that_are_multiples_of_the_stride_off():
    assert after(transposed(2)).splitlines()[1] == ("    first0 = max(floormod(y + pad, 2), y + pad - h * 2 + 2)")
    assert after(transposed(2, "truncdiv", "truncmod")) == after(transposed(2))


def test_a_stride_that_is_a_size_is_counted():
    assert after(transposed(s)) == (
        "if 0 < n:\n"
        "    for y in 0..h * 2:\n"
        "        first0 = max(floormod(y + pad, s), y + pad + s - h * s)\n"
        "        quotient0 = floordiv(y + pad - first0, s)\n"
        "        for step0 in 0..floordiv(min(n, y + pad + 1) - first0 + (s - 1), s):\n"
        "            r = first0 + step0 * s\n"
        "            out[floormod(quotient0 - step0 + r, 8)] = out[floormod(quotient0 - step0 + r, 8)] + 1"
    )
    assert after(transposed(s, "truncdiv", "truncmod")) == after(transposed(s))


def test_a_first_value_from_a_minimum_is_divided_for():
    even = equal(floormod(add(r, m), 2), 0)
    low = binary("min", m, add(s, 1))
    assert after(loop("r", low, add(n, 9), If(even, (bump(r),)))).splitlines()[0] == (
        "for r in min(m, s + 1) + floormod(-m - min(m, s + 1), 2)..n + 9 by 2:"
    )


def test_a_stride_of_zero_traps_only_where_it_did():
    fn = function(transposed(s))
    for rows, sizes in ((0, {}), (2, {}), (2, {"h": 0}), (2, {"m": 0, "pad": 0})):
        arguments = arguments_for(fn, random.Random(rows), n=rows) | {"s": 0} | sizes
        expected = ZeroDivisionError if rows and arguments["h"] else dict
        found = result(loop_bounds(fn), arguments)
        assert found is expected or isinstance(found, expected)
        assert same_outcome(fn, loop_bounds(fn), arguments)


def test_what_follows_a_trap_does_not_keep_it_from_happening():
    guard = both(equal(floormod(add(r, y), s), 0), less(m, y), less(r, m))
    assert after(loop("y", 0, 3, loop("r", 0, n, If(guard, (bump(r),))))).splitlines()[:5] == [
        "if 0 < n:",
        "    for y in 0..3:",
        "        first0 = floormod(-y, s)",
        "        if m < y:",
        "            for step0 in 0..floordiv(min(n, m) - first0 + (s - 1), s):",
    ]


def test_a_first_value_that_needs_no_division_still_traps():
    guard = both(equal(floormod(r, s), 0), less(m, h))
    assert after(loop("r", 0, n, If(guard, (bump(r),)))).splitlines()[:3] == [
        "if 0 < n:",
        "    first0 = floormod(0, s)",
        "    if m < h:",
    ]


def test_data_is_no_stride():
    assert unchanged(loop("r", 0, n, If(equal(floormod(r, a), 0), (bump(r),))))


# --- selects into guards


def summed(cond: Expr, *, start: Expr | float = 0.0, product: bool = False, other: float = 0.0) -> tuple[Stmt, ...]:
    chosen: Expr = Select(cond, load(FLOATS, floormod(r, 8)), lift(other, f64))
    term = mul(chosen, load(FLOATS, const(0))) if product else chosen
    update = store(SUM, (), add(load(SUM), term))
    return Alloc(SUM), store(SUM, (), start), loop("r", 0, n, update), store(FLOATS, (const(1),), load(SUM))


def test_adding_zero_is_doing_nothing():
    assert after(*summed(less(add(r, m), w))) == (
        "alloc sum: private f64[]\n"
        "sum[] = 0.0\n"
        "for r in 0..min(n, w - m):\n"
        "    sum[] = sum[] + floats[floormod(r, 8)]\n"
        "floats[1] = sum[]"
    )


def test_but_not_to_what_may_be_minus_zero():
    cond = less(add(r, m), w)
    assert unchanged(*summed(cond, start=-0.0))
    assert unchanged(*summed(cond, start=load(FLOATS, const(3))))
    assert unchanged(*summed(cond, start=add(load(FLOATS, const(3)), load(FLOATS, const(4)))))
    chosen = Select(cond, lift(1.0, f64), lift(0.0, f64))
    assert unchanged(loop("r", 0, n, store(FLOATS, (m,), add(load(FLOATS, m), chosen))))
    assert not unchanged(*summed(cond, start=load(FLOATS, const(3))), fast_math=True)


def test_zero_times_infinity_is_not_zero():
    assert unchanged(*summed(less(r, m), product=True))
    assert not unchanged(*summed(less(r, m), product=True), fast_math=True)


def test_another_constant_is_added():
    assert unchanged(*summed(less(r, m), other=1.0))


def test_zero_times_what_is_finite_is_zero():
    sign = Select(equal(floormod(r, 2), 0), lift(-1.0, f64), lift(1.0, f64))
    padded = Select(less(r, m), load(FLOATS, floormod(r, 8)), lift(0.0, f64))
    update = store(SUM, (), sub(load(SUM), mul(sign, padded)))
    text = after(Alloc(SUM), store(SUM, (), 0.0), loop("r", 0, n, update), store(FLOATS, (const(1),), load(SUM)))
    assert "for r in 0..min(n, m):" in text


@pytest.mark.parametrize("value", [math.inf, math.nan])
@pytest.mark.parametrize("is_left", [False, True])
def test_zero_times_a_constant_that_is_not_finite_is_not_zero(value: float, is_left: bool):
    padded = Select(less(r, m), load(FLOATS, floormod(r, 8)), lift(0.0, f64))
    factor = Select(equal(floormod(r, 2), 0), lift(1.0, f64), lift(value, f64))
    product = mul(factor, padded) if is_left else mul(padded, factor)
    assert unchanged(Alloc(SUM), store(SUM, (), 0.0), loop("r", 0, n, store(SUM, (), add(load(SUM), product))))


def test_integers_have_one_zero_and_no_infinity():
    chosen = Select(less(r, m), const(0), load(DATA, floormod(r, 8)))
    update = store(OUT, (const(2),), sub(load(OUT, const(2)), mul(r, chosen)))
    assert after(loop("r", 0, n, update)) == ("for r in max(0, m)..n:\n    out[2] = out[2] - r * data[floormod(r, 8)]")


def test_a_trap_beside_a_select_stays():
    chosen = Select(less(r, m), load(DATA, floormod(r, 8)), const(0))
    by_size = mul(floordiv(r, s), chosen)
    assert unchanged(loop("r", 0, n, store(OUT, (const(2),), add(load(OUT, const(2)), by_size))))
    place = (floormod(floordiv(n, s), 8),)
    assert unchanged(loop("r", 0, n, store(OUT, place, add(load(OUT, *place), chosen))))


def largest(op: str, other: float, start: float | None = None) -> tuple[Stmt, ...]:
    """The largest, or least, of some elements: from `start`, or of what was there."""
    chosen = Select(less(r, m), load(FLOATS, floormod(r, 8)), lift(other, f64))
    if start is None:
        place = (const(2),)
        return (loop("r", 0, n, store(FLOATS, place, binary(op, load(FLOATS, *place), chosen))),)
    rows = loop("r", 0, n, store(SUM, (), binary(op, load(SUM), chosen)))
    return Alloc(SUM), store(SUM, (), start), rows, store(FLOATS, (const(1),), load(SUM))


def test_minima_and_maxima():
    assert "for r in 0..min(n, m)" in after(*largest("max", -math.inf))
    assert "for r in 0..min(n, m)" in after(*largest("min", math.inf))
    assert unchanged(*largest("max", math.inf))
    assert unchanged(*largest("max", 0.0))


def test_a_maximum_is_at_least_what_it_starts_from():
    assert "for r in 0..min(n, m)" in after(*largest("max", 0.0, start=0.0))
    assert "for r in 0..min(n, m)" in after(*largest("max", -2.0, start=-1.0))
    assert unchanged(*largest("max", -1.0, start=-2.0))
    assert unchanged(*largest("min", 0.0, start=0.0))


def test_a_select_that_no_loop_can_use_stays_one():
    assert unchanged(*summed(less(load(DATA, floormod(r, 8)), m)))


# --- on random programs


@pytest.mark.slow
def test_deterministic_for_every_hash_seed():
    assert texts_with_hash_seed(loop_bounds, 1) == texts_with_hash_seed(loop_bounds, 2)


class _Guarded:
    """Random nests of guarded loops: padding, strides, equations, data, traps, in every order."""

    def __init__(self, rng: random.Random):
        self.rng, self.loops, self.lets = rng, [], 0

    def function(self) -> Function:
        return function(*(stmt for _ in range(2) for stmt in self.block(0)))

    def block(self, depth: int) -> tuple[Stmt, ...]:
        is_loop = depth == 0 or (depth < 3 and self.rng.random() < 0.7)
        body = (self.loop(depth) if is_loop else self.update(),)
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            if self.rng.random() < 0.7:
                body = (If(both(*(self.condition() for _ in range(self.rng.choice((1, 2, 3))))), body),)
        return body

    def loop(self, depth: int) -> Stmt:
        name = "yrt"[depth]
        lo = self.rng.choice((const(0), const(0), const(2), m, sub(const(1), n), *map(var, self.loops)))
        hi = self.rng.choice((n, add(m, 2), const(4), add(n, 3), binary("min", n, add(m, 3))))
        step = self.rng.choice((1, 1, 1, 1, 2, 3, -1))
        self.loops.append(name)
        before = ()
        if self.rng.random() < 0.3:
            before = (Let(f"u{self.lets}", self.linear()),)
            self.lets += 1
            self.loops.append(before[0].name)
        body = self.block(depth + 1)
        del self.loops[self.loops.index(name) :]
        first, end = (lo, hi) if step > 0 else (hi, lo)
        kind = self.rng.choice(("serial", "serial", "serial", "parallel", "unrolled"))
        return loop(name, first, end, *before, *body, step=step, kind=kind)

    def name(self) -> Expr:
        inner = [var(name) for name in self.loops]
        return self.rng.choice((*inner, *inner, n, m, s, pad, a, const(self.rng.randint(-3, 9))))

    def linear(self) -> Expr:
        total: Expr = self.rng.choice((self.name(), *map(var, self.loops[-1:])))
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            term = self.name()
            if self.rng.random() < 0.2:
                term = mul(term, self.rng.choice((2, -1, 3)))
            total = binary(self.rng.choice("+-"), total, term)
        return total

    def condition(self) -> Expr:
        left = self.linear()
        divisor = self.rng.choice((const(2), const(3), s, s, n))
        match self.rng.randrange(8):
            case 0 | 1:
                remainder = self.rng.choice((0, 0, 0, 1))
                return equal(binary(self.rng.choice(("floormod", "truncmod")), left, divisor), remainder)
            case 2:
                left = binary(self.rng.choice(("floordiv", "truncdiv")), left, divisor)
            case 3:
                left = load(DATA, floormod(left, 8))
            case 4:
                left = binary(self.rng.choice(("min", "max")), left, self.linear())
        return binary(self.rng.choice(("<", "<=", ">", ">=", "==", "!=")), left, self.linear())

    def update(self) -> Stmt:
        place = floormod(self.linear(), 8)
        value = self.rng.choice((self.linear(), floordiv(self.linear(), self.rng.choice((const(2), s)))))
        if self.rng.random() < 0.4:
            value = Select(self.condition(), value, const(0))
            value = mul(value, self.linear()) if self.rng.random() < 0.3 else value
        return store(OUT, (place,), binary(self.rng.choice("+-"), load(OUT, place), value))


@pytest.mark.parametrize("seed", range(100))
def test_random_guards_do_the_same(seed: int):
    rng = random.Random(seed)
    fn = _Guarded(rng).function()
    options = {"tiny_loop": rng.choice((0, 0, 4)), "fast_math": rng.random() < 0.3}
    narrowed = loop_bounds(fn, **options)
    verify(narrowed, "source")
    assert loop_bounds(narrowed, **options) is narrowed
    for size in range(4):
        arguments = arguments_for(fn, rng, n=size)
        for name in ("m", "s", "pad", "h"):
            arguments[name] = rng.randrange(4)
        assert same_outcome(fn, narrowed, arguments), f"{fn}\n{narrowed}\n{arguments}"


@pytest.mark.parametrize("seed", range(40))
def test_other_random_programs_do_the_same(seed: int):
    rng = random.Random(seed)
    for fn in (random_nest(rng), random_program(rng)):
        narrowed = loop_bounds(fn)
        for size in (0, 3):
            assert same_outcome(fn, narrowed, arguments_for(fn, rng, n=size))


def test_canonical_nests_do_the_same():
    for fn in canonical():
        assert_same_outcome(fn, loop_bounds(fn), arguments_for(fn, random.Random(0), n=5))
