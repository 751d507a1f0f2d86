"""polysched/transform/trees/fusion.py: neighbouring nests inside of a loop run block by block."""

from __future__ import annotations

import random

import pytest
from contractions import random_contraction

from polysched.config.options import Options
from polysched.deps.dataflow import dependences
from polysched.frontend.python import parse_nest
from polysched.model.extract import extract
from polysched.model.tree.nodes import Band, Domain, Filter, InOrder, Tree
from polysched.model.tree.text import show_tree
from polysched.solve.scheduler import find_schedule
from polysched.strategy import cpu
from tests.transform.scheduled import Scheduled, band, in_source_order, script_of, written

SWEEPS = """
def f(p: f64["n", "n"], v: f64["n", "n"], T: size, n: size):
    for t in range(T):
        for i in range(n):
            for j in range(1, n):
                p[i, j] = p[i, j - 1] * 0.5 + v[j, i]
        for i in range(n):
            for j in range(1, n):
                v[j, i] = v[j - 1, i] * p[i, n - j]
"""
FIRST = band("S0[t, i, j] -> i", "S0[t, i, j] -> j", coincident=(0,))
SECOND = band("S1[t, i, j] -> i", "S1[t, i, j] -> j", coincident=(0,))


def in_time(text: str, *bands: Band) -> Scheduled:
    """The nest with its statements in these bands, one after the other inside of its loop t."""
    fn = parse_nest(text.strip(), "sweeps.py")
    scop = extract(fn)
    pairs = zip(scop.statements, bands, strict=True)
    branches = [Filter(statement.domain.to_union_set(), band) for statement, band in pairs]
    time = band(*["; ".join(f"{s.name}[{', '.join(s.iterators)}] -> t" for s in scop.statements)], permutable=False)
    tree = Domain(scop.domain, Band(time.members, False, InOrder(tuple(branches))))
    return Scheduled(fn, scop, dependences(scop), tree)


def fused(nest: Scheduled, monkeypatch: pytest.MonkeyPatch) -> str:
    """The tree below the domain, as text, after its loops in blocks of two were seen to compute the same."""
    nest.assert_holds(nest.tree)
    monkeypatch.setattr(cpu, "FUSED_BLOCK", 2)
    script = script_of(nest, cpu.fuse_tiles)
    monkeypatch.undo()
    nest.assert_holds(script.tree)
    assert isinstance(script.tree, Domain)
    return show_tree(script.tree.child) if script.edits else "unchanged"


def test_two_sweeps_over_the_same_columns_run_in_common_blocks_of_them(monkeypatch):
    nest = in_time(SWEEPS, FIRST, SECOND)
    assert fused(nest, monkeypatch) == """\
band:
  [S0[t, i, j] -> t; S1[t, i, j] -> t]
  band:
    [S0[t, i, j] -> floor((i)/2); S1[t, i, j] -> floor((i)/2)] coincident
    sequence
      filter: S0
        band: permutable
          [S0[t, i, j] -> i] coincident
          [S0[t, i, j] -> j]
      filter: S1
        band: permutable
          [S1[t, i, j] -> i] coincident
          [S1[t, i, j] -> j]"""
    assert "floor((i)/64)" in show_tree(written(nest, cpu.fuse_tiles))


def test_the_loop_in_common_may_stand_anywhere_in_its_band(monkeypatch):
    inner = band("S1[t, i, j] -> j", "S1[t, i, j] -> i", coincident=(1,))
    assert "floor((i)/2); S1[t, i, j] -> floor((i)/2)" in fused(in_time(SWEEPS, FIRST, inner), monkeypatch)


def test_schedules_may_speak_of_instances_that_run_elsewhere(monkeypatch):
    both = band("S0[t, i, j] -> i; S1[t, i, j] -> j", "S0[t, i, j] -> j; S1[t, i, j] -> i", coincident=(0,))
    text = fused(in_time(SWEEPS, both, SECOND), monkeypatch)
    assert "[S0[t, i, j] -> floor((i)/2); S1[t, i, j] -> floor((i)/2)] coincident" in text


