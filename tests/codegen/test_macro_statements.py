import numpy as np
import pytest

import polysched as ps
from benchmarks.pipelines import life
from polysched.codegen.passes.macro_statements import macro_statements
from polysched.ir.build import add, load, store, var
from polysched.ir.dtypes import f32, f64
from polysched.ir.interp import interpret
from polysched.ir.node import statements
from polysched.ir.nodes import Alloc, Array, Const, For
from polysched.ir.verify import verify
from tests.nests import loop, nest


@ps.nest
def deviations(a: ps.f64["n + 3"], o: ps.f64["n"], n: ps.size):
    for i in range(n):
        mean = 0.0
        for d in range(4):
            mean += a[i + d]
        mean = mean / 4
        total = 0.0
        for d in range(4):
            off = a[i + d] - mean
            for e in range(d, 4):
                total += off * a[i + e]
        o[i] = total


@ps.nest
def product(a: ps.f64["n", 4], b: ps.f64[4, "n"], c: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(n):
            s = 1.0
            for k in range(4):
                s += a[i, k] * b[k, j]
            c[i, j] = s * s


@ps.nest
def wide(a: ps.f64["n + 200"], o: ps.f64["n"], n: ps.size):
    for i in range(n):
        s = 1.0
        for d in range(200):
            s += a[i + d]
        o[i] = s * s


@ps.nest
def short_rows(a: ps.f64["n", 4], o: ps.f64["n"], n: ps.size):
    for i in range(n):
        s = 1.0
        for k in range(4):
            s += a[i, k]
        o[i] = s * s


@ps.nest
def rows(a: ps.f64["n", "n"], o: ps.f64["n"], n: ps.size):
    for i in range(n):
        s = 1.0
        for j in range(n):
            s += a[i, j]
        o[i] = s * s


def loops(fn):
    return [stmt.var for stmt in statements(fn.body) if isinstance(stmt, For)]


@pytest.mark.parametrize(("example", "kept"), [(life, ["t", "i", "j"]), (deviations, ["i"])])
def test_constant_loops_in_the_life_of_a_scalar_are_written_out(example, kept):
    new = macro_statements(example.function)
    assert loops(new) == kept
    rng = np.random.default_rng(1)
    if example is life:
        before = {"g": rng.integers(0, 2, (2, 7, 7), np.int32), "T": 3, "n": 7}
    else:
        before = {"a": rng.random(12), "o": np.zeros(9), "n": 9}
    after = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in before.items()}
    interpret(example.function, before)
    interpret(new, after)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)


@pytest.mark.parametrize("example", [product, wide, short_rows, rows])
def test_loops_that_are_left(example):
    """Rows share operands, and columns do not; too many iterations; short rows; as many iterations as a size says."""
    assert macro_statements(example.function) is example.function


def test_a_name_that_another_block_binds_is_not_declared_for_both():
    """Declared ahead of the first loop, `t` would be another variable in the second."""
    S, A = Array("s", f64, (), "private"), Array("A", f64, (add(var("n"), 4),))
    here = load(A, add(var("i"), var("d")))

    def adds(scalar: Array, more):
        summing = store(S, (), add(load(S), load(scalar)))
        return loop("d", 0, 4, Alloc(scalar), store(scalar, (), here), summing, *more)

    wide, narrow = Array("t", f64, (), "private"), Array("t", f32, (), "private")
    start, end = store(S, (), Const(0.0, f64)), store(A, (var("i"),), load(S))
    after = loop("k", 0, var("n"), Alloc(wide), store(wide, (), Const(1.0, f64)), store(A, (var("k"),), load(wide)))
    for second, rest in ((adds(wide, ()), ()), (adds(narrow, ()), ()), (adds(wide, ()), (after,))):
        fn = nest("f", "n", [A], loop("i", 0, var("n"), Alloc(S), start, adds(wide, ()), second, end, *rest))
        new = macro_statements(fn)
        assert (new is fn) == (second == adds(narrow, ()) or bool(rest))
        if new is not fn:
            verify(new, "source")


def test_a_temporary_of_a_time_loop_takes_no_memory_and_orders_nothing():
    done = ps.optimize(life)
    assert "malloc(" not in done.source.text
    assert [statement.name for statement in done.scop.statements] == ["S"]
    assert done.rungs["dependences"] == "exact" and {d.array for d in done.dependences.pairs} == {"g"}
    assert "#pragma omp simd" in done.source.text
    g = np.random.default_rng(2).integers(0, 2, (2, 40, 40), np.int32)
    expected = g.copy()
    interpret(life.function, {"g": expected, "T": 5, "n": 40})
    done(g=g, T=5)
    np.testing.assert_array_equal(g, expected)


def test_loops_that_constraints_or_a_schedule_name_stay():
    order = ps.Options(constraints=(ps.max_skew(1),))
    for done in (ps.optimize(deviations, options=order), ps.optimize(deviations, schedule=ps.Schedule(deviations))):
        assert len(done.scop.statements) > 1
