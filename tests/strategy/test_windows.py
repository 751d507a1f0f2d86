"""Pipelines in windows: when, by which edits, and that they compute the same."""

# ruff: noqa: F821  (shapes are texts)
import random
from functools import reduce
from operator import add

import numpy as np
import pytest

import polysched as ps
from benchmarks.pipelines import ours
from benchmarks.pipelines.stages import ALL
from polysched.config.target import TARGETS
from polysched.errors import BudgetExceeded
from polysched.plan.mapped import IN_WINDOWS
from polysched.plan.plan import planned_by_hand
from polysched.schedule import automatic

TWO_CORES = ps.Options(  # with time enough beside other work
    machine=ps.Machine(cores=2), dependence_seconds=100, solve_seconds=100, lower_seconds=100, edit_seconds=100
)


def blur(rows="n", columns="m", dtype=ps.f32, made=lambda value: value):
    n, m = (ps.var(size) if isinstance(size, str) else size for size in (rows, columns))
    a = ps.placeholder((n + 2, m + 2), dtype, "a")
    across = ps.compute((n + 2, m), lambda y, x: made(a[y, x] + a[y, x + 1] + a[y, x + 2]), "across", inline=False)
    down = ps.compute((n, m), lambda y, x: across[y, x] + across[y + 1, x] + across[y + 2, x], "down")
    return ps.function("blur", [a], [down])


def test_each_strip_computes_a_few_rows_at_a_time():
    done = ps.optimize(blur(), options=TWO_CORES)
    assert done.rungs["mapping"] == IN_WINDOWS
    assert [str(edit) for edit in done.schedule.history.edits] == [
        '.tile("y_2", "x_2", sizes=(32, 512), names=("y_2_o", "x_2_o"))',
        '.compute_at("across", at="x_2_o")',
        '.fuse("y", "y_2")',
        '.fold_storage("across_at", 0, size=4)',
        '.vectorize("x")',
        '.vectorize("x_2")',
        '.parallel("y_2_o")',
    ]
    a = np.random.default_rng(0).random((102, 1102), np.float32)
    down = np.zeros((100, 1100), np.float32)
    done(a=a, down=down)
    across = a[:, :-2] + a[:, 1:-1] + a[:, 2:]
    np.testing.assert_array_equal(down, across[:-2] + across[1:-1] + across[2:])


def test_its_schedule_gives_the_same_text_again():
    done = ps.optimize(blur(), options=TWO_CORES)
    again = ps.Schedule.from_json(blur(), done.schedule.to_json())
    assert again.decisions == done.schedule.decisions
    assert ps.optimize(blur(), schedule=again, options=TWO_CORES).source == done.source


def test_a_schedule_that_is_not_checked_again_in_time_is_the_one_that_was_mapped(monkeypatch):
    def too_late(*_):
        raise BudgetExceeded("not in time")

    done = ps.optimize(blur(), options=TWO_CORES)
    monkeypatch.setattr(automatic, "all_applied", too_late)
    found = automatic.found(done.nest, done.plan, TARGETS["c"], TWO_CORES)
    assert [edit.name for edit in found.history.edits][:3] == ["tile", "compute_at", "fuse"]
    assert "not in time" in found.unwritten
    kernel = planned_by_hand(found.draft, found.prelude, TARGETS["c"], TWO_CORES).kernel
    assert kernel == done.plan.kernel


def test_the_height_of_strips_is_a_decision():
    schedule = ps.optimize(blur(), options=TWO_CORES).schedule
    higher, whole = schedule.decide("windows.y_2", 64), schedule.decide("windows.y_2", 0)
    assert '.tile("y_2", "x_2", sizes=(64, 512)' in higher.script
    assert "compute_at" not in whole.script and '.parallel("y")' in whole.script


def test_so_is_their_width():
    schedule = ps.optimize(blur(), options=TWO_CORES).schedule
    assert '.tile("y_2", "x_2", sizes=(32, 128)' in schedule.decide("windows.x_2", 128).script
    assert '.tile("y_2", sizes=(32,)' in schedule.without("windows.x_2").script


@pytest.mark.parametrize(
    ("l1", "dtype", "sizes"), [(32, ps.f32, "32, 512"), (64, ps.f32, "32, 1024"), (32, ps.u8, "32,")]
)
def test_rows_that_are_in_use_fit_into_the_first_cache(l1, dtype, sizes):
    options = ps.Options(machine=ps.Machine(cores=2, l1=l1 << 10))
    assert f"sizes=({sizes})" in ps.optimize(blur(dtype=dtype), options=options).schedule.script