WAITING = """
def f(p: f64["n", "n"], v: f64["n", "n"], T: size, n: size):
    for t in range(T):
        for i in range(n):
            for j in range(1, n):
                p[i, j] = p[i, j - 1] * 0.5 + v[i, j]
        for i in range(1, n):
            for j in range(n):
                v[i, j] = v[i - 1, j] * p[i, j]
"""
NEXT = SWEEPS.replace("p[i, n - j]", "p[n - 1 - i, n - j]")
COLUMN_FIRST = """
def f(p: f64["n", "n"], v: f64["n"], T: size, n: size):
    for t in range(T):
        for i in range(n):
            v[i] = v[i] * 0.5 + p[i, n - 1]
        for i in range(n):
            for j in range(1, n):
                p[i, j] = p[i, j - 1] * 0.5 + v[i]
"""
COLUMN_LAST = """
def f(p: f64["n", "n"], v: f64["n"], T: size, n: size):
    for t in range(T):
        for i in range(n):
            for j in range(1, n):
                p[i, j] = p[i, j - 1] * 0.5 + v[i]
        for i in range(n):
            v[i] = v[i] * 0.5 + p[i, n - 1]
"""
APART = SWEEPS.replace("p[i, n - j]", "0.5").replace("+ v[j, i]", "+ 0.5")


@pytest.mark.parametrize(
    ("text", "bands"),
    [
        (NEXT, (FIRST, SECOND)),
        (WAITING, (FIRST, band("S1[t, i, j] -> i", "S1[t, i, j] -> j", coincident=(1,)))),
        (APART, (FIRST, SECOND)),
        (SWEEPS, (FIRST, band("S1[t, i, j] -> i + 2", "S1[t, i, j] -> j", coincident=(0,)))),
        (COLUMN_LAST, (FIRST, band("S1[t, i] -> i"))),
        (COLUMN_FIRST, (band("S0[t, i] -> i"), SECOND)),
    ],
    ids=[
        "elements of other blocks",
        "blocks that wait for each other",
        "nothing in common",
        "other values",
        "one loop",
        "one loop, the first",
    ],
)
def test_nests_that_stay_apart(text, bands, monkeypatch):
    assert fused(in_time(text, *bands), monkeypatch) == "unchanged"


ONCE = """
def f(p: f64["n", "n"], v: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(1, n):
            p[i, j] = p[i, j - 1] * 0.5 + v[j, i]
    for i in range(n):
        for j in range(1, n):
            v[j, i] = v[j - 1, i] * p[i, n - j]
"""


def test_without_a_loop_around_them_they_stay():
    assert script_of(in_source_order(ONCE), cpu.fuse_tiles).edits == []


THREE = """
def f(p: f64["n", "n"], v: f64["n", "n"], w: f64["n", "n"], T: size, n: size):
    for t in range(T):
        for i in range(n):
            for j in range(1, n):
                p[i, j] = p[i, j - 1] * 0.5 + w[i, j]
        for i in range(n):
            for j in range(1, n):
                v[i, j] = v[i, j - 1] + {second}
        for i in range(n):
            for j in range(1, n):
                w[i, j] = w[i, j - 1] + {third}
"""
THIRD = band("S2[t, i, j] -> i", "S2[t, i, j] -> j", coincident=(0,))


@pytest.mark.parametrize(
    ("second", "third", "blocks"),
    [
        ("p[i, j]", "p[i, j] * v[i, j]", "S0, S1"),  # pairs of neighbours, from the first on
        ("p[i, j]", "p[n - 1 - i, j] * v[n - 1 - i, j]", "S0, S1"),
        ("p[n - 1 - i, j]", "p[i, j] * v[i, j]", "S1, S2"),  # after all of the first
        ("p[n - 1 - i, j]", "p[i, j] * v[n - 1 - i, j]", ""),
        ("0.5", "p[i, j]", ""),  # the first and the third are no neighbours
    ],
)
def test_of_three_nests_neighbours_are_fused(second, third, blocks, monkeypatch):
    text = fused(in_time(THREE.format(second=second, third=third), FIRST, SECOND, THIRD), monkeypatch)
    lines = [line for line in text.splitlines() if "floor" in line]
    assert [", ".join(s for s in ("S0", "S1", "S2") if s in line) for line in lines] == ([blocks] if blocks else [])


@pytest.mark.parametrize("seed", range(15))
def test_random_nests_are_legal_and_compute_the_same_bits(seed, monkeypatch):
    fn = random_contraction(random.Random(seed))
    scop = extract(fn)
    deps = dependences(scop)
    tree: Tree = find_schedule(scop, deps, Options(fusion=random.Random(seed).choice(("smart", "none")))).tree
    fused(Scheduled(fn, scop, deps, tree), monkeypatch)
