"""F3: a scheduling problem that outgrows its budget ends in a named fallback, never in a hang."""

# ruff: noqa: F821 - nests are not ordinary Python: annotations name sizes by texts

import pytest

import polysched as ps
from polysched.model.tree.nodes import Parallel, marks_in


@ps.nest
def winograd(
    out: ps.f64["B", "C", 56, 56],
    t: ps.f64["C", "196 * B", 4, 4],
    d: ps.f64["C", "196 * B"],
    B: ps.size,
    C: ps.size,
):
    for c in range(C):
        for p in range(196 * B):
            for vh in range(4):
                for vw in range(4):
                    t[c, p, vh, vw] = d[c, p] * 0.5 + (vh - vw)
    for n in range(B):
        for c in range(C):
            for h in range(56):
                for w in range(56):
                    out[n, c, h, w] = t[c, 196 * n + h // 4 * 14 + w // 4, h % 4, w % 4]


@pytest.mark.parametrize("scheduler", ["pluto", "isl"])
def test_F3_nested_floor_and_modulo_end_within_the_budget_and_say_how(scheduler):
    done = ps.optimize(winograd, options=ps.Options(scheduler=scheduler, solve_seconds=1.0))
    assert done.rungs["schedule"] in ("pluto", "isl", "source order with parallel loops found")
    assert done.rungs["mapping"] == "mapped"
    assert Parallel() in marks_in(done.tree)
    done.verify(B=1, C=1)
