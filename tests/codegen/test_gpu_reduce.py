"""codegen/gpu/sums/reduce.py and strategy/sums.py: sums by all threads of a GPU, always in the same order."""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import replace
from functools import cache

import nests
import numpy as np
import pytest
from nests import loop, nest
from opencl import on_device

import polysched as ps
from polysched.codegen.emit.opencl import emit_opencl
from polysched.config.heuristics.gpu import FEW_TERMS, SUM_BLOCKS, SUM_THREADS
from polysched.errors import IllegalSchedule, PolyschedError
from polysched.frontend.python import parse_nest
from polysched.ir.build import add, binary, load, mul, store, sub, var
from polysched.ir.dtypes import DType, f32, f64, i8, i32, i64, u16, u64
from polysched.ir.node import substitute
from polysched.ir.nodes import Array, Const, Function, Load
from polysched.ir.text import show
from polysched.model.tree.nodes import Map, marks_in
from polysched.model.tree.text import show_tree
from polysched.runtime.emulated.check import check
from polysched.runtime.emulated.emulate import emulate
from polysched.strategy import sums

FREE = ps.Options(reorder_reductions=True)
i, j, k, n, m = (var(name) for name in "ijknm")
S, A, X, Y = Array("s", f64, (Const(1),)), Array("A", f64, (m, n)), Array("x", f64, (n,)), Array("y", f64, (m,))
B, Z = Array("b", f64, (n,)), Array("z", f64, (n,))


def dot() -> Function:
    body = store(S, (0,), add(load(S, 0), mul(load(X, i), load(B, i))))
    return nest("dot", "n", [S, X, B], loop("i", 0, n, body))


def gemv() -> Function:
    body = store(Y, (i,), add(load(Y, i), mul(load(A, i, j), load(X, j))))
    return nest("gemv", "m n", [Y, A, X], loop("i", 0, m, loop("j", 0, n, body)))


def columns() -> Function:
    body = store(Z, (j,), add(load(Z, j), mul(load(A, i, j), load(Y, i))))
    return nest("columns", "m n", [Z, A, Y], loop("i", 0, m, loop("j", 0, n, body)))


def total() -> Function:
    body = store(S, (0,), add(load(S, 0), load(A, i, j)))
    return nest("total", "m n", [S, A], loop("i", 0, m, loop("j", 0, n, body)))


def folding(dtype: DType, *ops: str) -> Function:
    """A loop for each operator, and a result."""
    results, values = Array("s", dtype, (Const(len(ops)),)), Array("x", dtype, (n,))
    updates = [store(results, (k,), binary(op, load(results, k), load(values, i))) for k, op in enumerate(ops)]
    loops = [loop(f"i{k}", 0, n, substitute(update, {"i": var(f"i{k}")})) for k, update in enumerate(updates)]
    return nest("folding", "n", [results, values], *loops)


@cache
def compiled(make, target: str = "cuda") -> ps.Compiled:
    return ps.optimize(make(), target=target, options=FREE)


def axes(done: ps.Compiled) -> list[str]:
    return [
        mark.axis + (":" + ",".join(mark.reduces) if mark.reduces else "")
        for mark in marks_in(done.tree)
        if isinstance(mark, Map)
    ]


def assert_same(done: ps.Compiled, n: int, *, rtol: float = 1e-12, checked: bool = False) -> None:
    """As interpreted, whichever thread comes first, and to the last bit the same in both orders."""
    arguments = nests.arguments_for(done.nest, random.Random(n), n)
    expected = nests.outcome(done.nest, arguments)
    found = []
    program = emulate(done.source, done.nest, done.scop.valid_sizes)
    for reverse in (False, True):
        given = {name: value.copy() if name in expected else value for name, value in arguments.items()}
        replace(program, reverse=reverse)(**given)
        found.append({name: given[name] for name in expected})
    for name, values in expected.items():
        exact = values.dtype.kind != "f"
        np.testing.assert_allclose(found[0][name], values, rtol=0 if exact else rtol, err_msg=f"{name} of {n}")
        np.testing.assert_array_equal(found[0][name], found[1][name], err_msg=name, strict=True)
    if checked:
        given = {name: value.copy() if name in expected else value for name, value in arguments.items()}
        report = check(done.source, done.nest, done.scop.valid_sizes)(**given)
        assert report.is_silent, str(report)


