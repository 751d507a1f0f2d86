"""strategy/rows/: sums along rows, what they start from and what is made of them, row by row."""

import numpy as np
import pytest

import polysched as ps
from polysched.frontend.python import parse_nest
from polysched.model.tree.nodes import Domain
from polysched.model.tree.text import show_tree
from polysched.strategy.rows.fuse import fuse_rows
from polysched.strategy.script import Script
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.loops import nested
from tests.transform.scheduled import Scheduled, scheduled

ARRAYS = 'x: f64["n", "n"], y: f64["n", "n"], s: f64["n"], m: f64["n"]'
SUM = (
    "for i in range(n):",
    "    s[i] = 0.0",
    "    for j in range(n):",
    "        s[i] = s[i] + x[i, j]",
)
DIVIDED = ("for i in range(n):", "    for j in range(n):", "        y[i, j] = x[i, j] / s[i]")


def nest(*lines: str, reorder: bool = True) -> Scheduled:
    text = "\n".join((f"def f({ARRAYS}, n: size):", *(f"    {line}" for line in lines)))
    return scheduled(parse_nest(text, "nests.py"), reorder_reductions=reorder)


def fused(nest: Scheduled) -> str:
    """The tree below the domain, after it was seen to hold."""
    script = Script(Draft(scop=nest.scop, dependences=nest.deps, nested=nested(nest.tree), waits=True), ps.Options())
    fuse_rows(script)
    nest.assert_holds(script.tree)
    assert isinstance(script.tree, Domain)
    return show_tree(script.tree.child).split("\n", 1)[1] if script.edits else "unchanged"


def test_a_row_is_added_up_and_divided_at_once():
    assert fused(nest(*SUM, *DIVIDED)) == """\
  band:
    [S0[i] -> i; S1[i, j] -> i; S2[i, j] -> i] coincident
    sequence
      filter: S0
      filter: S1
        band:
          [S1[i, j] -> j]
      filter: S2
        band:
          [S2[i, j] -> j] coincident"""


def test_sums_of_the_same_rows_run_together():
    second = ("for i in range(n):", "    for j in range(n):", "        m[i] = m[i] + x[i, j] * x[i, j]")
    assert fused(nest(*SUM, *second)).count("coincident") == 1


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((*SUM[:3], "        s[i] = s[i] + x[j, i]", *DIVIDED), "elements of a column are far apart"),
        ((*SUM[:3], "        s[i] = s[i] + x[i, j] * m[j]", *DIVIDED), "rows share what they read"),
        ((*SUM, *DIVIDED[:2], "        y[i, j] = x[i, j] / (s[i] + s[j])"), "each row waits for all sums"),
        ((*SUM, *DIVIDED[:2], "        y[i, j] = x[i, j] / s[j]"), "its rows are the columns of another array"),
        ((*SUM, *DIVIDED[:2], "        y[i, j] = m[i]"), "it has nothing to do with the sums"),
        ((*SUM, "for i in range(1, n):", *DIVIDED[1:]), "it has other rows"),
        ((*SUM[:3], "        s[i] = x[i, j] - s[i]", *DIVIDED), "its terms have an order"),
        ((*SUM, *DIVIDED[:2], "        if j < j:", "            y[i, j] = x[i, j] / s[i]"), "it never runs"),
    ],
)
def test_what_gains_nothing_or_must_wait_stays_apart(lines, why):
    found = fused(nest(*lines))
    assert found == "unchanged" or "S2" not in found.partition("sequence")[0], why


def test_in_order_nothing_changes():
    assert fused(nest(*SUM, *DIVIDED, reorder=False)) == "unchanged"


@ps.op
def softmax(x: ps.f32["n", "d"]) -> ps.f32["n", "d"]:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def test_softmax_is_one_parallel_loop():
    done = ps.optimize(softmax, options=ps.Options(fast_math=True, reorder_reductions=True))
    assert done.source.text.count("omp parallel") == 1
    assert "reduction(max:acc) reduction(max:v0)" in done.source.text, "the maximum, and whether there is a NaN"
    assert "e = d <= 4096 ? e_few : malloc(sizeof(float) * d);" in done.source.text, "a row, not a matrix"
    assert "on 4 threads" in done.verify().ways
    for d in (4096, 4097):
        done.verify(n=2, d=d)
    x = np.array([[1, 2, np.nan], [1, 2, np.inf], [0, -np.inf, 0]], np.float32)
    out = np.empty_like(x)
    done(x=x, out=out)
    np.testing.assert_array_equal(out, np.array([[np.nan] * 3, [np.nan] * 3, [0.5, 0, 0.5]], np.float32))
