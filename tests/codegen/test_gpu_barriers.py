"""polysched/codegen/gpu/barriers.py: where the threads of a block wait for each other."""

# mypy: ignore-errors
# ruff: noqa: B007, F821, UP037

from __future__ import annotations

import pytest

import polysched as ps
from polysched.codegen.gpu.barriers import place_barriers
from polysched.model.tree.nodes import Wait, marks_in
from polysched.model.tree.text import show_tree


@ps.nest
def rows(b: ps.f64["m", 64], a: ps.f64["m", 64], m: ps.size, steps: ps.size):
    for r in range(m):
        for t in range(steps):
            for i in range(64):
                b[r, i] = 0.5 * a[r, i]
            for j in range(1, 63):
                a[r, j] = b[r, j - 1] + b[r, j + 1]


def placed(s: ps.Schedule) -> str:
    tree = place_barriers(s.tree, s.draft.scop, s.draft.dependences)
    lines = show_tree(tree).splitlines()[2:]
    return "\n".join(line[4:] for line in lines)


def test_before_what_needs_what_other_threads_have_done():
    assert placed(ps.Schedule(rows).bind("r", "blockIdx.x").bind(("i", "j"), "threadIdx.x")) == """\
mark: map:block.x
  band:
    [S0[r, t, i] -> r; S1[r, t, j] -> r] coincident
    band:
      [S0[r, t, i] -> t; S1[r, t, j] -> t]
      mark: wait
        sequence
          filter: S0
            mark: map:thread.x
              band:
                [S0[r, t, i] -> i] coincident
          filter: S1
            mark: wait
              mark: map:thread.x
                band:
                  [S1[r, t, j] -> j] coincident"""


def waits(s: ps.Schedule) -> int:
    tree = place_barriers(s.tree, s.draft.scop, s.draft.dependences)
    return marks_in(tree).count(Wait())


@ps.nest
def columns(b: ps.f64[64], a: ps.f64[64], steps: ps.size):
    for r in range(1):
        for t in range(steps):
            for i in range(64):
                b[i] = 0.5 * a[i]
            for j in range(64):
                a[j] = b[j] + 1.0


def test_nowhere_if_each_thread_needs_its_own_alone():
    assert waits(ps.Schedule(columns).bind("r", "blockIdx.x").bind(("i", "j"), "threadIdx.x")) == 0


def test_before_a_block_uses_a_shared_array_again():
    s = ps.Schedule(columns).bind("r", "blockIdx.x").cache_read("a", at="t", scope="shared")
    assert waits(s.bind(("i", "j", "a0"), "threadIdx.x")) == 1


def test_a_shared_array_outside_of_any_block():
    s = ps.Schedule(rows).cache_read("a", at="t", scope="shared")
    with pytest.raises(ps.InputError) as raised:
        ps.optimize(rows, "cuda", schedule=s.bind("a1", "threadIdx.x"))
    assert str(raised.value) == (
        "'a_c' is shared by the threads of a block, and no loop around it is on blocks\nhint: bind one to blockIdx.x"
    )