def test_rows_that_do_or_that_are_worked_on_for_long_stay_whole():
    def powers(value, times):
        return value if times == 0 else powers(value * value + 1.0, times - 1)

    short, busy = (blur(columns=300), blur(made=lambda value: powers(value, 9)))
    for fn in (short, busy):
        assert '.tile("y_2", sizes=(32,)' in ps.optimize(fn, options=TWO_CORES).schedule.script


def test_what_is_hardly_used_twice_is_computed_where_it_is_read():
    n, m = ps.var("n"), ps.var("m")
    a = ps.placeholder((2 * n + 2, m + 2), ps.f32, "a")
    across = ps.compute((2 * n + 2, m), lambda y, x: a[y, x] + a[y, x + 2], "across", inline=False)
    out = ps.compute((n, m), lambda y, x: across[2 * y, x] + across[2 * y + 1, x] + across[2 * y + 2, x], "out")
    done = ps.optimize(ps.function("level", [a], [out]), options=TWO_CORES)
    assert [str(edit) for edit in done.schedule.history.edits] == [
        '.inline("across")',
        '.vectorize("x_2")',
        '.parallel("y_2")',
    ]
    assert done.schedule.without("inline.across").script.count("compute_at") == 1
    done.verify()


@pytest.mark.parametrize("options", [{"tile": False}, {"vector": False}, {"fusion": "none"}])
def test_options_that_leave_them_out(options):
    done = ps.optimize(blur(), options=ps.Options(machine=ps.Machine(cores=2), **options))
    assert done.rungs["mapping"] != IN_WINDOWS


def test_few_rows_have_no_strips():
    done = ps.optimize(blur(40), options=ps.Options(machine=ps.Machine(cores=16)))
    assert done.rungs["mapping"] != IN_WINDOWS


def test_what_a_cache_holds_stays_whole():
    @ps.nest
    def small(a: ps.f32[130, 32], out: ps.f32[128, 32]):
        t = np.empty((130, 32), np.float32)
        for i in range(130):
            for j in range(32):
                t[i, j] = a[i, j] * a[i, j]
        for i in range(128):
            for j in range(32):
                out[i, j] = t[i, j] + t[i + 2, j]

    assert ps.optimize(small, options=TWO_CORES).rungs["mapping"] != IN_WINDOWS


def test_a_statement_without_loops_is_no_stage():
    @ps.nest
    def first(a: ps.f32["n + 2", "m"], out: ps.f32["n", "m"], n: ps.size, m: ps.size):
        t = np.empty((n + 2, m + 1), np.float32)
        t[0, 0] = 1.0
        for i in range(n + 2):
            for j in range(m):
                t[i, j + 1] = a[i, j] * a[i, j]
        for i in range(n):
            for j in range(m):
                out[i, j] = t[i, j] + t[i + 2, j + 1] + t[0, 0]

    assert ps.optimize(first, options=TWO_CORES).rungs["mapping"] != IN_WINDOWS


def test_a_sum_over_all_rows_needs_them_all():
    n, m = ps.var("n"), ps.var("m")
    a = ps.placeholder((n, m), ps.f32, "a")
    twice = ps.compute((n, m), lambda y, x: a[y, x] * a[y, x], "twice", inline=False)
    out = ps.compute((n, m), lambda y, x: twice[y, x] + twice[n - 1 - y, x], "out")
    done = ps.optimize(ps.function("f", [a], [out]), options=TWO_CORES)
    assert done.rungs["mapping"] == "mapped" and '.parallel("y")' in done.schedule.script


def test_columns_of_an_array_are_better_in_tiles():
    n, m = ps.var("n"), ps.var("m")
    a, b = ps.placeholder((n, m), ps.f32, "a"), ps.placeholder((m, n), ps.f32, "b")
    root = ps.compute((n, m), lambda y, x: ps.sqrt(a[y, x]), "root", inline=False)
    out = ps.compute((n, m), lambda y, x: root[y, x] + b[x, y], "out")
    assert ps.optimize(ps.function("f", [a, b], [out]), options=TWO_CORES).rungs["mapping"] != IN_WINDOWS


def test_what_many_elements_need_is_computed_once():
    @ps.nest
    def product(a: ps.f32["n", "n"], d: ps.f32["n", "n"], o: ps.f32["n", "n"], n: ps.size):
        t = np.empty((n, n), np.float32)
        for i in range(n):
            for k in range(n):
                t[i, k] = a[i, k] * a[i, k]
        for i in range(n):
            for k in range(n):
                for j in range(n):
                    o[i, j] += t[i, k] * d[k, j]

    assert ps.optimize(product, options=TWO_CORES).rungs["mapping"] != IN_WINDOWS


