"""polysched/prelude/expand.py: a temporary that an inner loop uses gets an element for every iteration around it."""

from __future__ import annotations

import random

import nests
import pytest
from nests import loop, nest

import polysched as ps
from polysched.frontend.c.read import read_c
from polysched.ir.build import add, binary, load, mul, store, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.interp import evaluate
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, Const, For, Function, If
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.prelude.expand import expand, expand_temporaries, temporaries_to_expand
from tests.transform.scheduled import scheduled

i, j, k, n, m = (var(name) for name in "ijknm")
A, B, S = Array("A", f64, (n, n)), Array("B", f64, (n,)), Array("s", f64, (), "private")


def row_sum(over: For | None = None) -> tuple:
    """s = 0; for k: s += A[i, k]; B[i] = s"""
    summing = over or loop("k", 0, n, store(S, (), add(load(S), load(A, i, k))))
    return Alloc(S), store(S, (), 0.0), summing, store(B, (i,), load(S))


def row_sum_of(array: Array) -> tuple:
    """s += array[i, k]"""
    return (store(S, (), add(load(S), load(array, i, k))),)


def function(*body) -> Function:
    return nest("f", "n m", [A, B], *body)


def shapes(fn: Function, **sizes: int) -> list[tuple[int, ...]]:
    """The extents of the temporaries of the expanded function."""
    expanded = expand_temporaries(fn)
    verify(expanded, "source")
    allocs = [node.array for node in walk(expanded.body) if isinstance(node, Alloc)]
    return [tuple(evaluate(extent, sizes) for extent in array.shape) for array in allocs]


def test_a_row_sum_gets_an_element_for_every_row():
    assert show(expand_temporaries(nest("sums", "n", [A, B], loop("i", 0, n, *row_sum())))) == (
        "def sums(n: size, A: f64[n, n], B: f64[n]):\n"
        "    for i in 0..n:\n"
        "        alloc s: private f64[max(n - 1 + 1, 0)]\n"
        "        s[i] = 0.0\n"
        "        for k in 0..n:\n"
        "            s[i] = s[i] + A[i, k]\n"
        "        B[i] = s[i]"
    )


def test_rows_become_independent_by_it():
    fn = nest("sums", "n", [A, B], loop("i", 0, n, *row_sum()))

    def parallel(given: Function) -> bool:
        return "coincident" in str(scheduled(given).tree)

    assert (parallel(fn), parallel(expand_temporaries(fn))) == (False, True)


@pytest.mark.parametrize(
    ("rows", "extent"),
    [
        (loop("i", 2, n, *row_sum()), 10),
        (loop("i", 0, binary("min", n, m), *row_sum()), 7),
        (loop("i", sub(n, 1), -1, *row_sum(), step=-1), 10),
        (loop("i", 0, n, *row_sum(), step=4), 9),
        (loop("i", 0, binary("floordiv", n, 3), *row_sum()), 3),
    ],
    ids=["from 2", "minimum", "down", "by 4", "a third"],
)
def test_the_extent_reaches_the_largest_iteration(rows, extent):
    assert shapes(function(rows), n=10, m=7) == [(extent,)]


def test_two_loops_give_two_dimensions():
    summing = loop("k", 0, j, store(S, (), add(load(S), load(A, i, k))))
    body = (Alloc(S), store(S, (), 0.0), summing, store(A, (i, j), load(S)))
    assert shapes(function(loop("i", 0, n, loop("j", 0, i, *body))), n=10, m=1) == [(10, 9)]


@pytest.mark.parametrize(
    "body",
    [
        loop("i", 0, n, Alloc(S), store(S, (), load(B, i)), store(B, (i,), mul(load(S), 2.0))),
        (Alloc(S), store(S, (), 0.0), loop("i", 0, n, store(S, (), add(load(S), load(B, i))))),
        loop("i", 0, n, loop("j", 0, n, loop("z", 0, n, *row_sum()))),
        loop("i", sub(m, n), n, *row_sum(loop("k", 0, n, store(S, (), add(load(S), load(A, k, k)))))),
        loop("i", 0, load(Array("index", i64, (n,)), 0), *row_sum()),
    ],
    ids=["no inner loop", "no outer loop", "more loops than dimensions", "negative iterations", "data-dependent bound"],
)
def test_left_as_they_are(body):
    fn = function(*(body if isinstance(body, tuple) else (body,)))
    assert expand_temporaries(fn) == fn