def test_a_dot_product_is_on_all_threads_of_all_blocks():
    done = compiled(dot)
    assert axes(done) == ["block.x:s"]
    alone, grid, parts = done.source.kernels
    assert [kernel.block for kernel in (alone, grid, parts)] == [(SUM_THREADS, 1, 1)] * 3
    assert [show(kernel.grid[0]) for kernel in (alone, grid, parts)] == [
        "1", f"min(floordiv(n + {SUM_THREADS - 1}, {SUM_THREADS}), {SUM_BLOCKS})", "1",
    ]  # fmt: skip


def test_rows_are_summed_by_a_warp_each():
    done = compiled(gemv)
    assert show_tree(done.tree).endswith(
        "    mark: map:block.x\n"
        "      band:\n"
        "        [S[i, j] -> floor((i)/8)] coincident\n"
        "        mark: map:thread.y\n"
        "          band:\n"
        "            [S[i, j] -> i] coincident\n"
        "            mark: map:thread.x:y\n"
        "              band:\n"
        "                [S[i, j] -> j]"
    )
    (kernel,) = done.source.kernels
    assert kernel.block == (32, 8, 1)


def ended(rows: bool) -> Function:
    """y = max(0, the sums of rows or of columns, and x)."""
    place, size, others = (i, m, n) if rows else (j, n, m)
    total = Y if rows else Z
    zero = store(total, (place,), 0.0)
    update = store(total, (place,), add(load(total, place), load(A, i, j)))
    finish = store(total, (place,), binary("max", load(total, place), 0.0))
    inner = loop("j" if rows else "i", 0, others, update)
    return nest("ended", "m n", [total, A], loop("i" if rows else "j", 0, size, zero, inner, finish))


def test_a_row_starts_and_ends_with_the_first_lane_of_its_warp():
    done = compiled(lambda: ended(rows=True))
    assert axes(done) == ["block.x", "thread.y", "thread.x:y"]
    (kernel,) = done.source.kernels
    assert kernel.block == (32, 8, 1) and "y[c1] = max_f64(0.0 + y_0, 0.0);" in done.source.text
    for size in (1, 9, 70):
        assert_same(done, size, checked=True)


def test_columns_start_and_end_where_the_parts_of_blocks_are_added_up():
    done = compiled(lambda: ended(rows=False))
    assert axes(done) == ["block.x", "thread.x", "block.y:z"]
    parts, combined = done.source.kernels
    assert parts.block == (128, 4, 1) and combined.block == (128, 1, 1)
    for size in (1, 9, 140):
        assert_same(done, size, checked=True)


@pytest.mark.parametrize("size", [0, 1, 300, FEW_TERMS + 1])
def test_one_sum_starts_and_ends_in_the_kernel_that_finishes_it(size):
    zero, root = store(S, (0,), 1.0), store(S, (0,), binary("/", 2.0, load(S, 0)))
    update = loop("i", 0, n, store(S, (0,), add(load(S, 0), load(X, i))))
    done = ps.optimize(nest("one", "n", [S, X], zero, update, root), "cuda", options=FREE)
    x, s = np.arange(size) % 7.0, np.zeros(1)
    assert done.check(s=s, x=x).is_silent
    np.testing.assert_allclose(s, 2.0 / (1.0 + x.sum()))
    alone, grid, parts, empty = done.source.kernels
    assert [kernel.block for kernel in (alone, grid, parts, empty)] == [(SUM_THREADS, 1, 1)] * 3 + [(1, 1, 1)]


def test_what_the_lanes_need_of_others_runs_before_them():
    """Each lane reads y, which the first one would only have at the end."""
    twice = store(Y, (i,), mul(load(Y, i), 2.0))
    update = store(Z, (i,), add(load(Z, i), mul(load(A, i, j), load(Y, i))))
    B2 = Array("A", f64, (n, n))
    Y2, Z2 = (replace(each, shape=(n,)) for each in (Y, Z))
    fn = nest("f", "n", [Z2, Y2, B2], loop("i", 0, n, twice, loop("j", 0, n, update)))
    done = ps.optimize(fn, "cuda", options=FREE)
    assert "thread.x:z" not in axes(done)
    assert_same(done, 40, checked=True)


