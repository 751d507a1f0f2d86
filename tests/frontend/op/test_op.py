"""Operators from Python to nests: the stages, NumPy's meaning, golden values."""

import random

import numpy as np
import pytest
from op_programs import agree, random_program, run_nest

import polysched as ps
from polysched.frontend.op.op import parse_op
from polysched.ir.node import walk
from polysched.ir.nodes import For

DECODE = """\
def decode(boxes: ps.f32["N", 4], offset: ps.f32["N", "4*K"]) -> ps.f32["N", "4*K"]:
    x1, y1, x2, y2 = boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3]
    widths = x2 - x1
    heights = y2 - y1
    ctr_x = x1 + 0.5 * widths
    ctr_y = y1 + 0.5 * heights
    dx, dy, dw, dh = offset[:, 0::4], offset[:, 1::4], offset[:, 2::4], offset[:, 3::4]
    pred_ctr_x = dx * widths[:, None] + ctr_x[:, None]
    pred_ctr_y = dy * heights[:, None] + ctr_y[:, None]
    pred_w = np.exp(dw) * widths[:, None]
    pred_h = np.exp(dh) * heights[:, None]
    out = np.zeros(offset.shape, dtype=np.float32)
    out[:, 0::4] = pred_ctr_x - 0.5 * pred_w
    out[:, 1::4] = pred_ctr_y - 0.5 * pred_h
    out[:, 2::4] = pred_ctr_x + 0.5 * pred_w
    out[:, 3::4] = pred_ctr_y + 0.5 * pred_h
    return out
"""


def test_the_stages_of_a_small_operator():
    op = parse_op(
        """\
def scaled(x: ps.f32["n", "2*k"], by: ps.f32["n"]):
    out = np.zeros(x.shape, np.float32)
    out[:, ::2] = x[:, 1::2] * by[:, None]
    out[:, 1::2] = abs(x[:, ::2])
    return out
""",
        "scaled.py",
    )
    assert (
        str(op.ssa)
        == """\
graph scaled(%x: f32[n, k * 2], %by: f32[n]):
    %out = Const() {value = 0.0f32} : f32[n, k * 2]
    %v0 = Slice(%x) {at = [:, 1::2]} : f32[n, k]
    %v1 = Slice(%by) {at = [:, None]} : f32[n, 1]
    %v2 = BinaryType::Mul(%v0, %v1) : f32[n, k]
    %out_1 = Update(%out, %v2) {at = [:, ::2]} : f32[n, k * 2]
    %v3 = Slice(%x) {at = [:, ::2]} : f32[n, k]
    %v4 = UnaryType::Abs(%v3) : f32[n, k]
    %out_2 = Update(%out_1, %v4) {at = [:, 1::2]} : f32[n, k * 2]
    yield %out_2"""
    )
    assert (
        str(op.nest)
        == """\
def scaled(x: f32[n, k * 2], by: f32[n], out: f32[n, k * 2], n: size, k: size):
    for i in 0..n:
        for j in 0..k:
            out[i, j * 2] = x[i, j * 2 + 1] * by[i]
            out[i, j * 2 + 1] = fabs(x[i, j * 2])"""
    )
    assert "    out_1[i, j * 2] = v2[i, j] for i < n, j < k" in str(op.tensor)


def test_kinds_of_operations():
    op = parse_op(
        "def f(v: ps.f32['n'], x: ps.f32['n'], y: ps.f32['n']):\n"
        "    return abs(v), v + x, np.where(v > 0, x, y), ps.relu(v), frobnicate(v)",
        "kinds.py",
    )
    kinds = [line.split(" = ", 1)[1].split(" : ")[0] for line in str(op.ssa).splitlines()[1:-1]]
    assert kinds == [
        "UnaryType::Abs(%v)",
        "BinaryType::Add(%v, %x)",
        "Const() {value = 0.0f32}",
        "BinaryType::Gt(%v, %v2)",
        "Select(%v3, %x, %y)",
        "SpecFunc::Relu(%v)",
        "DeviceCall(%v) {name = frobnicate}",
    ]
    assert op.results == ("out0", "out1", "out2", "out3", "out4")


