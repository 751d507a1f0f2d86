from __future__ import annotations

import random

import pytest

import polysched as ps
from benchmarks.pipelines.stencils import neighbours as life
from polysched.deps import last
from polysched.deps.dataflow import dependences
from polysched.model.extract import extract
from polysched.support import isl
from tests.deps.brute import brute_pairs, interpreted, pairs_of
from tests.nests import arguments_for
from tests.scops import scop, stmt


def test_a_guarded_temporary_and_storage_that_alternates_are_exact():
    found = dependences(extract(life.function))
    assert found.is_exact
    flow = [d for d in found.of("flow") if d.array == "s"]
    counted_in_any_order = {("S0", "S1"), ("S1", "S1"), ("S1", "S2"), ("S0", "S2")}
    assert {(d.source, d.sink) for d in flow} == counted_in_any_order
    assert all(d.relation.is_subset(_in_one_cell(d.relation)) for d in flow)


def _in_one_cell(relation: isl.Map) -> isl.Map:
    cell = isl.Map.universe(relation.get_space())
    for k in range(3):
        cell = cell.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    return cell


def test_the_temporary_may_be_made_private_and_the_loop_parallel():
    done = ps.optimize(life, schedule=ps.Schedule(life).privatize("s", at="i").parallel("i"))
    done.verify()


def test_a_read_that_may_not_happen_touches_its_element_alone():
    @ps.nest
    def rule(g: ps.i32["n"], h: ps.i32["n"], n: ps.size):
        for i in range(1, n - 1):
            s = 0
            for d in range(-1, 2):
                s += g[i + d]
            if s == 3 or (s == 2 and g[i] == 1):
                h[i] = 1
            else:
                h[i] = 0

    ps.optimize(rule, schedule=ps.Schedule(rule).privatize("s", at="i").parallel("i")).verify()


CELLS = """
void cells(int T, int n, int g[{depth}][n][n], int h[{depth}][n][n])
{{
#pragma scop
  for (int t = 0; t < T; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = {start}; j < n - 1; j += {step}) {{
        int s{zero};
        {first}
        for (int d = -1; d <= 1; d++)
          for (int e = -1; e <= 1; e++)
            if ({guard})
              s = s + g[t % {depth}][i + d][j + e];
        {last}
        g[(t + 1) % {depth}][{row}][j] = s + h[(t + {ahead}) % {depth}][i][j];
        if ({guard2}) h[t % {depth}][i][j] = s;
      }}
#pragma endscop
}}
"""


@pytest.mark.parametrize("seed", range(12))
def test_guarded_temporaries_and_storage_that_alternates_equal_their_interpretation(seed, tmp_path):
    rng = random.Random(seed)
    guards = ["d != 0 || e != 0", "d + e > 0", "(d + e) % 2 == 0", "d != e", "d * 2 + e == 1 || d < e", "1"]
    text = CELLS.format(
        depth=rng.choice([2, 3]),
        start=rng.choice(["1", "i", "2"]),
        step=rng.choice([1, 1, 2]),
        zero=rng.choice([" = 0", " = 0", ""]),
        first=rng.choice(["s = t;", "if (i > 1) s = 1; else s = 2;", "s = 0; if (j % 2 == 1) s = 3;"]),
        guard=rng.choice(guards),
        last=rng.choice(["", "if (i + j > 4) s = 1;", "for (int k = 0; k < 2; k++) s = s + k;"]),
        row=rng.choice(["i", "i", "n - 1 - i"]),
        ahead=rng.randint(0, 2),
        guard2=rng.choice(["i > j", "(i + t) % 2 == 0", "t % 2 == 1 && j > 1"]),
    )
    path = tmp_path / "cells.c"
    path.write_text(text)
    (function,) = ps.from_c(path)
    nest, arguments = extract(function), arguments_for(function, rng, 4)
    found = dependences(nest)
    assert found.is_exact
    sizes = {size: arguments[size] for size in function.sizes}
    assert pairs_of(found, sizes) == brute_pairs(interpreted(nest, arguments))


def _too_hard(*_):
    raise isl.Error("too hard")


def test_what_is_not_decided_is_one_pair_of_accesses(monkeypatch):
    nest = scop(
        "[n] -> { : n >= 2 }",
        stmt("{ W[i] : 0 <= i < n }", writes="a[i]"),
        stmt("{ V[i] : 0 <= i < n }", writes="a[i + 1]"),
        stmt("{ R[i] : 0 <= i < n }", reads=["a[i]", "a[n]"]),
    )
    exact = dependences(nest)
    decide = last._later

    def fails(last_time, sink, touches, element, level):
        """Of the first read, the last write of W cannot be told, neither alone nor among others."""
        of_w = isl.Map("[n] -> { R[i] -> [t, i, p] : t = 0 and 0 <= i < n }")
        times = sink.times(touches, element, level)
        if times.get_tuple_name(isl.dim_type.in_) == "R" and not times.is_disjoint(of_w):
            raise isl.Error("too hard")
        return decide(last_time, sink, touches, element, level)

    monkeypatch.setattr(last, "_later", fails)
    monkeypatch.setattr(last._Before, "at_once", _too_hard)
    found = dependences(nest)
    assert {(d.kind, d.source, d.sink) for d in found.guesses} == {("flow", "W", "R")}
    (guess,) = found.guesses
    assert guess.relation.is_equal(isl.Map("[n] -> { W[0] -> R[0] : n >= 2 }")), "V hides the others"
    assert {str(d) for d in exact.pairs} - {str(d) for d in found.pairs} == {
        str(d) for d in exact.pairs if (d.kind, d.source, d.sink) == ("flow", "W", "R")
    }


@pytest.mark.slow
def test_without_time_every_refusal_says_that_it_may_be_wrong():
    schedule = ps.Schedule(life, options=ps.Options(dependence_seconds=0.0))
    with pytest.raises(ps.IllegalSchedule, match=r"may be none \(not decided within its budget\): .* may have to run"):
        schedule.parallel("i")
    assert "which may be none (not decided within its budget)" in str(schedule.draft.dependences)
    assert "which may be none" in schedule.explain()
    rung = ps.optimize(life, options=ps.Options(dependence_seconds=0.0)).rungs["dependences"]
    assert rung.startswith("some may be none, not decided within their budget: flow on g from S to S")


@pytest.mark.slow
def test_large_strides_end_where_isl_hears_no_alarm(tmp_path):
    """isl's numbers grew to 190 000 bits, and one inversion of a matrix of these took minutes."""
    path = tmp_path / "strides.c"
    path.write_text(_STRIDES)
    (function,) = ps.from_c(path)
    assert not dependences(extract(function)).is_exact, "this is undecided, or the nest no longer shows it"


_STRIDES = """
void kernel(int n, int m, unsigned char *restrict B)
{
#pragma scop
    for (int k = 0; n > k; k += 2)
        for (int l = 0; n > l && m > l; l += 4) {
            for (int p = 0; p < n; p += 1) {
                B[((n + 36 - l) * 112 + l) * 112 + k + 1] += 2;
                for (int q = l; q < n; ++q)
                    if (p % 5 == 0 && l < 2)
                        B[((k % 4) * 112 + 2) * 112 + p + 3] += B[((q) * 112 + k) * 112 + 2 * k] % 100;
            }
            for (int r = 0; r < m; r += 2)
                B[((n + 36 - r) * 112 + r) * 112 + k / 2] = B[((l + n) * 112 + r + n) * 112 + l / 2];
        }
#pragma endscop
}
"""
