"""polysched/frontend/tensor/fuse.py and stores.py: one nest for several tensors, and stores that nobody sees."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.ir.nodes import Function
from polysched.ir.text import show

n, m = ps.var("n"), ps.var("m")
A = ps.placeholder((n,), ps.f32, "A")


def text(*outputs: ps.Tensor) -> str:
    return show(ps.function("f", [A], list(outputs)).body)


def halves(first: ps.Tensor, stride: int = 2) -> ps.Tensor:
    E = ps.compute((n,), lambda i: ps.exp(A[i]), "E")
    even = ps.update(first, (n,), lambda i: (stride * i, E[i]), "even")
    return ps.update(even, (n,), lambda i: (stride * i + 1, -E[i]), "out")


def test_stores_that_cover_the_array_are_one_nest_without_its_first_value():
    assert (
        text(halves(ps.compute((2 * n,), lambda i: 0.0, "zero", dtype=ps.f32)))
        == """\
for i in 0..n:
    alloc E: private f32[]
    E[] = exp(A[i])
    out[i * 2] = E[]
    out[i * 2 + 1] = -E[]"""
    )


def test_a_first_value_that_shows_through_stays():
    assert (
        text(halves(ps.compute((2 * n + 1,), lambda i: 0.0, "zero", dtype=ps.f32)))
        == """\
for i in 0..n * 2 + 1:
    out[i] = 0.0f32
for i in 0..n:
    alloc E: private f32[]
    E[] = exp(A[i])
    out[i * 2] = E[]
    out[i * 2 + 1] = -E[]"""
    )
    assert "= 0.0f32" in text(halves(ps.compute((3 * n,), lambda i: 0.0, "zero", dtype=ps.f32), stride=3))


def test_along_an_axis_of_one_element_0_is_its_own_index():
    E = ps.compute((1, n), lambda b, i: ps.exp(A[i]), "E", inline=None)
    first, last = (ps.compute((1, n), lambda b, i, c=c: ps.exp(E[0, i] * c), f"D{c}") for c in (2.0, 3.0))
    assert text(first, last).count("for ") == 2


def test_stores_to_one_element_stay_in_order():
    zero = ps.compute((n + 1,), lambda i: 0.0, "zero", dtype=ps.f32)
    first = ps.update(zero, (n,), lambda i: (i + 1, A[i]), "first")
    last = ps.update(first, (n,), lambda i: (i, -A[i]), "last")
    assert (
        text(last)
        == """\
for i in 0..n + 1:
    last[i] = 0.0f32
for i in 0..n:
    last[i + 1] = A[i]
for i in 0..n:
    last[i] = -A[i]"""
    )


def test_an_update_combines_by_few_operators():
    with pytest.raises(ps.InputError) as error:
        ps.update(A, (n,), lambda i: (i, 1), "U", op="-")  # type: ignore[arg-type]
    assert f"{error.value.message}; {error.value.hint}" == (
        "an update cannot combine by '-'; op is one of '', '+', '*', 'min', 'max'"
    )
    U = ps.update(A, (n,), lambda i: (i // 2, A[i]), "U", op="max")
    assert "U[floordiv(i, 2)] = max(U[floordiv(i, 2)], A[i])" in text(U)


def test_a_read_of_another_iteration_s_element_keeps_nests_apart():
    E = ps.compute((n,), lambda i: ps.exp(A[i]), "E")
    D = ps.compute((n,), lambda i: E[n - 1 - i] + E[i], "D")
    assert text(D).count("for i in 0..n:") == 2


@ps.nest
def decoder(out: ps.f32[n, 4 * m], boxes: ps.f32[n, 4], offset: ps.f32[n, 4 * m], n: ps.size, m: ps.size):
    for i in range(n):
        for k in range(m):
            w = boxes[i, 2] - boxes[i, 0]
            h = boxes[i, 3] - boxes[i, 1]
            x = offset[i, 4 * k] * w + (boxes[i, 0] + 0.5 * w)
            y = offset[i, 4 * k + 1] * h + (boxes[i, 1] + 0.5 * h)
            pw = np.exp(offset[i, 4 * k + 2]) * w
            ph = np.exp(offset[i, 4 * k + 3]) * h
            out[i, 4 * k] = x - 0.5 * pw
            out[i, 4 * k + 1] = y - 0.5 * ph
            out[i, 4 * k + 2] = x + 0.5 * pw
            out[i, 4 * k + 3] = y + 0.5 * ph


def decoded() -> Function:
    boxes, offset = ps.placeholder((n, 4), ps.f32, "boxes"), ps.placeholder((n, 4 * m), ps.f32, "offset")
    out = ps.compute((n, 4 * m), lambda i, k: 0, "empty", dtype=ps.f32)
    extent = [ps.compute((n,), lambda i, d=d: boxes[i, 2 + d] - boxes[i, d], f"extent{d}") for d in (0, 1)]
    centre = [ps.compute((n,), lambda i, d=d: boxes[i, d] + 0.5 * extent[d][i], f"centre{d}") for d in (0, 1)]
    place = [
        ps.compute((n, m), lambda i, k, d=d: offset[i, 4 * k + d] * extent[d][i] + centre[d][i], f"place{d}")
        for d in (0, 1)
    ]
    size = [
        ps.compute((n, m), lambda i, k, d=d: ps.exp(offset[i, 4 * k + 2 + d]) * extent[d][i], f"size{d}")
        for d in (0, 1)
    ]
    for part in range(4):
        d, sign = part % 2, -0.5 if part < 2 else 0.5

        def side(i: ps.Value, k: ps.Value, part: int = part, d: int = d, sign: float = sign):
            return (i, 4 * k + part), place[d][i, k] + sign * size[d][i, k]

        out = ps.update(out, (n, m), side, f"out{part}" if part < 3 else "out")
    return ps.function("decode", [boxes, offset], [out])


@pytest.mark.parametrize(
    ("offset", "wanted"),
    [([0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 10.0, 20.0]), ([0.1, 0.2, np.log(2), 0.0], [-4.0, 4.0, 16.0, 24.0])],
)
def test_the_box_decoder_is_one_nest(offset, wanted):
    function = decoded()
    assert show(function.body).count("for ") == 2
    out = np.full((1, 4), np.nan, np.float32)
    boxes = np.array([[0, 0, 10, 20]], np.float32)
    ps.optimize(function)(boxes=boxes, offset=np.array([offset], np.float32), out=out)
    np.testing.assert_allclose(out[0], wanted, rtol=1e-6, atol=1e-6)


def test_the_box_decoder_is_one_kernel():
    done = ps.optimize(decoded(), "cuda")
    assert len(done.source.kernels) == 1
    assert "cudaMalloc" not in done.source.text
    done.verify(n=5, m=3)


def test_the_box_decoder_computes_what_the_loops_compute():
    rng = np.random.default_rng(0)
    boxes, offset = rng.uniform(0, 9, (3, 4)).astype(np.float32), rng.uniform(-1, 1, (3, 8)).astype(np.float32)
    results = []
    for function in (decoded(), decoder.function):
        results.append(np.zeros((3, 8), np.float32))
        ps.interpret(function, {"n": 3, "m": 2, "boxes": boxes, "offset": offset, "out": results[-1]})
    np.testing.assert_array_equal(*results)
