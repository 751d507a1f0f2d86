"""polysched/prelude/padding: sums over padded data in the lowering that costs least, every value kept."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from nests import arguments_for, assert_same_outcome

import polysched as ps
from polysched.config.target import TARGETS, TargetData
from polysched.ir.dtypes import DType
from polysched.ir.node import rewrite
from polysched.ir.nodes import Const, Function, Store
from polysched.ir.verify import verify
from polysched.prelude.edit import Edited
from polysched.prelude.edits import applied
from polysched.prelude.padding.choice import lowerings_of_zeros, said_of_zeros

INFINITE = [1.0, np.inf, np.nan]


def lowered(fn: Function, target: TargetData = TARGETS["c"], *, fast_math: bool = False) -> Edited:
    """The nest in the lowering that costs least, and the edits that made it."""
    edits = lowerings_of_zeros(fn, target, fast_math=fast_math)
    return Edited(applied(fn, edits), edits)


def said(fn: Function, target: TargetData = TARGETS["c"], *, fast_math: bool = False) -> str:
    return said_of_zeros(lowered(fn, target, fast_math=fast_math).edits)


def lowerings(fn: Function, target: TargetData = TARGETS["c"], *, fast_math: bool = False) -> list[str]:
    return [dict(edit.kwargs)["how"] for edit in lowered(fn, target, fast_math=fast_math).edits]


def smoothed(dtype: DType = ps.f32, n=6) -> Function:
    """Windows of three of padded data."""
    a, b = ps.placeholder((n,), dtype, "a"), ps.placeholder((3,), dtype, "b")
    r = ps.reduce_axis(3, "r")

    def element(i):
        at = i + r - 1
        return ps.sum(ps.select((at >= 0) & (at < n), a[at], 0) * b[r], axis=r)

    return ps.function("smoothed", [a, b], [ps.compute((n,), element, "out")])


def test_floats_are_read_from_a_copy_with_zeros():
    assert str(smoothed()) == """\
def smoothed(a: f32[6], b: f32[3], out: f32[6]):
    for i in 0..6:
        out[i] = 0.0f32
        for r in 0..3:
            out[i] = out[i] + (i + r - 1 >= 0 && i + r - 1 < 6 ? a[i + r - 1] : 0.0f32) * b[r]"""
    assert str(lowered(smoothed())) == """\
def smoothed(a: f32[6], b: f32[3], out: f32[6]):
    alloc a_0: private f32[8]
    for x0 in 0..8:
        a_0[x0] = x0 >= 1 && x0 <= 6 ? a[x0 - 1] : 0.0f32
    for i in 0..6:
        out[i] = 0.0f32
        for r in 0..3:
            out[i] = out[i] + a_0[i + r] * b[r]
zeros("a", how="padded copy")"""


def mostly_zeros(dtype: DType = ps.f32) -> Function:
    """Windows of padded data, of which most see none of it."""
    a, b = ps.placeholder((2,), dtype, "a"), ps.placeholder((4,), dtype, "b")
    r = ps.reduce_axis(4, "r")

    def element(i):
        return ps.sum(ps.select((i + r >= 4) & (i + r < 6), a[i + r - 4], 0) * b[r], axis=r)

    return ps.function("mostly_zeros", [a, b], [ps.compute((6,), element, "out")])


CUT = """\
    for i in 0..6:
        out[i] = 0{0}
        for r in 0..4:
            if i + r >= 4 && i + r < 6:
                out[i] = out[i] + a[i + r - 4] * b[r]