def test_a_temporary_below_a_guard_is_expanded_too():
    fn = function(loop("i", 0, n, If(binary("<", i, 3), row_sum())))
    assert shapes(fn, n=5, m=1) == [(5,)]


def test_a_temporary_larger_than_any_array_is_left():
    m = var("m")
    fn = nest("f", "n m", [A, B], loop("t", 0, m, loop("i", 0, n, *row_sum())))
    assert expand_temporaries(fn) == fn


def distances() -> Function:
    """out[i]: the sum of s = A[i, 0] + ... + A[i, l - 1] over j, of which there are more than any array has rows"""
    out = Array("B", f64, (n,))
    body = loop("j", 0, m, *row_sum()[:-1], store(out, (i,), add(load(out, i), load(S))))
    return function(loop("i", 0, n, body))


def test_of_too_many_loops_the_outer_ones_that_fit_have_an_element_each():
    fn = distances()
    assert temporaries_to_expand(fn) == {"i": ("s",)}
    assert show(expand(fn, "s", at="i")) == (
        "def f(n: size, m: size, A: f64[n, n], B: f64[n]):\n"
        "    for i in 0..n:\n"
        "        for j in 0..m:\n"
        "            alloc s: private f64[max(n - 1 + 1, 0)]\n"
        "            s[i] = 0.0\n"
        "            for k in 0..n:\n"
        "                s[i] = s[i] + A[i, k]\n"
        "            B[i] = B[i] + s[i]"
    )
    compiled = ps.optimize(fn)
    assert [str(edit) for edit in compiled.prelude] == ['expand("s", at="i")']
    assert "parallel" in str(compiled.schedule.script)
    nests.assert_same_outcome(fn, expand(fn, "s", at="i"), nests.arguments_for(fn, random.Random(1), 5))


def test_a_loop_that_is_not_around_the_temporary_is_refused():
    with pytest.raises(ps.InputError, match="'s' cannot have an element for each iteration around"):
        expand(distances(), "s", at="k")


FIXED, COLUMN = Array("A", f64, (Const(1000), Const(1200))), Array("B", f64, (Const(1000),))


def test_accesses_in_bounds_say_how_large_a_size_is():
    fn = nest("f", "n m", [FIXED, COLUMN], loop("i", 0, n, *row_sum(loop("k", 0, m, *row_sum_of(FIXED)))))
    assert shapes(fn, n=10, m=7) == [(10,)]


def test_with_a_bound_on_one_of_two_loops_both_are_judged():
    """A[i, k] bounds i by 1000, but nothing bounds t."""
    inner = loop("i", 0, n, *row_sum(loop("k", 0, n, *row_sum_of(FIXED))))
    fn = nest("f", "n m", [FIXED, COLUMN], loop("t", 0, m, inner))
    assert expand_temporaries(fn) == fn


def test_no_size_that_runs_all_bounds_nothing():
    """With the sum run for n < 0 alone, there is no n for which memory could be judged."""
    never = If(binary("<", n, 0), row_sum_of(FIXED))
    fn = nest("f", "n", [FIXED, COLUMN], loop("i", 0, n, *row_sum(loop("k", 0, n, never))))
    assert expand_temporaries(fn) == fn


def test_each_temporary_is_judged_alone():
    t = Array("t", f64, (), "private")
    local = (Alloc(t), store(t, (), load(B, i)), store(B, (i,), add(load(B, i), load(t))))
    assert shapes(function(loop("i", 0, n, *row_sum(), *local)), n=5, m=1) == [(5,), ()]