def test_a_tree_in_which_lanes_need_what_the_first_one_does_later_is_refused(monkeypatch):
    monkeypatch.setattr(sums, "_shared", lambda *_: [])
    twice = store(Y, (i,), mul(load(Y, i), 2.0))
    update = store(Z, (i,), add(load(Z, i), mul(load(A, i, j), load(Y, i))))
    square = [replace(Z, shape=(n,)), replace(Y, shape=(n,)), replace(A, shape=(n, n))]
    fn = nest("f", "n", square, loop("i", 0, n, twice, loop("j", 0, n, update)))
    with pytest.raises(IllegalSchedule) as refused:
        ps.optimize(fn, "cuda", options=FREE)
    assert str(refused.value) == (
        "flow dependence on y: S0[i=0] must run before S1[i=0, j=0], "
        "but they are not on one thread: thread.x separates them in a kernel (n = 1)"
    )


def test_columns_are_summed_by_four_threads_of_several_blocks_each():
    done = compiled(columns)
    assert axes(done) == ["block.x", "thread.x", "block.y:z"]
    parts, combined = done.source.kernels
    assert parts.block == (128, 4, 1) and combined.block == (128, 1, 1)
    assert show(parts.grid[1]) == "min(floordiv(m + 3, 4), 32)"


def test_few_long_rows_have_all_threads_of_a_block_each():
    wide, short = Array("A", f64, (Const(5), n)), Array("y", f64, (Const(5),))
    body = store(short, (i,), add(load(short, i), mul(load(wide, i, j), load(X, j))))
    fn = nest("few", "n", [short, wide, X], loop("i", 0, 5, loop("j", 0, n, body)))
    done = ps.optimize(fn, target="cuda", options=FREE)
    assert axes(done) == ["block.x", "thread.x:y"] and done.source.kernels[0].block == (SUM_THREADS, 1, 1)
    assert_same(done, 300, checked=True)


def test_loops_that_are_parallel_in_wavefronts_are_preferred():
    """table[i, j] = max over k of table[i, k] + table[k + 1, j]"""
    table = Array("t", i64, (n, n))
    best = binary("max", load(table, i, j), add(load(table, i, k), load(table, add(k, 1), j)))
    inner = loop("k", i, j, store(table, (i, j), best))
    fn = nest("parenthesize", "n", [table], loop("i", sub(n, 1), -1, loop("j", add(i, 1), n, inner), step=-1))
    done = ps.optimize(fn, target="cuda", options=FREE)
    assert axes(done) == ["block.x", "thread.y", "thread.x:t"]
    assert_same(done, 12)


def test_all_of_a_matrix_is_summed_by_rows_on_blocks_and_columns_on_threads():
    assert axes(compiled(total)) == ["block.x:s", "thread.x:s"]


def test_unless_the_order_is_free_nothing_changes():
    assert axes(ps.optimize(dot(), target="cuda")) == []
    assert not any(":" in axis for axis in axes(ps.optimize(gemv(), target="cuda")))


@pytest.mark.parametrize("target", ["cuda", "opencl"])
@pytest.mark.parametrize("size", [0, 1, 31, 33, FEW_TERMS, 3 * FEW_TERMS + 5])
def test_dot_products_of_any_length(size, target):
    assert_same(compiled(dot, target), size, checked=size == 33)


@pytest.mark.parametrize("target", ["cuda", "opencl"])
@pytest.mark.parametrize("make", [gemv, columns, total])
@pytest.mark.parametrize("size", [1, 33])
def test_rows_of_any_length(make, size, target):
    assert_same(compiled(make, target), size, checked=size == 33 and (make is not total or target == "cuda"))


def test_cuda_and_opencl_round_alike():
    """Shuffles and shared memory combine the same values in the same order."""
    arguments = nests.arguments_for(dot(), random.Random(1), FEW_TERMS + 700)
    found = []
    for target in ("cuda", "opencl"):
        given = arguments | {"s": arguments["s"].copy()}
        compiled(dot, target).program(**given)
        found.append(given["s"][0])
    assert found[0] == found[1]