zeros("a", how="domain cut"{1})"""


def test_a_cut_is_for_sums_of_mostly_zeros():
    assert str(lowered(mostly_zeros(ps.i8))).partition("\n")[2] == CUT.format("i8", "")
    cut = str(lowered(mostly_zeros(), fast_math=True)).partition("\n")[2]
    assert cut == CUT.format(".0f32", ", fast_math=True")
    assert said(mostly_zeros(ps.i8)) == "a: domain cut, exact since integers are"
    assert said(mostly_zeros(), fast_math=True) == "a: domain cut, exact since fast_math has it so"
    assert lowerings(mostly_zeros()) == ["padded copy"]


def test_a_copy_is_better_than_a_cut_of_few_zeros():
    assert lowerings(smoothed(ps.i8)) == ["padded copy"]
    assert lowerings(smoothed(), fast_math=True) == ["padded copy"]


def test_a_copy_of_unknown_size_is_for_what_has_no_cut():
    n = ps.var("n")
    assert lowerings(smoothed(ps.i8, n)) == ["domain cut"]
    assert lowerings(smoothed(n=n)) == ["padded copy"]


def test_a_copy_ends_where_the_array_does_even_if_a_guard_around_says_so():
    @ps.nest
    def causal(a: ps.f32[8], b: ps.f32[12], out: ps.f32[12]):
        for i in range(12):
            for r in range(12):
                if r <= i:
                    out[i] += (a[i - r] if i - r < 8 else 0.0) * b[r]

    assert lowerings(causal.function) == ["padded copy"]
    new = lowered(causal.function).function
    assert_same_outcome(causal.function, new, arguments_for(causal.function, random.Random(0), 12))
    assert ps.optimize(causal).verify()


@pytest.mark.parametrize("dtype", [ps.i8, ps.f32])
def test_a_gpu_cuts_what_few_read(dtype):
    assert lowerings(smoothed(dtype), TARGETS["cuda"], fast_math=True) == ["domain cut"]


def weighted(first: float = 0.0, factor: str = "table", last: float = 0.5) -> Function:
    """A sum from `first` of dilated data times a constant of a table, a flag, the other data, or nothing."""
    a, b = ps.placeholder((6,), ps.f32, "a"), ps.placeholder((3,), ps.f32, "b")
    table = ps.compute((3,), lambda j: ps.select(j == 1, 1.0, last).astype(ps.f32), "table", inline=False)
    r = ps.reduce_axis(3, "r")

    def element(i):
        x = ps.select((i + r) % 2 == 0, a[(i + r) // 2], 0)
        others = {"table": table[r], "flag": (r > 0).astype(ps.f32), "data": b[r], "two": table[r] * table[i % 3]}
        return ps.sum(x * others[factor] if factor else x, axis=r, where=i + r < 7)

    inputs = [a, b] if factor == "data" else [a]
    fn = ps.function("weighted", inputs, [ps.compute((6,), element, "out")])

    def started(node):
        is_first = isinstance(node, Store) and node.array == "out" and isinstance(node.value, Const)
        return replace(node, value=Const(first, ps.f32)) if is_first else None

    return rewrite(fn, started)


@pytest.mark.parametrize(
    ("case", "choice"),
    [
        ({}, "a: domain cut, exact since the other factor is finite"),
        ({"factor": "flag"}, "a: domain cut, exact since the other factor is finite"),
        ({"factor": ""}, "a: domain cut, exact since nothing else is a factor"),
        ({"first": 3.0}, "a: domain cut, exact since the other factor is finite"),
        ({"first": -0.0}, "a: guard, neither cut nor copy is better"),
        ({"last": np.inf}, "a: guard, neither cut nor copy is better"),
        ({"last": 1e39}, "a: guard, neither cut nor copy is better"),
        ({"factor": "data"}, "a: guard, neither cut nor copy is better"),
        ({"factor": "two"}, "a: guard, neither cut nor copy is better"),
    ],
)
def test_a_cut_of_floats_needs_a_finite_factor_and_a_start(case, choice):
    assert said(weighted(**case)) == choice


def filtered(dtype: DType = ps.f32, size: int = 12, between: int = 0) -> Function:
    """A convolution, of which a CPU makes a product of matrices, and a GPU tiles in shared memory; so many zeros may be
    between data."""
    total = ps.i32 if dtype == ps.i8 else dtype
    data, weight = ps.placeholder((4, size, size), dtype, "data"), ps.placeholder((16, 4, 3, 3), dtype, "weight")
    c, r, s = ps.reduce_axis(4, "c"), ps.reduce_axis(3, "r"), ps.reduce_axis(3, "s")

    def element(f, y, x):
        row, column, step = y + r - 1, x + s - 1, between + 1
        inside = (row >= 0) & (row < size) & (column >= 0) & (column < size)
        inside = inside & (row % step == 0) & (column % step == 0) if between else inside
        x0 = ps.select(inside, data[c, row // step, column // step], 0)
        term = x0.astype(total) * weight[f, c, r, s].astype(total)
        return ps.sum(term, axis=(c, r, s))

    return ps.function("filtered", [data, weight], [ps.compute((16, size, size), element, "out")])


@pytest.mark.parametrize("dtype", [ps.f32, ps.i8])
def test_a_product_of_matrices_has_a_padded_copy(dtype):
    assert said(filtered(dtype)) == "data: padded copy, so that all sums have as many terms"


@pytest.mark.parametrize("dtype", [ps.f32, ps.i8])
@pytest.mark.parametrize(("target", "between", "place"), [("c", 1, "its packed copy"), ("cuda", 0, "shared memory")])
def test_a_guard_stays_for_who_copies_with_zeros_anyway(dtype, target, between, place):
    fn = filtered(dtype, between=between)
    assert lowered(fn, TARGETS[target]).function is fn
    assert said(fn, TARGETS[target]) == f"data: guard, of zeros in {place}"


def test_shared_memory_has_zeros_in_place_of_the_guard():
    text = ps.optimize(filtered(), "cuda").source.text
    (update,) = (line.strip() for line in text.splitlines() if "+=" in line and "weight" in line)
    assert "?" not in update
    assert "data_0[" in update


def test_a_gpu_guards_what_few_read():
    assert said(smoothed(), TARGETS["cuda"]) == "a: guard, a predicate of its thread"


def padded_filter(data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """NumPy's, of padded data, in float64."""
    size = data.shape[1]
    wide = np.pad(data.astype(np.float64), [(0, 0), (1, 1), (1, 1)])
    out = np.zeros((len(weight), size, size))
    with np.errstate(invalid="ignore"):
        for c, r, s in np.ndindex(*weight.shape[1:]):
            out += weight[:, c, r, s, None, None].astype(np.float64) * wide[c, r : r + size, s : s + size]
    return out


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("weight", INFINITE)
def test_infinite_weights_give_nan_in_the_padding(target, weight):
    rng = np.random.default_rng(0)
    data = rng.integers(1, 9, (4, 12, 12)).astype(np.float32)
    weights = rng.integers(-3, 3, (16, 4, 3, 3)).astype(np.float32)
    weights[5, 2, 0, 1] = weight
    out = np.full((16, 12, 12), 99, np.float32)
    done = ps.optimize(filtered(), target)
    report = (done if target == "c" else done.check)(data=data, weight=weights, out=out)
    assert target == "c" or not report.findings
    np.testing.assert_array_equal(out, padded_filter(data, weights))


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_integers_are_exact(target):
    rng = np.random.default_rng(0)
    data, weights = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((4, 12, 12), (16, 4, 3, 3)))
    out = np.full((16, 12, 12), 99, np.int32)
    done = ps.optimize(filtered(ps.i8), target)
    (done if target == "c" else done.check)(data=data, weight=weights, out=out)
    np.testing.assert_array_equal(out, padded_filter(data, weights))