# --- the box decoder


@pytest.mark.parametrize(
    ("offset", "expected"), [([0, 0, 0, 0], [0, 0, 10, 20]), ([0.1, 0.2, np.log(2), 0], [-4, 4, 16, 24])]
)
def test_box_decoder(offset, expected):
    given = {"boxes": np.array([[0, 0, 10, 20]], np.float32), "offset": np.array([offset], np.float32)}
    op = agree(DECODE, sizes={"N": 1, "K": 1}, **given)
    out = run_nest(op, given, {"N": 1, "K": 1})["out"]
    assert np.allclose(out, [expected], atol=1e-5)


def test_box_decoder_is_one_kernel_that_stores_each_element_once():
    op = parse_op(DECODE, "decode.py")
    text = str(op.nest)
    assert text.count("for i in") == 1 and text.count("for j in") == 1
    assert text.count("out[i, ") == 4 and "private f32[N" not in text
    source = ps.optimize(op, "cuda").source
    assert len(source.kernels) == 1


def test_box_decoder_compiled():
    generator = np.random.default_rng(0)
    boxes, offset = generator.random((7, 4), np.float32), generator.random((7, 12), np.float32)
    out = np.empty_like(offset)
    ps.optimize(parse_op(DECODE, "decode.py"))(boxes=boxes, offset=offset, out=out)
    expected = run_nest(parse_op(DECODE, "decode.py"), {"boxes": boxes, "offset": offset}, {"N": 7, "K": 3})
    assert np.allclose(out, expected["out"])


# --- aliases, as NumPy has them


def test_a_slice_is_read_before_it_is_overwritten():
    op = agree("def f(a: ps.i64['n']):\n    a[1:] = a[:-1] + 1", sizes={"n": 4}, a=np.zeros(4, np.int64))
    assert list(run_nest(op, {"a": np.zeros(4, np.int64)}, {"n": 4})["a"]) == [0, 1, 1, 1]
    assert "alloc" in str(op.nest)


def test_a_scalar_loop_reads_what_it_has_written():
    text = "def f():\n    a = np.zeros(4, np.int64)\n    for i in range(3):\n        a[i + 1] = a[i] + 1\n    return a"
    assert list(run_nest(agree(text), {}, {})["a"]) == [0, 1, 2, 3]


def test_even_elements_take_the_odd_ones_in_place():
    op = agree("def f(a: ps.f64['2*n']):\n    a[::2] += a[1::2]", sizes={"n": 3}, a=np.arange(6.0))
    assert (
        str(op.nest)
        == """\
def f(a: f64[n * 2], n: size):
    for i in 0..n:
        a[i * 2] = a[i * 2] + a[i * 2 + 1]"""
    )


@pytest.mark.parametrize(
    "body",
    [
        "a[...] = a[::-1]",
        "b = a[::2]\n    b += 1\n    a[0] = 7\n    return b * 2",
        "b = a\n    b *= 2\n    return a - 1",
        "a[1:-1] = a[:-2] + a[2:]",
        "b = a.reshape(1, -1)\n    b[0, 2] = 5\n    return a + 0",
        "a[a > 2] = 0\n    a[1:][::2] -= 1",
        "c = a.copy()\n    c += 1\n    return c",
    ],
)
def test_views_share_memory(body):
    agree(f"def f(a: ps.f64['n']):\n    {body}", sizes={"n": 5}, a=np.arange(5.0))


# --- NumPy's functions


