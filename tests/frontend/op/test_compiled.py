"""Operators as researchers write them, compiled: gathers, scatters, and subscripts that are not affine in the sizes."""

import numpy as np
import pytest
from op_programs import run_numpy

import polysched as ps
from polysched.frontend.op.op import parse_op
from polysched.ir.interp import evaluate

SIZES = {"n": 7, "m": 5, "k": 3}
RANDOM = np.random.default_rng(0)
Z, BOXES, CENTRES = RANDOM.random((7, 5)), RANDOM.random((7, 4)), RANDOM.random((3, 5))

KMEANS = """\
def f(z: ps.f64["n", "m"], c: ps.f64["k", "m"]):
    nearest = ((z[:, None, :] - c[None, :, :]) ** 2).sum(-1).argmin(1)
    total = np.zeros(c.shape)
    np.add.at(total, nearest, z)
    n = np.zeros((len(c), 1))
    np.add.at(n, nearest, 1)
    return total / np.maximum(n, 1), nearest
"""
OVERLAP = """\
def f(a: ps.f64["n", 4], b: ps.f64["k", 4]):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(-1)
    area_a, area_b = np.prod(a[:, 2:] - a[:, :2], axis=-1), np.prod(b[:, 2:] - b[:, :2], axis=-1)
    return shared / (area_a[:, None] + area_b - shared)
"""


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (KMEANS, {"z": Z, "c": CENTRES}),
        (OVERLAP, {"a": BOXES, "b": BOXES[:3] + 0.1}),
        ("def f(z: ps.f64['n', 'm']):\n    return np.roll(z, 2, axis=0) + np.roll(z, -1, 1)", {"z": Z}),
        ("def f(z: ps.f64['n', 'm']):\n    return np.exp(z).T.reshape(-1)", {"z": Z}),
        ("def f(z: ps.f64['n', 'm']):\n    return z.max(axis=1), np.pad(z, 1, mode='reflect')", {"z": Z}),
        ("def f(z: ps.f64['n', 'm'], i: ps.i64[4]):\n    return (z[i, 1:] ** 2).sum(1)", {"z": Z, "i": [3, 0, -1, 3]}),
    ],
)
def test_compiled_as_numpy(text, given):
    given = {name: np.array(value) for name, value in given.items()}
    op = parse_op(text, "f.py")
    out = {
        array.name: np.full([evaluate(extent, SIZES) for extent in array.shape], 7, array.dtype.numpy)
        for array in op.nest.arrays
        if array.name not in given
    }
    ps.optimize(op)(**given, **out)
    for name, expected in zip(op.results, run_numpy(text, given)[0], strict=True):
        assert np.allclose(out[name], expected), name


def test_a_reshape_that_is_not_quasi_affine_has_its_subscripts_in_arrays():
    op = parse_op("def f(z: ps.f64['n', 'm']):\n    return z.reshape(-1) * 2", "f.py")
    assert [str(stmt) for stmt in op.nest.body[2:]] == [
        "for i in 0..m * n:\n    v0_at0[i] = floordiv(i, m)",
        "for i in 0..m * n:\n    v0_at1[i] = floormod(i, m)",
        "for i in 0..m * n:\n    out[i] = z[v0_at0[i], v0_at1[i]] * 2.0",
    ]
