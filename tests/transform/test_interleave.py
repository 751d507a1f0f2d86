"""polysched/transform/analysis/vectorize.py: rows at a time of a loop whose iterations wait for each other."""

from __future__ import annotations

import random

import pytest
from contractions import random_contraction

from polysched.frontend.python import parse_nest
from polysched.model.tree.nodes import Band, Tree, Unroll, children, marked_as, marks_in, walk, with_children
from polysched.model.tree.text import show_tree
from polysched.strategy import cpu
from polysched.transform.analysis.vectorize import row_to_interleave
from tests.transform.scheduled import Scheduled, band, scheduled, script_of, written


def nest_of(statement: str, arrays: str = 'p: f64["n", "n"], q: f64["n", "n"]') -> Scheduled:
    """i in 0..n and j in 1..n around the statement."""
    lines = "".join(f"            {line}\n" for line in statement.split("; "))
    return scheduled(parse_nest(
        f"def f({arrays}, n: size):\n    for i in range(n):\n        for j in range(1, n):\n{lines}", "rows.py"
    ))


def interleaved(nest: Scheduled, monkeypatch: pytest.MonkeyPatch, tree: Tree | None = None) -> str:
    """The tree below the domain, as text, after its loops with two rows at a time were seen to compute the same."""
    nest.assert_holds(tree or nest.tree)
    monkeypatch.setattr(cpu, "INTERLEAVED_ROWS", 2)
    script = script_of(nest, cpu.interleaved, [], tree=tree)
    monkeypatch.undo()
    nest.assert_holds(script.tree)
    first = next(node for node in walk(script.tree) if isinstance(node, Band))
    return show_tree(first) if script.edits else "unchanged"


DIVISIONS = "p[i, j] = 1.0 / (p[i, j - 1] + 2.0)"


def test_rows_of_a_recurrence_run_side_by_side(monkeypatch):
    nest = nest_of(DIVISIONS)
    assert interleaved(nest, monkeypatch) == """\
band:
  [S[i, j] -> floor((i)/2)] coincident
  band:
    [S[i, j] -> j]
    mark: unroll
      band:
        [S[i, j] -> i] coincident"""
    assert "floor((i)/8)" in show_tree(written(nest, cpu.interleaved, []))


def test_statements_in_a_sequence_stay_together(monkeypatch):
    nest = nest_of("p[i, j] = p[i, j - 1] * q[i, j - 1]; q[i, j] = p[i, j] + q[i, j - 1]")
    assert interleaved(nest, monkeypatch) == """\
band:
  [S0[i, j] -> floor((i)/2); S1[i, j] -> floor((i)/2)] coincident
  band:
    [S0[i, j] -> j; S1[i, j] -> j]
    mark: unroll
      band:
        [S0[i, j] -> i; S1[i, j] -> i] coincident
        sequence
          filter: S0
          filter: S1"""


DEEP = """
def f(p: f64["n", "n", "n"], n: size):
    for h in range(n):
        for i in range(n):
            for j in range(1, n):
                p[h, i, j] = p[h, i, j - 1] * 0.5 + p[h, i, j]
"""


def test_other_loops_stay_around_the_rows(monkeypatch):
    done = interleaved(scheduled(parse_nest(DEEP.strip(), "rows.py")), monkeypatch)
    lines = [line.strip() for line in done.splitlines() if "[S" in line]
    assert lines == [
        "[S[h, i, j] -> i] coincident",
        "[S[h, i, j] -> floor((h)/2)] coincident",
        "[S[h, i, j] -> j]",
        "[S[h, i, j] -> h] coincident",
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "p[i, j] = q[i, j] + 1.0",  # runs as SIMD
        "p[0, 0] = p[0, 0] * q[i, j]",  # no loop is parallel
    ],
)
def test_nests_that_stay(statement, monkeypatch):
    assert interleaved(nest_of(statement), monkeypatch) == "unchanged"


STAY = {
    "rows that wait for each other too": """
def f(p: f64["n", "n"], n: size):
    for i in range(1, n):
        for j in range(1, n):
            p[i, j] = p[i - 1, j] + p[i, j - 1]
""",
    "SIMD within each row": """
def f(p: f64["n", "n", "n"], n: size):
    for h in range(n):
        for i in range(1, n):
            for j in range(1, n):
                p[h, i, j] = p[h, i - 1, j - 1] * 0.5 + 1.0
""",
    "loops inside": """
def f(p: f64["n", "n"], q: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(1, n):
            p[i, j] = p[i, j - 1] * 0.5
            for k in range(n):
                p[i, j] = p[i, j] / (q[i, k] + 2.0)
""",
}


@pytest.mark.parametrize("name", STAY)
def test_bands_that_stay(name, monkeypatch):
    nest = scheduled(parse_nest(STAY[name].strip(), "stay.py"))
    assert any(isinstance(node, Band) and node.permutable and len(node.members) > 1 for node in walk(nest.tree))
    assert interleaved(nest, monkeypatch) == "unchanged"


def test_what_is_unrolled_already_stays(monkeypatch):
    nest = scheduled(parse_nest(DEEP.strip(), "rows.py"))

    def marked(tree: Tree) -> Tree:
        if isinstance(tree, Band):
            return marked_as(tree, Unroll())
        return with_children(tree, tuple(marked(child) for child in children(tree)))

    assert interleaved(nest, monkeypatch, marked(nest.tree)) == "unchanged"


def test_a_band_that_is_not_permutable_stays():
    nest = nest_of(DIVISIONS)
    rows, fixed = (band("S[i, j] -> i", "S[i, j] -> j", permutable=is_, coincident=(0,)) for is_ in (True, False))
    assert row_to_interleave(rows, nest.deps.coincidence) == rows.members[0]
    assert row_to_interleave(fixed, nest.deps.coincidence) is None


@pytest.mark.parametrize("seed", range(20))
def test_random_nests_are_legal_and_compute_the_same_bits(seed, monkeypatch):
    interleaved(scheduled(random_contraction(random.Random(seed))), monkeypatch)


def test_some_random_nests_are_interleaved():
    nests = [scheduled(random_contraction(random.Random(seed))) for seed in range(20)]
    assert any(marks_in(written(nest, cpu.interleaved, [])) for nest in nests)
