"""Acceptance E7: a 4x8 matrix times an 8x1 vector as two calls of a 4x4 by 4x1 instruction, whose results are added."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps


@ps.nest
def matvec4(y: ps.f64[4], A: ps.f64[4, 4], x: ps.f64[4]):
    for i in range(4):
        for k in range(4):
            y[i] += A[i, k] * x[k]


TEXT = """
for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++)
        y[i * y_0] += A[i * A_0 + k * A_1] * x[k * x_0];
"""


@ps.nest
def product(y: ps.f64[4], A: ps.f64[4, 8], x: ps.f64[8]):
    for i in range(4):
        for k in range(8):
            y[i] += A[i, k] * x[k]


@ps.nest
def across(y: ps.f64[4], A: ps.f64[4, 8], B: ps.f64[4, 8]):
    for i in range(4):
        for k in range(8):
            y[i] += A[i, k] * B[i, k]


def test_E7_two_calls_accumulate():
    instruction = ps.instruction(matvec4, TEXT)
    schedule = ps.Schedule(product).tile("k", sizes=(4,)).reorder("k_o", "i", "k").tensorize("i", "k", instruction)
    done = ps.optimize(product, schedule=schedule)
    assert done.declined == () and done.fallbacks == {}
    body = done.source.text.partition("void product(")[2]
    assert body.splitlines()[2:5] == [
        "    for (int64_t c0 = 0; c0 < 2; c0++) {",
        "        polysched_matvec4(&y[0], &A[c0 * 4], &x[c0 * 4], 1, 8, 1, 1);",
        "    }",
    ]
    rng = np.random.default_rng(0)
    y, A, x = rng.integers(-9, 9, 4) * 1.0, rng.integers(-9, 9, (4, 8)) * 1.0, rng.integers(-9, 9, 8) * 1.0
    expected = y + A @ x
    done(y=y, A=A, x=x)
    np.testing.assert_array_equal(y, expected)
    done.verify()


def test_E7_a_mismatch_shows_both_access_patterns():
    ps.instruction(matvec4, TEXT)
    tiles = ps.Schedule(across).tile("k", sizes=(4,)).reorder("k_o", "i", "k")
    with pytest.raises(ps.InputError) as refused:
        tiles.tensorize("i", "k", "matvec4")
    assert str(refused.value) == (
        "S is not what matvec4 does: B[i, k] moves along 'i', and x[k] stands still along i\n"
        "  matvec4  y[i] = y[i] + A[i, k] * x[k]   for i in 0..4, k in 0..4\n"
        "  S        y[i] = y[i] + A[i, k] * B[i, k]\n"
        "hint: name the loops in the order of the instruction's, or split the statement"
    )