def test_the_order_is_the_one_that_is_documented():
    values = nests.arguments_for(folding(f32, "+"), random.Random(3), 1000)
    own = [np.float32(-0.0)] * SUM_THREADS
    for position, value in enumerate(values["x"]):
        own[position % SUM_THREADS] += value
    for distance in (16, 8, 4, 2, 1):
        own = [own[t] + own[t + distance] if t % 32 < distance else own[t] for t in range(SUM_THREADS)]
    warps = own[::32]
    for distance in (4, 2, 1):
        warps = [warps[w] + warps[w + distance] for w in range(distance)]
    expected = values["s"][0] + warps[0]
    ps.optimize(folding(f32, "+"), target="cuda", options=FREE).program(**values)
    assert values["s"][0] == expected


@pytest.mark.parametrize(("dtype", "target"), [(i8, "cuda"), (u16, "opencl"), (u64, "cuda")])
def test_every_reduction_of_integers_is_exact(dtype, target):
    ops = ("+", "*", "min", "max", "&", "|", "^")
    assert_same(ps.optimize(folding(dtype, *ops), target=target, options=FREE), 300)


@pytest.mark.parametrize("dtype", [f32, f64])
def test_every_reduction_of_floats_is_right_but_for_rounding(dtype):
    assert_same(ps.optimize(folding(dtype, "+", "*", "min", "max"), target="cuda", options=FREE), 300, rtol=1e-4)


def findings(done: ps.Compiled, text: str, n: int) -> list[str]:
    """What the checker says of this text; it must be right if that is nothing."""
    arguments = nests.arguments_for(done.nest, random.Random(2), n)
    expected = nests.outcome(done.nest, arguments)
    report = check(replace(done.source, text=text), done.nest, done.scop.valid_sizes)(**arguments)
    if report.is_silent:
        np.testing.assert_allclose(arguments["s"], expected["s"], rtol=1e-12)
    return [finding.kind for finding in report.findings]


@pytest.mark.slow
def test_every_barrier_is_needed_and_any_grid_will_do():
    """The first one of the grid by blocks that add up several times, as those of a smaller grid do: in 64 bits."""
    done, barrier, text = compiled(dot), "__syncthreads();", compiled(dot).source.text
    for old, new in (("grid_of(min_i64((n + 255) >> 8, 1024)", "grid_of(2"), ("narrow = n > 0", "narrow = false")):
        assert old in text
        text = text.replace(old, new)
    assert findings(done, text, FEW_TERMS + 900) == []
    places = [place for place in range(len(text)) if text.startswith(barrier, place)]
    assert len(places) == 4  # one block alone, two of the grid, that of its parts
    for place, size in zip(places, (FEW_TERMS, FEW_TERMS + 900, FEW_TERMS + 900, FEW_TERMS + 900), strict=True):
        assert findings(done, text[:place] + text[place + len(barrier) :], size) != []


def test_what_an_empty_loop_does_not_reach_need_not_be_there():
    """y[m - 1], of no elements."""
    last = store(Y, (sub(m, 1),), add(load(Y, sub(m, 1)), load(X, i)))
    fn = nest("last", "m n", [Y, X], loop("i", 0, binary("min", m, n), last))
    assert_same(ps.optimize(fn, target="cuda", options=FREE), 0)


def test_bounds_and_steps_are_kept():
    body = store(S, (0,), add(load(S, 0), load(X, i)))
    fn = nest("some", "n", [S, X], loop("i", 3, sub(n, 1), body, step=3))
    for size in (2, 5, 1000):
        assert_same(ps.optimize(fn, target="cuda", options=FREE), size, checked=size == 5)


def test_rows_of_a_triangle():
    body = store(Y, (i,), add(load(Y, i), mul(load(A, i, j), load(X, j))))
    fn = nest("triangle", "m n", [Y, A, X], loop("i", 0, m, loop("j", add(i, 1), n, body)))
    done = ps.optimize(fn, target="opencl", options=FREE)
    assert "thread.x:y" in axes(done)
    assert_same(done, 40, checked=True)


def test_two_sums_in_one_loop():
    largest = store(Z, (0,), binary("max", load(Z, 0), load(X, i)))
    fn = nest("both", "n", [S, X, B, Z], loop("i", 0, n, store(S, (0,), add(load(S, 0), load(X, i))), largest))
    assert_same(ps.optimize(fn, target="cuda", options=FREE), 500, checked=True)


def test_substitution_sums_what_is_known_of_each_row():
    """x[i] -= A[i, j] * x[j], j < i: other elements of the array that is updated are read."""
    square = Array("A", f64, (n, n))
    update = store(X, (i,), sub(load(X, i), mul(load(square, i, j), load(X, j))))
    fn = nest("solve", "n", [square, X], loop("i", 0, n, loop("j", 0, i, update)))
    done = ps.optimize(fn, target="cuda", options=FREE)
    assert_same(done, 40, rtol=1e-9, checked=True)


