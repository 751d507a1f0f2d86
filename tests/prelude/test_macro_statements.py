import numpy as np
import pytest

import polysched as ps
from benchmarks.pipelines.stencils import life
from polysched.ir.build import add, load, store, var
from polysched.ir.dtypes import f32, f64
from polysched.ir.interp import interpret
from polysched.ir.node import statements, walk
from polysched.ir.nodes import Alloc, Array, Const, For, Store
from polysched.ir.verify import verify
from polysched.prelude.macro_statements import macro_statements
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


@ps.nest
def pooling(a: ps.f32["c", "2 * h + 1", "2 * w + 1"], o: ps.f32["c", "h", "w"], c: ps.size, h: ps.size, w: ps.size):
    for _ in range(1):
        for k in range(c):
            for y in range(h):
                for x in range(w):
                    o[k, y, x] = 0.5
                    for r in range(3):
                        for s in range(3):
                            o[k, y, x] = max(o[k, y, x], a[k, 2 * y + r, 2 * x + s])
                    o[k, y, x] = 2 * o[k, y, x]


@ps.nest
def two_places(a: ps.f64["n + 3"], o: ps.f64["n + 1"], n: ps.size):
    for i in range(n):
        o[i] = 1.0
        for d in range(3):
            o[i] += a[i + d] * o[i + 1]


@ps.nest
def begun_before(a: ps.f64["n + 3"], o: ps.f64["n"], n: ps.size):
    for i in range(n):
        o[i] = o[i] + 1.0
        for d in range(3):
            o[i] += a[i + d]


@ps.nest
def places(a: ps.f64["n + 3"], o: ps.f64["n", 3], n: ps.size):
    for i in range(n):
        for d in range(3):
            o[i, d] = 1.0
            o[i, d] += a[i + d]


@ps.nest
def smoothed(a: ps.f64["n + 3"], b: ps.f64[3], o: ps.f64["n"], n: ps.size):
    for i in range(n):
        o[i] = 0.0
        for d in range(3):
            o[i] += a[i + d] * b[d]


@ps.nest
def smoothed_in_a_scalar(a: ps.f64["n + 3"], b: ps.f64[3], o: ps.f64["n"], n: ps.size):
    for i in range(n):
        s = 0.0
        for d in range(3):
            s += a[i + d] * b[d]
        o[i] = s


@ps.nest
def padded(a: ps.f64["n"], b: ps.f64[3], o: ps.f64["n"], n: ps.size):
    for i in range(n):
        o[i] = 0.0
        for d in range(3):
            o[i] += (a[i + d - 1] if i + d >= 1 and i + d <= n else 0.0) * b[d]


@ps.nest
def guarded(a: ps.f64["n"], b: ps.f64[3], o: ps.f64["n"], n: ps.size):
    for i in range(n):
        o[i] = 0.0
        for d in range(3):
            if i + d >= 1 and i + d <= n:
                o[i] += a[i + d - 1] * b[d]


@ps.nest
def weighted(a: ps.f64["m", "n + 3"], b: ps.f64["m", 3], o: ps.f64["m", "n"], m: ps.size, n: ps.size):
    for j in range(m):
        for i in range(n):
            o[j, i] = 1.0
            for d in range(3):
                o[j, i] += a[j, i + d] * b[j, d]


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


def test_the_loops_that_make_an_element_are_written_out():
    """Around a scalar, which is stored once; a loop of one iteration tells no elements apart."""
    new = macro_statements(pooling.function)
    verify(new, "source")
    assert loops(new) == ["_", "k", "y", "x"]
    assert [node.index for node in walk(new.body) if isinstance(node, Store) and node.array == "o"] == [
        (var("k"), var("y"), var("x"))
    ]
    a = np.random.default_rng(3).standard_normal((2, 7, 9), np.float32)
    a[0, 3, 4], a[1, 2, 2] = np.nan, -0.0
    before, after = ({"a": a, "o": np.zeros((2, 3, 4), np.float32), "c": 2, "h": 3, "w": 4} for _ in range(2))
    interpret(pooling.function, before)
    interpret(new, after)
    np.testing.assert_array_equal(after["o"].view(np.int32), before["o"].view(np.int32))


def test_pooling_is_one_pass_of_simd_along_a_row():
    done = ps.optimize(pooling)
    assert done.source.text.count("#pragma omp simd") == 1 and "o[" in done.source.text
    assert done.source.text.count("o[") == 1 and len(done.scop.statements) == 1


def test_a_weighted_sum_is_made_in_its_element_as_in_a_scalar():
    texts = (ps.optimize(example).source.text for example in (smoothed, smoothed_in_a_scalar))
    here, there = (text.partition("{")[2] for text in texts)
    assert here.replace("o0", "s") == there
    assert here.count("for (") == 1


@pytest.mark.parametrize("example", [two_places, begun_before, places, weighted, padded, guarded])
def test_elements_that_are_left(example):
    """Another element is read; it counts from before; each iteration has its own; rows share operands; data is padded,
    by zeros or by guards."""
    assert macro_statements(example.function) is example.function


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
    schedule = ps.Schedule(deviations).tile("i", sizes=(4,))
    for done in (ps.optimize(deviations, options=order), ps.optimize(deviations, schedule=schedule)):
        assert len(done.scop.statements) > 1
