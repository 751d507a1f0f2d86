# ruff: noqa: F821, UP037
"""The cost model: how often loops run, what comes from beyond each cache, and which of two kernels is faster."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from nests import arguments_for, random_nest

import polysched as ps
from benchmarks.polybench import KERNELS
from polysched.cli import main
from polysched.cost.cycles import cycles, shares
from polysched.cost.prediction import Prediction, duration, predict
from polysched.cost.shape import Loop, shaped
from polysched.cost.sizes import typical_sizes
from polysched.cost.traffic import bytes_into
from polysched.errors import InputError
from polysched.ir.interp import interpret
from polysched.ir.node import walk
from polysched.ir.nodes import If
from polysched.operators.examples import gemm
from polysched.plan import mapped
from polysched.plan.candidates import compared
from polysched.plan.mapped import AS_FAST_IN_ORDER, IN_WINDOWS
from polysched.plan.predicted import gains
from polysched.results import compiled
from polysched.runtime import cache, calibrate
from polysched.support import isl

MACHINE = ps.Machine(vector_bytes=32, l1=32 << 10, l2=512 << 10, l3=8 << 20, cores=2)
_KB, _MB = 1 << 10, 1 << 20


@ps.nest
def triangle(a: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(i):
            a[i, j] = 1.0


@ps.nest
def rows(a: ps.f64["n", "n"], s: ps.f64["n"], n: ps.size):
    for i in range(n):
        for j in range(n):
            s[i] += a[i, j]


@ps.nest
def columns(a: ps.f64["n", "n"], s: ps.f64["n"], n: ps.size):
    for i in range(n):
        for j in range(n):
            s[i] += a[j, i]


@ps.nest
def twice(a: ps.f64["n"], n: ps.size):
    for _t in range(2):
        for i in range(n):
            a[i] = a[i] * 2.0


def of(nest: ps.Nest, **sizes: int) -> Loop:
    return shaped(nest.function, sizes, registers=512)


def test_a_prediction():
    done = ps.optimize(gemm, options=ps.Options(machine=MACHINE))
    one, two = done.predict(threads=1, n=1024), done.predict(n=1024)
    assert 1.8 < one.seconds / two.seconds < 2.2
    assert str(one).startswith(f"{duration(one.seconds)} at n = 1024 on one thread (arithmetic ")
    assert one.arithmetic > one.memory
    assert one.seconds < predict(gemm.function, {"n": 1024}, MACHINE).seconds / 4


def test_loops_run_as_often_as_they_do():
    (outer,) = of(rows, n=100).loops
    (inner,) = outer.loops
    assert (outer.entries, outer.trips, inner.entries, inner.trips) == (1, 100, 100, 100)
    (outer,) = of(triangle, n=1000).loops
    (inner,) = outer.loops
    assert inner.is_uneven and not outer.is_uneven
    assert inner.entries * inner.trips == pytest.approx(1000 * 999 / 2, rel=0.02)


def test_what_an_iteration_touches():
    (outer,) = of(columns, n=100).loops
    (work,) = outer.loops[0].works
    assert {(each.array, each.is_store): each.steps for each in work.accesses} == {
        ("s", False): (8.0, 0.0),
        ("s", True): (8.0, 0.0),
        ("a", False): (8.0, 800.0),
    }


def test_a_cache_that_holds_all_is_warm():
    assert bytes_into(8 * _MB, of(rows, n=500)) == 0
    assert bytes_into(_MB, of(rows, n=500)) == pytest.approx(500 * 500 * 8, rel=0.01)


def test_what_is_stored_goes_back():
    n = 1 << 20
    assert bytes_into(_MB, of(twice, n=n)) == pytest.approx(2 * 2 * 8 * n, rel=0.01)


def test_columns_take_a_line_for_each_element_unless_the_lines_stay():
    whole = 2000 * 2000 * 8
    assert bytes_into(32 * _KB, of(columns, n=2000)) == pytest.approx(8 * whole, rel=0.02)
    assert bytes_into(512 * _KB, of(columns, n=2000)) == pytest.approx(whole, rel=0.02)


def test_tiles_of_a_product_come_from_memory_less_often():
    done = ps.optimize(gemm, options=ps.Options(machine=MACHINE))
    tiled, plain = done.predict(n=2048), predict(gemm.function, {"n": 2048}, MACHINE, 2)
    assert tiled.memory < plain.memory / 5
    assert tiled.second_cache < plain.second_cache


def test_lanes_and_threads_share_the_work():
    def of_machine(**changes: int) -> float:
        machine = ps.Machine(**changes)
        return cycles(shaped(done.kernel, {"n": 1024}, 512), machine)

    done = ps.optimize(columns, options=ps.Options(machine=MACHINE, tile=False))
    assert of_machine(vector_bytes=16) > 1.5 * of_machine(vector_bytes=32)
    loop = Loop("i", "parallel", entries=1.0, trips=3.0, starts=1.0)
    assert [shares(loop, count) for count in (1, 2, 8)] == pytest.approx([1, 2, 3])
    assert shares(Loop("i", "parallel", entries=1.0, trips=3.0, alone=1.0), 8) == 1


@pytest.mark.parametrize("seed", range(40))
def test_random_nests_run_as_often_as_is_said(seed):
    """Up to what is left to chance: nests without conditions."""
    rng = random.Random(seed)
    nest = random_nest(rng)
    if any(isinstance(node, If) for node in walk(nest.body)):
        pytest.skip("data decide what it runs")
    arguments = arguments_for(nest, rng, n=12)
    touches: list = []
    interpret(nest, arguments, touches)
    stores = Counter(touch.array for touch in touches if touch.kind == "write")
    sizes = {name: arguments[name] for name in nest.sizes}
    found: Counter[str] = Counter()
    for loop in shaped(nest, sizes, registers=0).nested():
        for work in loop.works:
            for access in work.accesses:
                found[access.array] += work.times * access.is_store
    for array, times in stores.items():
        assert found[array] == pytest.approx(times, rel=0.2, abs=3), array


def test_sizes_are_large_and_allowed():
    known = isl.Set("[n] -> { : n >= 0 }")
    assert typical_sizes(gemm.function, known, MACHINE) == {"n": 512}
    assert typical_sizes(gemm.function, isl.Set("[n] -> { : 0 <= n <= 100 }"), MACHINE) == {"n": 64}
    assert typical_sizes(gemm.function, isl.Set("[n] -> { : n < 0 }"), MACHINE) is None
    assert typical_sizes(gemm.function, known, MACHINE, {"n": 7}) == {"n": 7}


def test_sizes_that_follow_each_other():
    @ps.nest
    def rest(a: ps.f64["n", "m"], n: ps.size, m: ps.size):
        for i in range(n):
            a[i, i + 1] = 0.0

    found = typical_sizes(rest.function, isl.Set("[n, m] -> { : m > n >= 0 }"), MACHINE)
    assert found == {"n": 1024, "m": 1025}


def test_wrong_sizes():
    done = ps.optimize(gemm)
    with pytest.raises(InputError, match="'gemm' has no size m"):
        done.predict(m=3)
    for size in (-1, 2.5, "3", True, 1 << 57):
        with pytest.raises(InputError, match=r"n is .*, but is an integer from 0 to 2\*\*56"):
            done.predict(n=size)
    with pytest.raises(InputError, match="threads is -1, but is a positive integer"):
        done.predict(threads=-1)
    with pytest.raises(InputError, match="times are predicted for C alone"):
        ps.optimize(gemm, "cuda").predict()


def test_explain_names_candidates():
    done = ps.optimize(gemm, options=ps.Options(machine=MACHINE))
    (line,) = (line for line in done.explain().splitlines() if line.startswith("predicted"))
    assert line.startswith("predicted at n = 512 on 2 threads: as found ")
    assert "in source order" in line and ";" not in line


def test_why_another_than_the_fastest_runs():
    def told(mapping: str) -> str:
        times = {"as found": 1.0, "in source order": 1.05, "in windows": 2.0}
        return compared({name: Prediction(time, 0.0, 0.0, 0.0, 0.0) for name, time in times.items()}, mapping)

    listed = "as found 1 s, in source order 1.05 s, in windows 2 s"
    assert told("mapped") == told("mapped without tiles, since isl ran out of time") == listed
    order = "it runs in source order, which these times do not tell from the fastest"
    assert told(AS_FAST_IN_ORDER) == f"{listed}; {order}"
    assert told(IN_WINDOWS) == f"{listed}; it runs in windows, as rules say that it gains"


def test_decisions_have_prices():
    done = ps.optimize(gemm, options=ps.Options(machine=MACHINE))
    key = "tile.j_2"
    prices = done.prices(key, n=1000)
    assert prices.keys() == set(done.schedule.decision(key).candidates)
    assert prices[8].seconds > prices[done.schedule.decision(key).value].seconds
    with pytest.raises(InputError, match=r"there is no decision 'tile\.z'"):
        done.prices("tile.z")
    with pytest.raises(InputError, match="times are predicted for C alone"):
        ps.optimize(gemm, "cuda").prices(key)


def test_ties_are_left_in_source_order(monkeypatch):
    """The steps of durbin depend on each other; what is in them is as long whichever way."""
    options = ps.Options(machine=MACHINE)
    tie = ps.optimize(KERNELS["durbin"].nest, options=options)
    assert tie.rungs["mapping"] == AS_FAST_IN_ORDER and tie.fallbacks == {}
    monkeypatch.setattr(mapped, "gains", lambda *_: True)
    found = ps.optimize(KERNELS["durbin"].nest, options=options)
    assert found.rungs["mapping"] != AS_FAST_IN_ORDER and len(found.source.text) > len(tie.source.text)


def test_what_cannot_be_told_apart_is_not_decided():
    """Between sizes that are alike there is nothing to do."""

    @ps.nest
    def between(a: ps.f64["q"], p: ps.size, q: ps.size):
        for i in range(p, q):
            a[i] = 0.0

    done = ps.optimize(between, options=ps.Options(machine=MACHINE))
    alike = (done.tree, done.scop)
    assert gains(alike, alike, done.options)


HASHED = """
void f(long n, unsigned long k[n], double x[n], long cnt[1024], double a[n], double b[n]) {
#pragma scop
    for (long i = 0; i < n; i++) {
        cnt[(k[i] * 0x9E3779B97F4A7C15UL) >> 54] += 1;
        cnt[((long)(x[i] * 1e300 * 1e300)) & 7] += 1;
        cnt[3] += !(k[i] & 0x8000000000000000UL);
        a[i] = b[i] * 2.0;
    }
#pragma endscop
}
"""


@pytest.mark.filterwarnings("error")
def test_values_as_c_has_them(tmp_path):
    (tmp_path / "hash.c").write_text(HASHED)
    (nest,) = ps.from_c(tmp_path / "hash.c")
    done = ps.optimize(nest, options=ps.Options(machine=MACHINE))
    assert done.predict(n=10_000).seconds > 0
    assert "predicted" in done.explain() or done.rungs["schedule"] != "pluto"


def test_conditions_on_one_iteration_in_two_hold_in_half_of_them():
    @ps.nest
    def halves(a: ps.f64["n"], n: ps.size):
        for i in range(n):
            if i % 2 == 1:
                a[i] = 0.0

    (loop,) = of(halves, n=1024).loops
    (work,) = (each for each in loop.works if each.accesses)
    assert 0.25 < work.times / 1024 < 0.75


@pytest.mark.parametrize("name", ["cores", "vector_bytes", "megahertz", "memory_rate"])
def test_a_machine_without_them_is_none(name):
    with pytest.raises(InputError, match=f"{name} of a machine is 0, but is a positive integer"):
        ps.Machine(**{name: 0})


def test_durations():
    assert [duration(each) for each in (2.5, 0.0123, 4.56e-5, 3e-9)] == ["2.5 s", "12.3 ms", "45.6 us", "3 ns"]
    assert [duration(each) for each in (1500.0, 0.9997, 9.997e-7, 0.0)] == ["1500 s", "1 s", "1 us", "0 ns"]
    assert str(Prediction(0.0, 0.0, 0.0, 0.0, 0.0)) == "0 ns (nothing to do)"
    assert Prediction(1.0, 0.5, 0.0, 0.0, 0.0).seconds == pytest.approx(1.05)


def test_bodies_that_are_never_reached():
    @ps.nest
    def never(a: ps.f64["n"], n: ps.size):
        for i in range(5, 3):
            a[i] = 0.0

    assert predict(never.function, {"n": 8}, MACHINE).arithmetic == pytest.approx(0.0, abs=1e-8)



def test_rates_are_measured_and_kept(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("POLYSCHED_CACHE", str(tmp_path))
    monkeypatch.setattr(calibrate, "_SECONDS", 1e-3)
    monkeypatch.setattr(calibrate, "_MOST", 8 << 20)
    assert calibrate.calibrated(MACHINE) == MACHINE
    first = calibrate.calibrate(MACHINE)
    assert calibrate.calibrated(MACHINE) == first != MACHINE
    assert (first.l1, first.cores) == (MACHINE.l1, MACHINE.cores)
    assert 200 < first.megahertz < 10_000
    assert main(["calibrate"]) == 0
    assert "MHz\n" in capsys.readouterr().out


def test_what_is_measured_again_takes_the_place_of_what_was(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYSCHED_CACHE", str(tmp_path))
    for content in (b"one", b"other"):
        cache.remember(("rates",), ".json", content)
        assert cache.remembered(("rates",), ".json") == content


def test_predictions_take_the_rates_that_were_measured(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYSCHED_CACHE", str(tmp_path))
    done = ps.optimize(twice, options=ps.Options(machine=MACHINE))
    before = done.predict(n=1 << 24).memory
    slow = replace(MACHINE, memory_rate=1)
    monkeypatch.setattr(compiled, "calibrated", lambda _: slow)
    assert done.predict(n=1 << 24).memory == pytest.approx(MACHINE.memory_rate * before)