def test_fast_math_leaves_out_infinities_times_zero():
    a, b = np.ones(2, np.float32), np.array([np.inf, 1, 1, 1], np.float32)
    out = np.empty(6, np.float32)
    ps.optimize(mostly_zeros())(a=a, b=b, out=out)
    assert np.isnan(out[0])
    ps.optimize(mostly_zeros(), options=ps.Options(fast_math=True))(a=a, b=b, out=out)
    np.testing.assert_array_equal(out, [0, 1, 2, 2, np.inf, np.inf])


def test_the_choice_is_among_the_rungs_and_explained():
    done = ps.optimize(smoothed())
    assert done.rungs["padding"] == "a: padded copy, so that all sums have as many terms"
    assert "padding of a: padded copy, so that all sums have as many terms" in done.explain().splitlines()
    assert "padding" in [event.name for event in done.events]


def test_a_schedule_by_hand_keeps_the_guard():
    schedule = ps.Schedule(smoothed()).parallel("i")
    done = ps.optimize(smoothed(), schedule=schedule)
    assert "padding" not in done.rungs
    assert [array.name for array in done.scop.arrays] == ["a", "b", "out"]


def test_data_that_the_sum_changes_keeps_its_guard():
    @ps.nest
    def moving(a: ps.f32[6], b: ps.f32[3]):
        for i in range(6):
            for r in range(3):
                a[i] = a[i] + (a[i + r - 1] if i + r - 1 >= 0 and i + r - 1 < 6 else 0.0) * b[r]

    assert lowered(moving.function).function is moving.function
    assert said(moving.function) == "a: guard, neither cut nor copy is better"


def test_conditions_on_data_are_left_alone():
    a, b = ps.placeholder((6,), ps.i32, "a"), ps.placeholder((6,), ps.i32, "b")
    r = ps.reduce_axis(6, "r")
    out = ps.compute((6,), lambda i: ps.sum(ps.select(b[r] > i, a[r], 0) * b[i], axis=r), "out")
    fn = ps.function("chosen", [a, b], [out])
    assert lowered(fn) == (fn, ())