@pytest.mark.parametrize(
    ("rows", "terms", "read"),
    [("range(0, n, 2)", "range(n)", "i + 1"), ("range(n)", "range(i - 4)", "0")],
    ids=["every other row", "none in the first rows"],
)
@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_elements_that_get_no_terms_are_not_stored_while_others_read_them(rows, terms, read, target):
    loops = f"    for i in {rows}:\n        for j in {terms}:\n            y[i] += A[i, j] * y[{read}]\n"
    fn = parse_nest(f"def rows(y: f64['n + 1'], A: f64[n, n], n: size):\n{loops}", "rows.py")
    done = ps.optimize(fn, target=target, options=FREE)
    assert "thread.x:y" in axes(done)
    assert done.declined == ()
    assert_same(done, 12, rtol=1e-9, checked=True)


def test_elements_that_get_no_terms_may_be_out_of_bounds():
    """A wavefront's first step has terms of B alone: A[-1] is not there to be updated with nothing."""
    text = (
        "def low(n: size, A: f64['2 * n + 1'], B: i32['n + 1', 'n + 2']):\n"
        "    for i in range(n - 1):\n"
        "        for j in range(i - 1, n - i):\n"
        "            for k in range(n - 2, j - 1, -2):\n"
        "                B[i, k + 1] = B[i, k + 1] + min(i32(0), B[j + 1, n - j])\n"
        "            for k in range(n - 2):\n"
        "                A[i + j + 1] = min(A[i + j + 1], f64(B[k + 2, 1]) * f64(i))\n"
    )
    done = ps.optimize(parse_nest(text, "low.py"), "cuda", options=replace(FREE, fusion="max"))
    assert "if (c0 >= -1) {" in str(done.source)
    assert_same(done, 2, checked=True)


COLUMNS = [("tile", ("j",), {"sizes": (128,)}), ("bind", ("j_o", "block.x"), {}), ("bind", ("j", "thread.x"), {})]
COLUMNS += [("bind", ("i", "block.y"), {})]
ROWS = [("tile", ("j",), {"sizes": (8,)}), ("bind", ("j_o", "block.x"), {}), ("bind", ("j", "thread.y"), {})]
ROWS += [("bind", ("i", "thread.x"), {"threads": 32})]


def by_hand(text: str, edits: list[tuple[str, tuple[str, ...], dict[str, object]]]) -> ps.Compiled:
    nest = parse_nest(text, "hand.py")
    schedule = ps.Schedule(nest, options=FREE)
    for name, args, kwargs in edits:
        schedule = getattr(schedule, name)(*args, **kwargs)
    return ps.optimize(nest, "cuda", schedule=schedule)


def test_of_two_sums_each_has_the_elements_that_it_has():
    """B has one element less than A."""
    done = by_hand(
        "def two(n: size, m: size, A: f64['n'], B: f64['n - 1'], X: f64['m', 'n']):\n"
        "    for j in range(n):\n"
        "        for i in range(m):\n"
        "            A[j] = A[j] + X[i, j]\n"
        "            if j < n - 1:\n"
        "                B[j] = B[j] + X[i, j]\n",
        COLUMNS,
    )
    done.verify()


@pytest.mark.parametrize("edits", [ROWS, COLUMNS], ids=["rows", "columns"])
def test_stores_to_another_array_do_not_show_that_there_is_an_element(edits):
    """y has no elements for p = 0."""
    done = by_hand(
        "def beside(n: size, p: size, y: f64['n', 'p'], z: f64['n'], X: f64['n', 'p']):\n"
        "    for j in range(n):\n"
        "        z[j] = 0.0\n"
        "        for i in range(p):\n"
        "            y[j, 0] = y[j, 0] + X[j, i]\n",
        edits,
    )
    z = np.ones(3)
    report = check(done.source, done.nest, done.scop.valid_sizes)(
        n=3, p=0, y=np.zeros((3, 0)), z=z, X=np.zeros((3, 0))
    )
    assert report.findings == () and z.tolist() == [0, 0, 0]