def test_uses_are_counted_whatever_is_constant_in_the_loops():
    n, m = ps.var("n"), ps.var("m")
    a = ps.placeholder((n + 2, 4, m), ps.f32, "a")
    b = ps.compute((n + 2, 4, m), lambda y, c, x: a[y, c, x] * a[y, 0, x], "b", inline=False)
    out = ps.compute((n, 4, m), lambda y, c, x: b[y, c, x] + b[y + 2, 3 - c, x] + b[y + 1, c, x], "out")
    schedule = ps.optimize(ps.function("planes", [a], [out]), options=TWO_CORES).schedule
    assert "inline" not in [edit.name for edit in schedule.history.edits]


def test_strips_that_read_what_others_write_are_none():
    @ps.nest
    def in_place(a: ps.i32["n + 2", "m"], n: ps.size, m: ps.size):
        t = np.empty((n + 2, m), np.int32)
        for i in range(n + 2):
            for j in range(m):
                t[i, j] = a[i, j] * 2
        for i in range(n):
            for j in range(m):
                a[i, j] = t[i, j] + t[i + 2, j]

    assert ps.optimize(in_place, options=TWO_CORES).rungs["mapping"] != IN_WINDOWS


def test_a_stage_that_nobody_reads():
    @ps.nest
    def dead(a: ps.i32["n + 2", "m"], o: ps.i32["n", "m"], n: ps.size, m: ps.size):
        t = np.empty((n + 2, m), np.int32)
        u = np.empty((n + 2, m), np.int32)
        for i in range(n + 2):
            for j in range(m):
                t[i, j] = a[i, j] * 2
        for i in range(n + 2):
            for j in range(m):
                u[i, j] = a[i, j] * 3
        for i in range(n):
            for j in range(m):
                o[i, j] = t[i, j] + t[i + 2, j]

    ps.optimize(dead, options=TWO_CORES).verify()


@pytest.mark.parametrize("rows", [100, 127])
def test_fixed_sizes_have_the_rates_of_others(rows):
    done = ps.optimize(blur(rows), options=TWO_CORES)
    assert done.rungs["mapping"] == IN_WINDOWS and '.fold_storage("across_at", 0, size=4)' in done.schedule.script


def test_what_an_element_needs_one_of_is_a_scalar():
    n, m = ps.var("n"), ps.var("m")
    a = ps.placeholder((n + 2, m), ps.f32, "a")
    root = ps.compute((n + 2, m), lambda y, x: ps.sqrt(a[y, x]), "root", inline=False)
    total = ps.compute((n, m), lambda y, x: root[y, x] + root[y + 1, x] + root[y + 2, x], "total", inline=False)
    out = ps.compute((n, m), lambda y, x: total[y, x] * total[y, x], "out")
    done = ps.optimize(ps.function("f", [a], [out]), options=TWO_CORES)
    assert done.rungs["mapping"] == IN_WINDOWS and "float total_at;" in done.source.text
    done.verify()


def test_stages_that_read_the_same_have_one_loop_along_the_row():
    n, m = ps.var("n"), ps.var("m")
    a = ps.placeholder((n + 2, m + 1), ps.f32, "a")
    up = ps.compute((n + 1, m), lambda y, x: a[y + 1, x] - a[y, x], "up", inline=False)
    right = ps.compute((n + 1, m), lambda y, x: a[y, x + 1] - a[y, x], "right", inline=False)
    out = ps.compute((n, m), lambda y, x: up[y, x] * up[y + 1, x] - right[y, x] * right[y + 1, x], "out")
    done = ps.optimize(ps.function("f", [a], [out]), options=TWO_CORES)
    assert done.rungs["mapping"] == IN_WINDOWS and '.fuse("x_2", "x")' in done.schedule.script
    done.verify()


def test_rows_that_are_needed_once_are_used_up_at_once():
    n, m = ps.var("n"), ps.var("m")
    a = ps.placeholder((n, m + 2), ps.f32, "a")
    root = ps.compute((n, m + 2), lambda y, x: ps.sqrt(a[y, x]), "root", inline=False)
    mean = ps.compute((n, m), lambda y, x: root[y, x] + root[y, x + 1] + root[y, x + 2], "mean", inline=False)
    sharp = ps.compute((n, m), lambda y, x: ps.select(a[y, x] < 0.5, a[y, x], a[y, x] - mean[y, x]), "sharp")
    done = ps.optimize(ps.function("f", [a], [sharp]), options=TWO_CORES)
    assert done.rungs["mapping"] == IN_WINDOWS and "float mean_at;" in done.source.text
    assert '.fold_storage("root_at", 0, size=1)' in done.schedule.script
    done.verify()


