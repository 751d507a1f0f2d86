"""polysched/codegen/gpu/thread_nest.py: kernels that are one nest."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from nests import loop

from polysched.codegen.gpu.thread_nest import counted, edges, inside, thread_nest
from polysched.codegen.memory.tile_nest import Side, least, side_of
from polysched.ir.build import Operand, add, binary, floordiv, load, mul, store, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.integers.linear import Linear, cleared, expression, never_negative
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Array, Barrier, Binary, Expr, For, If, Load
from polysched.ir.text import show

b, i, k, n, m, s, t = (var(name) for name in "biknmst")
A, B = Array("A", f64, (n, n)), Array("B", f64, (n,))
UPDATE = store(B, (i,), add(load(B, i), load(A, i, k)))


def tile(name: str, start: Operand, trips: int, *body, kind: str, end: Operand = n) -> For:
    return loop(name, start, binary("min", end, add(start, trips)), *body, kind=kind)


def points(*body) -> For:
    return tile("i", mul(4, t), 4, *body, kind="unrolled")


def threads(*body) -> For:
    return tile("t", mul(16, b), 16, *body, kind="thread.x", end=floordiv(add(n, 3), 4))


def kernel(*body) -> For:
    return loop("b", 0, floordiv(add(n, 63), 64), *body, kind="block.x")


def test_blocks_threads_serial_loops_and_points_around_one_store():
    nest = thread_nest(kernel(threads(loop("k", 0, m, points(UPDATE)))))
    assert nest is not None and nest.store == UPDATE
    assert [each.var for each in (*nest.blocks, *nest.serial)] == ["b", "k"]
    assert [(side.loop.var, side.trips) for side in (*nest.threads, *nest.points)] == [("t", 16), ("i", 4)]


def test_one_block_needs_no_loop_over_blocks():
    nest = thread_nest(loop("t", 0, 16, UPDATE, kind="thread.x"))
    assert nest is not None and not nest.blocks and not nest.points


def ends(name: str, value: Operand, *, start: Expr) -> For:
    return tile(name, start, 4, store(B, (var(name),), value), kind="unrolled")


def test_what_runs_at_all_points_before_and_after_the_serial_loops_is_known_by_the_points_of_these():
    first, last = ends("h", 0.0, start=mul(4, t)), ends("j", load(A, var("j"), 0), start=mul(4, t))
    sums = loop("k", 0, m, points(UPDATE))
    nest = thread_nest(kernel(threads(first, sums, last)))
    assert nest is not None and nest.store == UPDATE and nest.shared == 0
    assert nest.before == (store(B, (i,), 0.0),) and nest.after == (store(B, (i,), load(A, i, 0)),)
    inside = thread_nest(kernel(threads(loop("r", 0, n, first, sums))))
    assert inside is not None and inside.shared == 1 and [each.var for each in inside.serial] == ["r", "k"]


def test_what_runs_at_other_points_makes_it_another_nest():
    sums = loop("k", 0, m, points(UPDATE))
    assert thread_nest(kernel(threads(ends("h", 0.0, start=add(mul(4, t), 1)), sums))) is None
    assert thread_nest(kernel(threads(store(B, (t,), 0.0), sums))) is None
    assert thread_nest(kernel(threads(sums, loop("r", 0, m, points(UPDATE))))) is None


@pytest.mark.parametrize(
    "other",
    [
        kernel(threads(points(UPDATE, UPDATE))),
        kernel(threads(points(If(binary("<", i, n), (UPDATE,))))),
        kernel(threads(Barrier(), points(UPDATE))),
        kernel(points(loop("k", 0, m, UPDATE))),
        kernel(threads(points(loop("k", 0, m, UPDATE)))),
        loop("k", 0, m, kernel(threads(points(UPDATE)))),
        kernel(loop("k", 0, m, UPDATE)),
        kernel(loop("t", 0, n, UPDATE, kind="thread.x")),
        kernel(threads(loop("k", 0, m, tile("i", mul(4, k), 4, UPDATE, kind="unrolled")))),
        kernel(threads(loop("k", 0, Load("M", (t,), i.dtype), points(UPDATE)))),
        kernel(replace(threads(points(UPDATE)), step=2)),
        loop("b", 0, n, tile("t", mul(2048, b), 2048, UPDATE, kind="thread.x"), kind="block.x"),
    ],
    ids=[
        "two stores",
        "a guard",
        "a barrier",
        "points before the serial loop",
        "a serial loop inside of points",
        "a serial loop around",
        "no threads",
        "no constant number of threads",
        "points that the serial loop moves",
        "a bound in memory",
        "steps",
        "more threads than a block has",
    ],
)
def test_anything_else_is_none(other):
    assert thread_nest(other) is None


def side(*arguments, **keywords) -> Side:
    found = side_of(tile(*arguments, kind="unrolled", **keywords), [])
    assert found is not None
    return found


def test_an_iteration_of_a_full_side_is_one_of_the_loop_where_no_edge_cuts_it():
    assert [show(cond) for cond in inside(side("i", mul(4, t), 4))] == ["n >= i + 1"]
    assert list(inside(side("i", mul(4, t), 4, end=add(mul(4, t), 4)))) == []


def test_a_lower_edge_that_is_not_the_start_is_tested_too():
    """Threads from a multiple of 16 on, of a loop that starts at one."""
    (found,) = (side_of(loop("i", binary("max", 1, mul(4, t)), add(mul(4, t), 4)), []),)
    assert found is not None and [show(cond) for cond in inside(found)] == ["i >= 1"]


def test_the_variable_of_a_side_is_its_start_and_a_counter():
    assert show(counted(side("i", mul(4, t), 4), var("r"))) == "t * 4 + r"
    assert show(counted(side("i", 0, 4), var("r"))) == "r"


def test_quotients_are_cleared():
    """Threads of four points: thread t has one if t < (n + 3) / 4, which is 4 * t < n + 3 + 1."""
    (edge,) = edges(side("t", mul(16, b), 16, end=floordiv(add(n, 3), 4)))
    assert show(never_negative(edge)) == "n >= t * 4 + 1"


@pytest.mark.parametrize("seed", range(100))
def test_cleared_forms_are_zero_or_more_where_they_were(seed):
    rng = random.Random(seed)
    above = add(*(mul(rng.randint(-3, 3), v) for v in (n, m)), rng.randint(-5, 5))
    if rng.random() < 0.3:
        above = add(floordiv(above, rng.randint(2, 3)), m)
    division = rng.choice(("floordiv", "floordiv", "truncdiv"))
    quotient = Binary(division, above, binary("+", rng.randint(2, 5)))
    form: Linear = {quotient: rng.choice((1, 1, -1, -1, 2)), i: rng.randint(-3, 3), None: rng.randint(-4, 4)}
    for values in ({"n": rng.randint(0, 12), "m": rng.randint(0, 12), "i": rng.randint(0, 9)} for _ in range(200)):
        if division == "truncdiv" and evaluate(above, values) < 0:
            continue  # which isl never divides so
        was = evaluate(expression(form), values)
        assert (evaluate(expression(cleared(form)), values) >= 0) == (was >= 0), values


@pytest.mark.parametrize("seed", range(50))
def test_the_least_value_over_all_points(seed):
    rng = random.Random(seed)
    outer = side("t", mul(3, b), rng.randint(1, 4))
    inner = side("i", add(mul(rng.randint(-2, 2), t), n), rng.randint(1, 4))
    form: Linear = {t: rng.randint(-2, 2), i: rng.randint(-2, 2), m: 1, None: rng.randint(-3, 3)}
    found = least(form, (outer, inner))
    env = {"b": rng.randint(0, 3), "n": rng.randint(0, 9), "m": rng.randint(0, 9)}
    values = []
    for outer_trip in range(outer.trips):
        env["t"] = evaluate(expression(outer.start), env) + outer_trip
        for inner_trip in range(inner.trips):
            env["i"] = evaluate(expression(inner.start), env) + inner_trip
            values.append(evaluate(expression(form), env))
    assert found is not None and evaluate(expression(found), {x: env[x] for x in "bnm"}) == min(values)


def test_a_least_value_of_what_is_not_linear_is_not_told():
    assert least({floordiv(i, 2): 1}, (side("i", 0, 4),)) is None
    assert least({binary("*", i, i): 1, sub(n, 1): 1}, (side("i", 0, 4),)) is None