def test_a_row_that_is_set_and_summed_elsewhere_than_at_its_number_has_a_warp():
    text = (
        "def moved(n: size, m: size, y: f64['n'], X: f64['n', 'm']):\n"
        "    for j in range(1, n):\n"
        "        y[j - 1] = 0.0\n"
        "        for i in range(m):\n"
        "            y[j - 1] = y[j - 1] + X[j, i]\n"
    )
    done = ps.optimize(parse_nest(text, "moved.py"), "cuda", options=FREE)
    assert done.declined == () and "thread.x:y" in axes(done)
    assert_same(done, 40, checked=True)


def test_products_of_matrices_keep_their_tiles():
    left, right, out = Array("L", f64, (n, n)), Array("R", f64, (n, n)), Array("C", f64, (n, n))
    update = store(out, (i, j), add(load(out, i, j), mul(load(left, i, k), load(right, j, k))))
    fn = nest("transposed", "n", [left, right, out], loop("i", 0, n, loop("j", 0, n, loop("k", 0, n, update))))
    done = ps.optimize(fn, target="cuda", options=FREE)
    assert not any(":" in axis for axis in axes(done))


def random_reduction(rng: random.Random) -> Function:
    """One update of an element that some of the loops around it leave in place, of any operator and shape."""
    dtype, op = rng.choice([(f64, "+"), (f64, "max"), (i64, "+"), (i64, "*"), (i32, "min"), (i32, "^")])
    depth = rng.randint(1, 3)
    names = [var(name) for name in "ijk"[:depth]]
    kept = rng.sample(names, rng.randint(0, depth - 1))
    result = Array("s", dtype, tuple(add(n, 2) for _ in kept) or (Const(1),))
    values = Array("x", dtype, tuple(add(n, 2) for _ in names))
    at = tuple(kept) or (Const(0),)
    order = rng.sample(names, depth)
    value = Load("x", tuple(add(name, rng.randint(0, 1)) for name in order), dtype)
    body = store(result, at, binary(op, load(result, *at), value))
    for position in reversed(range(depth)):
        lo = rng.choice([0, 1, *names[:position]])
        hi = rng.choice([n, n, add(n, 1), 4])
        body = loop(names[position].name, lo, hi, body, step=rng.choice([1, 1, 1, 2, -1]) if lo in (0, 1) else 1)
        if body.step < 0:
            body = replace(body, lo=sub(body.hi, 1), hi=Const(-1))
    return nest("reduction", "n", [result, values], body)


@pytest.mark.parametrize("seed", range(6))
def test_random_reductions_equal_the_interpreter(seed):
    target = "opencl" if seed % 3 == 0 else "cuda"
    done = ps.optimize(random_reduction(random.Random(seed)), target=target, options=FREE)
    for size in (3, 9, 37):
        assert_same(done, size, checked=size == 9 and seed % 4 == 0)


@pytest.mark.parametrize("seed", range(2))
def test_random_nests_equal_the_interpreter(seed):
    fn = nests.random_nest(random.Random(seed))
    assert_same(ps.optimize(fn, target="cuda", options=FREE), 6, rtol=1e-9)


def test_only_gpus_with_shuffles_print_them():
    with pytest.raises(PolyschedError, match=r"OpenCL has no shuffle\.down"):
        emit_opencl(compiled(gemv).kernel)


@pytest.mark.parametrize("make", [dot, columns])
def test_opencl_runs_it(make, tmp_path):
    done = compiled(make, "opencl")
    for size in (33, 200):
        arguments = nests.arguments_for(done.nest, random.Random(size), size)
        expected = nests.outcome(done.nest, arguments)
        on_device(done.source, done.nest, tmp_path)(**arguments)
        for name, values in expected.items():
            np.testing.assert_allclose(arguments[name], values, rtol=1e-12, err_msg=name)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile the CUDA texts with")
def test_nvcc_accepts_the_texts(tmp_path):
    done = [compiled(make) for make in (dot, gemv, columns, total)]
    done += [ps.optimize(folding(dtype, "+"), target="cuda", options=FREE) for dtype in (i8, u64)]
    paths = [tmp_path / f"k{number}.cu" for number in range(len(done))]
    for path, each in zip(paths, done, strict=True):
        path.write_text(each.source.text)
    command = ["nvcc", "-ptx", "-arch=sm_90", "-fmad=false", *map(str, paths)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