@pytest.mark.parametrize(
    "expression",
    [
        "x[:, 1::2]", "x[:, ::-1]", "x[-2:]", "x[..., 0]", "x[:, None]", "x[7:2]", "x[:-9]", "x[-9:3:2]", "x.T",
        "np.stack([x[0], x[1], x[2]], axis=1)", "np.concatenate([x, x + 1], axis=1)", "x.reshape(-1)",
        "x.reshape(2, 2, -1)", "np.pad(x, ((1, 0), (2, 3)), constant_values=4)", "np.where(x > 2, x, -x)",
        "x.sum()", "x.sum(axis=0)", "x.mean(axis=1, keepdims=True)", "x.max(axis=-1)", "(x > 3).any(axis=0)",
        "(x > 3).all()", "x.argmax(axis=1)", "x.argmin()", "np.cumsum(x, axis=1)", "np.cumsum(x)", "x @ x.T",
        "np.einsum('ij,kj->ik', x, x)", "np.einsum('ij->j', x)", "x.astype(np.int32) // 2", "x / 2 + 1",
        "x[idx]", "x[idx, idx]", "x[:, idx]", "np.var(x, axis=0)", "np.exp(x - x.max(axis=1, keepdims=True))",
        "np.clip(x, 1, 3)", "x ** 2", "np.sqrt(x)", "np.maximum(x, 2)", "np.arange(4) * x", "np.outer(x[0], x[1])",
        "x[np.array([-1, 0])]", "np.full((2, 3), 1.5)", "np.swapaxes(x, 0, 1)[1:]",
    ],
)  # fmt: skip
def test_functions_of_numpy(expression):
    x = np.array([[3, 1, 3, 2], [5, 0, 5, 5], [4, 4, 1, 0], [2, 6, 6, 1]], np.float64)
    text = f"def f(x: ps.f64[4, 4], idx: ps.i32['n']):\n    return {expression}"
    agree(text, x=x, idx=np.array([3, 0, -2], np.int32), sizes={"n": 3})


def test_scatter_takes_the_last_and_add_at_takes_all():
    text = """\
def f(x: ps.f64["n"], i: ps.i64["k"], v: ps.f64["k"]):
    y = x.copy()
    y[i] = v
    np.add.at(x, i, v)
    return y
"""
    agree(text, sizes={"n": 4, "k": 3}, x=np.arange(4.0), i=np.array([1, 3, 1]), v=np.array([10.0, 20, 30]))


def test_control_is_decided_while_reading():
    text = """\
def f(x: ps.f32["n", 4], alpha: ps.f32):
    total = x[:, 0]
    for k in range(1, x.shape[1]):
        if k % 2 == 1 and x.ndim == 2:
            total = total + alpha * x[:, k]
    return total / x.shape[0], [x[:, i] for i in (0, 2)][1]
"""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    agree(text, sizes={"n": 3}, x=x, alpha=np.float32(0.5))


def test_reduction_takes_what_it_reduces_in_one_nest():
    op = parse_op("def f(x: ps.f32['n', 'm'], y: ps.f32['m']):\n    return np.sum(x * y + 1, axis=1) / 2", "f.py")
    assert (
        str(op.nest)
        == """\
def f(x: f32[n, m], y: f32[m], out: f32[n], n: size, m: size):
    for i in 0..n:
        out[i] = 0.0f32
        for j in 0..m:
            out[i] = out[i] + (x[i, j] * y[j] + 1.0f32)
        out[i] = out[i] / 2.0f32"""
    )


# --- against NumPy


@pytest.mark.parametrize("seed", range(30))
def test_random_program(seed):
    text, arguments, _ = random_program(random.Random(seed))
    try:
        agree(text, **arguments)
    except OverflowError:
        pytest.skip("a float does not fit in the integer that it is cast to")


def test_a_sum_is_in_the_line_that_says_so():
    op = parse_op(
        """\
def total(x: ps.f64["n", "d"]):
    y = x * 2.0
    s = np.sum(y, axis=1)
    return s + 1.0
""",
        "total.py",
    )
    lines = [loop.loc and loop.loc.line for loop in walk(op.nest.body) if isinstance(loop, For)]
    assert lines == [4, 3]