@pytest.mark.parametrize(
    ("rows", "row", "reads", "height"),
    [(lambda n: 2 * n + 4, lambda y: 2 * y, 4, 34), (lambda n: n + 1, lambda y: y // 2, 2, 13)],
    ids=["half as many", "twice as many"],
)
def test_strips_of_stages_with_other_numbers_of_rows(rows, row, reads, height):
    n, m = ps.var("n"), ps.var("m")
    a = ps.placeholder((rows(n), m + 1), ps.f32, "a")
    across = ps.compute((rows(n), m), lambda y, x: a[y, x] + a[y, x + 1], "across", inline=False)
    out = ps.compute((n, m), lambda y, x: reduce(add, (across[row(y) + k, x] for k in range(reads))), "out")
    done = ps.optimize(ps.function("f", [a], [out]), options=TWO_CORES)
    assert done.rungs["mapping"] == IN_WINDOWS and f"m * {height}" in done.source.text
    done.verify()


def test_an_illegal_edit_of_its_history_is_named():
    text = ps.optimize(blur(), options=TWO_CORES).schedule.to_json()
    assert ps.Schedule.from_json(blur(), text.replace('"size": 4', '"size": 8')).map("c")
    with pytest.raises(ps.IllegalSchedule, match=r"fold_storage\(across_at, 0, size=2\): S1\[") as caught:
        ps.Schedule.from_json(blur(), text.replace('"size": 4', '"size": 2'))
    assert any("edit 4 of the history: .fold_storage" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("pipeline", ALL, ids=lambda each: each.name)
def test_the_pipelines_of_the_benchmark(pipeline):
    done = ps.optimize(ours.function(pipeline), options=TWO_CORES)
    data = ours.data(pipeline, 40)
    done(**data)
    expected = {"a": data["a"], "out": np.zeros_like(data["out"])}
    ps.interpret(done.nest, {**expected, "n": 40, "m": 40})
    np.testing.assert_allclose(data["out"], expected["out"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_random_pipelines_compute_what_they_did(seed):
    rng = random.Random(seed)
    fn = _random_pipeline(rng)
    done = ps.optimize(fn, options=TWO_CORES)
    assert done.rungs["mapping"] == IN_WINDOWS
    if widths := [each.key for each in done.schedule.decisions if each.key.startswith("windows.x")]:
        done = ps.optimize(fn, schedule=done.schedule.decide(widths[0], rng.choice((0, 32))), options=TWO_CORES)
    for n, m in ((1, 1), (2, 5), (33, 3), (70, 39)):
        sizes = {"n": n, "m": m}
        given = {array.name: _data(array, sizes, rng) for array in fn.arrays}
        found = {name: data.copy() for name, data in given.items()}
        ps.interpret(fn, {**given, **sizes})
        done(**found, **sizes)
        for name, data in given.items():
            np.testing.assert_array_equal(found[name], data, err_msg=name)


def _random_pipeline(rng):
    """Two to four stages, each of which reads up to three elements of one or two before it."""
    n, m = ps.var("n"), ps.var("m")
    stages = [ps.placeholder((n + 16, m + 16), ps.i32, "a")]
    count = rng.randint(2, 4)
    for k in range(count):
        more = 4 * (count - 1 - k)
        read = [stages[-1], *rng.sample(stages, rng.randint(0, 1))]
        taps = [(p, rng.randint(0, 4), rng.randint(0, 4)) for p in read for _ in range(rng.randint(1, 3))]
        taps += [(stages[-1], 0, 0), (stages[-1], 2, 1)]

        def element(y, x, taps=taps):
            first, *rest = (p[y + dy, x + dx] for p, dy, dx in taps)
            return sum(rest, first * 3)

        stages.append(ps.compute((n + more, m + more), element, f"s{k}", inline=False))
    return ps.function("pipeline", [stages[0]], [stages[-1]])


def _data(array, sizes, rng):
    shape = tuple(int(eval(str(extent), {}, dict(sizes))) for extent in array.shape)
    return np.random.default_rng(rng.randrange(100)).integers(-9, 9, shape, np.int32)