@pytest.mark.parametrize("seed", range(30))
def test_random_sums_compute_the_same_bits(seed):
    rng = random.Random(seed)
    bounds = rng.choice([(0, n), (1, n), (0, i), (i, n)])
    inner = loop("k", *bounds, store(S, (), binary(rng.choice("+*"), load(S), load(A, i, k))))
    body = (Alloc(S), store(S, (), load(B, i)), inner, store(B, (i,), load(S)))
    low, high, step = rng.choice([(0, n, 1), (1, n, 2), (sub(n, 1), -1, -1), (sub(n, 1), 0, -3)])
    fn = nest("f", "n", [A, B], loop("i", low, high, *(row_sum(inner) if rng.random() < 0.5 else body), step=step))
    twice = nest("f", "n", [A, B], loop("t", 0, 2, *fn.body))
    for size in (0, 1, 6):
        nests.assert_same_outcome(fn, expand_temporaries(fn), nests.arguments_for(fn, rng, size))
        nests.assert_same_outcome(twice, expand(twice, "s", at="t"), nests.arguments_for(twice, rng, size))


# --- arrays that are declared in loops

LOCAL = """
void f(int n, int m, double A[n][m], double B[n][m], double o[n]) {{
#pragma scop
{}
#pragma endscop
}}
"""
A_ROW = """
for (int i = 0; i < n; i++) {
    double row[m];
    for (int j = 0; j < m; j++) row[j] = A[i][j] + 1.0;
    for (int j = 0; j < m; j++) B[i][j] = row[m - 1 - j] * row[j];
}"""
A_FEW = """
for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
        double w[4];
        for (int k = 0; k < 4; k++) w[k] = A[i][j] * k;
        B[i][j] = 0.0;
        for (int k = 1; k < 4; k++) B[i][j] += w[k] * w[k - 1];
    }"""
MANY = A_FEW.replace("4", "32")


def local(tmp_path, body: str) -> Function:
    path = tmp_path / "f.c"
    path.write_text(LOCAL.format(body))
    return read_c(path)[0].function


def test_few_elements_are_part_of_a_statement(tmp_path):
    done = ps.optimize(local(tmp_path, A_FEW))
    assert [node.kind for node in walk(done.kernel.body) if isinstance(node, For)] == ["parallel", "vector"]
    done.verify()


@pytest.mark.parametrize("body", [A_ROW, MANY])
def test_loops_around_an_array_of_an_iteration_keep_their_order(tmp_path, body):
    fn = local(tmp_path, body)
    done = ps.optimize(fn)
    assert "source order" in done.rungs["schedule"]
    done.verify()


def test_but_not_other_loops_beside_them(tmp_path):
    beside = "for (int i = 1; i < n; i++) for (int j = 0; j < m; j++) B[i][j] += A[i - 1][j] * o[i];"
    done = ps.optimize(local(tmp_path, A_ROW + beside))
    assert done.rungs["schedule"] == "pluto"
    done.verify()


def test_by_hand_an_array_of_an_iteration_lets_loops_run_on_threads(tmp_path):
    fn = local(tmp_path, MANY)
    ps.optimize(fn, schedule=ps.Schedule(fn).privatize("w", at="j").parallel("i")).verify()


@pytest.mark.parametrize("seed", range(10))
def test_random_uses_of_an_array_of_an_iteration(tmp_path, seed):
    rng = random.Random(seed)
    length = rng.choice(["m", "m + 2", "5", "40"])
    stop = {"m": "m", "m + 2": "m + 2", "5": "5", "40": "40"}[length]
    row = rng.choice(["i", "i", "n - 1 - i"])
    second = rng.choice([f"w[{stop} - 1 - k]", "w[k]", "w[k] * w[0]"])
    guard = rng.choice(["", "", "if (i > 1) "])
    body = f"""
for (int i = 0; i < n; i++) {{
    double w[{length}];
    for (int k = 0; k < {stop}; k++) w[k] = A[i][0] * {rng.randint(1, 3)}.0 + k;
    o[i] = {rng.choice(["0.0", "1.0"])};
    {guard}for (int k = 0; k < {stop}; k++) o[i] {rng.choice(["+=", "="])} {second} + B[{row}][0];
}}"""
    options = ps.Options(reorder_reductions=False, tile_sizes=rng.choice([None, (2,)]))
    for target in ("c", "cuda"):
        ps.optimize(local(tmp_path, body), target, options=options).verify()