def test_other_conditions_than_edges_keep_a_guard_of_floats():
    a, b = ps.placeholder((6,), ps.f32, "a"), ps.placeholder((6,), ps.f32, "b")
    r = ps.reduce_axis(6, "r")
    out = ps.compute((6,), lambda i: ps.sum(ps.select(r <= i, a[r], 0) * b[r], axis=r), "out")
    assert said(ps.function("prefix", [a, b], [out])) == "a: guard, neither cut nor copy is better"


def test_a_condition_of_whole_rows_keeps_its_guard():
    a, b = ps.placeholder((6, 8), ps.f32, "a"), ps.placeholder((3,), ps.f32, "b")
    r = ps.reduce_axis(3, "r")

    def element(i, j):
        return ps.sum(ps.select(i + r >= 1, a[i + r - 1, j], 0) * b[r], axis=r, where=i + r < 7)

    fn = ps.function("rows", [a, b], [ps.compute((6, 8), element, "out")])
    assert said(fn) == "a: guard, the same along rows, so that it leaves their loops"


@pytest.mark.parametrize(
    ("size", "taps", "lowering"),
    [(99, 1, "guard"), (99, 2, "padded copy"), (1 << 24, 9, "guard"), (1 << 24, 12, "padded copy")],
)
def test_a_copy_is_made_where_it_costs_less(size, taps, lowering):
    a, b = ps.placeholder((size,), ps.f32, "a"), ps.placeholder((taps,), ps.f32, "b")
    r = ps.reduce_axis(taps, "r")

    def element(i):
        return ps.sum(ps.select(i + r >= 1, a[i + r - 1], 0) * b[r], axis=r, where=i + r <= size)

    assert lowerings(ps.function("windows", [a, b], [ps.compute((size,), element, "out")])) == [lowering]


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_sizes_need_not_be_numbers(size):
    fn = smoothed(n=ps.var("n"))
    new = lowered(fn).function
    verify(new, "source")
    assert "alloc a_0: private f32[max(n + 2, 0)]" in str(new)
    assert_same_outcome(fn, new, arguments_for(fn, random.Random(0), size))


@pytest.mark.parametrize("seed", range(20))
def test_every_lowering_keeps_every_value(seed):
    """Windows of random reach, stride, dilation and sides, of floats with infinities or of integers."""
    rng = random.Random(seed)
    n, taps, stride, dilation = rng.randint(3, 7), rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 2)
    before, count = rng.randint(0, 3), rng.randint(1, 5)
    dtype, is_forward = rng.choice([ps.f32, ps.f64, ps.i32]), rng.random() < 0.5
    a, b = ps.placeholder((3, n), dtype, "a"), ps.placeholder((taps,), dtype, "b")
    r = ps.reduce_axis(taps, "r")

    def element(f, i):
        at = i * stride + r * dilation - before if is_forward else i * stride - r * dilation + before
        x = ps.select((at >= 0) & (at < n), a[f, at], 0)
        return ps.sum(b[r] * x if rng.random() < 0.5 else x * b[r], axis=r)

    fn = ps.function("windows", [a, b], [ps.compute((3, count), element, "out")])
    new = lowered(fn, TARGETS[rng.choice(["c", "cuda"])]).function
    verify(new, "source")
    given = arguments_for(fn, rng, 0)
    if dtype.is_float:
        given["b"][rng.randrange(taps)] = rng.choice(INFINITE)
    assert_same_outcome(fn, new, given)


def test_sums_of_one_array_may_differ():
    n = ps.var("n")
    a, b = ps.placeholder((n,), ps.f32, "a"), ps.placeholder((9,), ps.f32, "b")

    def summed(taps: int, name: str):
        r = ps.reduce_axis(taps, f"r_{name}")
        inside = [lambda at: (at >= 0) & (at < n), lambda at: at % 2 == 0][taps == 9]
        return ps.compute((n,), lambda i: ps.sum(ps.select(inside(i + r - 1), a[i + r - 1], 0) * b[r], axis=r), name)

    fn = ps.function("both", [a, b], [summed(3, "few"), summed(9, "dilated")])
    assert [str(edit) for edit in lowered(fn).edits] == ['zeros("a", how=("padded copy", "guard"))']
    assert said(fn) == "a: padded copy, so that all sums have as many terms; a: guard, neither cut nor copy is better"
