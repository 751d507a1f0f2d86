"""polysched/codegen/gpu/first_thread.py: what is in no loop on an axis of its kernel."""

# mypy: ignore-errors
# ruff: noqa: F821, UP037

from __future__ import annotations

import polysched as ps
from polysched.codegen.gpu.first_thread import on_first_threads
from polysched.model.tree.text import show_tree


@ps.nest
def totals(s: ps.f64["m"], a: ps.f64["m", 8, 8], m: ps.size):
    for r in range(m):
        for i in range(8):
            for j in range(8):
                a[r, i, j] = 2.0 * a[r, i, j]
        for k in range(8):
            s[r] += a[r, k, 0]


def shown(s: ps.Schedule) -> str:
    return "\n".join(line[4:] for line in show_tree(on_first_threads(s.tree)).splitlines()[2:])


def test_as_much_as_has_no_threads_is_on_the_first():
    s = ps.Schedule(totals).bind("r", "blockIdx.x").bind("i", "threadIdx.x")
    assert shown(s) == """\
mark: map:block.x
  band:
    [S0[r, i, j] -> r; S1[r, k] -> r] coincident
    sequence
      filter: S0
        mark: map:thread.x
          band:
            [S0[r, i, j] -> i] coincident
            band:
              [S0[r, i, j] -> j] coincident
      filter: S1
        mark: map:thread.x
          band:
            [S1[r, k] -> 0] coincident
            band:
              [S1[r, k] -> k]"""


@ps.nest
def scaled(b: ps.f64["m", 8, 8], a: ps.f64["m", 8, 8], m: ps.size):
    for r in range(m):
        for i in range(8):
            a[r, i, 0] = 0.0
            for j in range(8):
                b[r, i, j] = 2.0 * b[r, i, j]


def test_an_axis_that_is_missing_inside_of_another():
    s = ps.Schedule(scaled).bind("r", "blockIdx.x").bind("i", "threadIdx.y").bind("j", "threadIdx.x")
    assert shown(s) == """\
mark: map:block.x
  band:
    [S0[r, i] -> r; S1[r, i, j] -> r] coincident
    mark: map:thread.y
      band:
        [S0[r, i] -> i; S1[r, i, j] -> i] coincident
        sequence
          filter: S0
            mark: map:thread.x
              band:
                [S0[r, i] -> 0] coincident
          filter: S1
            mark: map:thread.x
              band:
                [S1[r, i, j] -> j] coincident"""


def test_nothing_outside_of_kernels_is_changed():
    s = ps.Schedule(totals).bind("i", "threadIdx.x")
    assert on_first_threads(s.tree) == s.tree


def test_a_sum_on_the_first_thread_is_not_read_by_the_others():
    s = ps.Schedule(totals).bind("r", "blockIdx.x").bind("i", "threadIdx.x")
    done = ps.optimize(totals, "cuda", schedule=s)
    assert "threadIdx.x == 0" not in done.source.text
    done.verify(m=3)
