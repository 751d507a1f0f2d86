"""polysched/transform/trees/fusion.py: sums in one nest with what they start from and what is made of them."""

from __future__ import annotations

import random

import pytest
from contractions import random_contraction

from polysched.frontend.python import parse_nest
from polysched.model.tree.nodes import Domain
from polysched.model.tree.text import show_tree
from polysched.strategy.gpu import fuse_sums
from tests.transform.scheduled import Scheduled, scheduled, script_of, written

ARRAYS = 'C: f64["n", "n"], A: f64["n", "n"], b: f64["n"]'


def nest(*lines: str) -> Scheduled:
    text = "\n".join((f"def f({ARRAYS}, n: size):", *(f"    {line}" for line in lines)))
    return scheduled(parse_nest(text, "nests.py"))


def fused(nest: Scheduled) -> str:
    """The tree below the domain, after it was seen to hold."""
    script = script_of(nest, fuse_sums)
    nest.assert_holds(script.tree)
    assert isinstance(script.tree, Domain)
    return show_tree(script.tree.child).split("\n", 1)[1] if script.edits else "unchanged"


PRODUCT = (
    "for i in range(n):",
    "    for j in range(n):",
    "        C[i, j] = 0.0",
    "        for k in range(n):",
    "            C[i, j] += A[i, k] * A[k, j]",
)


def test_a_product_starts_and_ends_at_each_element():
    finish = "        C[i, j] = max(C[i, j] + b[j], 0.0)"
    assert fused(nest(*PRODUCT, finish)) == """\
  band: permutable
    [S0[i, j] -> i; S1[i, j, k] -> i; S2[i, j] -> i] coincident
    [S0[i, j] -> j; S1[i, j, k] -> j; S2[i, j] -> j] coincident
    sequence
      filter: S0
      filter: S1
        band:
          [S1[i, j, k] -> k]
      filter: S2"""


def test_loops_in_another_order_are_those_of_the_sum():
    rows = ("for j in range(n):", "    for i in range(n):", "        C[i, j] = 2.0 * C[i, j]")
    assert fused(nest(*PRODUCT, *rows)) == """\
  band: permutable
    [S0[i, j] -> i; S1[i, j, k] -> i; S2[j, i] -> i] coincident
    [S0[i, j] -> j; S1[i, j, k] -> j; S2[j, i] -> j] coincident
    sequence
      filter: S0
      filter: S1
        band:
          [S1[i, j, k] -> k]
      filter: S2"""


def test_what_has_nothing_to_do_with_it_stays_outside_and_does_not_hinder():
    between = ("for i in range(n):", "    b[i] = 1.0")
    text = fused(nest("for i in range(n):", "    C[i, 0] = 0.0", *between, *SUM_OF_ROWS))
    assert text == """\
  sequence
    filter: S0, S2
      band:
        [S0[i] -> i; S2[i, j] -> i] coincident
        sequence
          filter: S0
          filter: S2
            band:
              [S2[i, j] -> j]
    filter: S1
      band:
        [S1[i] -> i] coincident"""


SUM_OF_STARTS = ("for i in range(n):", "    for j in range(n):", "        b[j] += C[i, 0]")
SUM_OF_ROWS = ("for i in range(n):", "    for j in range(n):", "        C[i, 0] += A[i, j]")


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("for i in range(1, n):", "    C[i, 0] = 0.0", *SUM_OF_ROWS), id="fewer iterations"),
        pytest.param((*SUM_OF_ROWS, "for i in range(n):", "    b[i] = C[n - 1 - i, 0]"), id="other elements"),
        pytest.param((*SUM_OF_ROWS, "for i in range(n):", "    A[0, i] = 1.0"), id="what the sum reads elsewhere"),
        pytest.param(
            ("for i in range(n):", "    C[i, 0] = 0.0", *SUM_OF_STARTS, *SUM_OF_ROWS),
            id="what waits stands between",
        ),
        pytest.param(
            ("C[0, 0] = 0.0", "for i in range(n):", "    C[0, 0] += b[i]", "C[0, 0] = 2.0 * C[0, 0]"),
            id="no parallel loop",
        ),
        pytest.param(
            ("for i in range(n):", "    b[i] = 1.0", "    for j in range(1, n):", "        C[i, j] = C[i, j - 1]"),
            id="no sum",
        ),
    ],
)
def test_left_apart(lines):
    assert fused(nest(*lines)) == "unchanged"


@pytest.mark.parametrize("seed", range(12))
def test_random_nests(seed):
    done = scheduled(random_contraction(random.Random(seed)))
    done.assert_holds(written(done, fuse_sums))
