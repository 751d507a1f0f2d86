"""Operators as researchers write them, compiled: gathers, scatters, and subscripts that are not affine in the sizes."""

import random

import numpy as np
import pytest
from op_programs import agree, run_numpy

import polysched as ps
from polysched.errors import InputError
from polysched.frontend.op.op import parse_op
from polysched.ir.interp import evaluate
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc
from polysched.model.extract import extract
from polysched.plan.prepare import prepared

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


RESHAPES = [
    "z.reshape(-1) * 2",
    "z.T.reshape(-1)[::-1]",
    "z.reshape(-1)[3:] + z.T.reshape(-1)[:-3]",
    "z.reshape(z.shape[1], -1)",
    "z.reshape(z.shape[1], -1) @ z[::-1].reshape(z.shape)",
    "np.exp(w).reshape(z.shape).sum(1) + z[:, 0]",
    "w.reshape(z.shape) * z, w.reshape(z.T.shape) + z.T, w[::2]",
    "z.reshape(-1) + z.T.reshape(-1)",
    "np.cumsum(z.T)",
    "z.T.argmax(), z.argmin()",
    "np.dot(z.ravel(), z.T.ravel())",
    "np.convolve(z.T.reshape(-1), z[0])",
    "np.pad(z.T.reshape(-1), 2)",
    "z.T.reshape(-1)[i]",
    "z[1:, ::2].T.reshape(-1)",
    "q.reshape(q.shape[0], 3, -1), q.transpose(2, 0, 1).reshape(-1, 6)",
]


@pytest.mark.parametrize("body", RESHAPES)
def test_reshapes_of_symbolic_axes(body):
    """They get no arrays of subscripts."""
    parameters = {"z": "ps.f32['n', 'm']", "w": "ps.f32['n * m']", "q": "ps.f32['n', 6, 'm']", "i": "ps.i64['k']"}
    used = {name: kind for name, kind in parameters.items() if f"{name}." in body or f"{name}[" in body}
    used |= {name: parameters[name] for name in "wi" if f"({name})" in body or f"[{name}]" in body}
    text = f"def f({', '.join(f'{name}: {kind}' for name, kind in used.items())}):\n    return {body}"
    op = parse_op(text, "f.py")
    assert not any(array.dtype.is_integer for array in local_arrays(op))
    done = ps.optimize(op)
    for n, m in ((7, 5), (1, 4), (4, 1), (6, 6)):
        sizes = {"n": n, "m": m, "k": 3}
        shapes = {array.name: [evaluate(extent, sizes) for extent in array.shape] for array in op.nest.arrays}
        given = {name: RANDOM.integers(0, 4, shapes[name]).astype("f4") for name in used if name != "i"}
        given |= {"i": np.array([0, 3, 1])} if "i" in used else {}
        out = {array.name: np.full(shapes[array.name], 7, array.dtype.numpy) for array in new_arrays(op, given)}
        done(**given, **out)
        for name, expected in zip(op.results, run_numpy(text, given)[0], strict=True):
            np.testing.assert_allclose(out[name], expected, rtol=1e-5, err_msg=f"{name} for {sizes}")


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (0, 0)])
def test_reshapes_of_nothing(sizes):
    parameters = "z: ps.f32['n', 'm'], w: ps.f32['n * m']"
    op = parse_op(f"def f({parameters}):\n    return z.T.reshape(-1), w.reshape(z.shape)", "f.py")
    out = {"out0": np.zeros(0, "f4"), "out1": np.zeros(sizes, "f4")}
    ps.optimize(op)(z=np.zeros(sizes, "f4"), w=np.zeros(0, "f4"), **out)


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("body", ["z.T.reshape(-1)[::-1] * 2", "z.reshape(z.shape[1], -1)", "z.T.argmax()"])
def test_reshapes_verify(body, target):
    op = parse_op(f"def f(z: ps.f32['n', 'm']):\n    return {body}", "f.py")
    assert "equal to the interpreted nest" in str(ps.optimize(op, target).verify())


STEPS = [
    ".T", ".reshape(-1)", ".reshape(n, -1)", ".reshape(-1, m)", ".reshape(m, n, -1)", ".reshape(k, -1)", "[::-1]",
    "[1:]", "[..., ::2]", "[None]", ".swapaxes(0, -1)", ".cumsum(0)", ".sum(0)", " * 2",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_random_views_read_what_numpy_reads_and_can_be_compiled(seed):
    rng = random.Random(seed)
    body = "z"
    for _ in range(rng.randrange(2, 6)):
        body = f"({body}{rng.choice(STEPS)})"
    text = f"def f(z: ps.f64['n', 'm', 'k']):\n    n, m, k = z.shape\n    return {body}"
    sizes = rng.choice([{"n": 2, "m": 3, "k": 4}, {"n": 3, "m": 2, "k": 2}, {"n": 1, "m": 4, "k": 1}])
    z = np.arange(float(np.prod([*sizes.values()]))).reshape([*sizes.values()])
    try:
        run_numpy(text, {"z": z})
        parse_op(text, "f.py")
    except (ValueError, IndexError, InputError):  # of no such shape for these sizes, or not for all
        return
    extract(prepared(agree(text, sizes, z=z).nest))


def test_loops_over_merged_axes_are_taken_apart():
    op = parse_op("def f(z: ps.f64['n', 'm']):\n    return z.T.reshape(-1)[::-1] * 2", "f.py")
    text = str(ps.optimize(op).source)
    assert "#pragma omp parallel for" in text and "%" not in text and "malloc" not in text


def local_arrays(op):
    return [node.array for node in walk(op.nest.body) if isinstance(node, Alloc) and node.array.shape]


def new_arrays(op, given):
    return [array for array in op.nest.arrays if array.name not in given]
