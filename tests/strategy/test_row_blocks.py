"""Attention is one kernel of a GPU: blocks of rows go from product to product, and scores stay in shared memory."""

from __future__ import annotations

import random

import numpy as np
import pytest

import polysched as ps
from polysched.frontend.op.op import Op, parse_op

TIME = {"dependence_seconds": 100, "solve_seconds": 100, "lower_seconds": 100, "compile_seconds": 300}
FREE = ps.Options(reorder_reductions=True, fast_math=True, **TIME)


def attention(
    n: object = "'n'", d: object = "'d'", *, mask: str = "", weights: str = "e / np.sum(e, axis=2, keepdims=True)"
) -> Op:
    shape = f"ps.f32['h', {n}, {d}]"
    return parse_op(
        "import numpy as np\n"
        f"def attention(q: {shape}, k: {shape}, v: {shape}) -> {shape}:\n"
        "    s = np.einsum('hid,hjd->hij', q, k) * 0.125\n"
        f"{mask}"
        "    e = np.exp(s - np.max(s, axis=2, keepdims=True))\n"
        f"    return np.einsum('hij,hjd->hid', {weights}, v)\n",
        "attention.py",
    )


CAUSAL = "    s = np.where(np.arange(s.shape[1])[:, None] >= np.arange(s.shape[2])[None, :], s, -np.inf)\n"


def test_attention_is_one_kernel():
    done = ps.optimize(attention(128, 64), "cuda", options=FREE)
    (kernel,) = done.source.kernels
    assert kernel.block == (32, 8, 1)
    assert kernel.note == (
        "blocks of 32 x 8 threads; lanes of a warp are added up by shuffles; q, k, v copied to shared memory, "
        "31616 bytes; 16 elements of s in registers; 8 elements of out in registers"
    )
    assert "polysched_malloc" not in done.source.text  # 32 rows of scores, in which their exponentials take their place
    done.verify(h=1)


def test_what_is_used_again_keeps_its_place():
    """Scores are multiplied by their exponentials: these have an array of their own."""
    q, k, v = np.random.default_rng(0).standard_normal((3, 1, 33, 7), np.float32)
    of = attention(33, 7, weights="e * np.sum(e * s, axis=2, keepdims=True)")
    done = ps.optimize(of, "cuda", options=FREE)
    out = np.zeros_like(q)
    done.check(q=q, k=k, v=v, **{done.nest.arrays[-1].name: out}, h=1)
    s = np.einsum("hid,hjd->hij", q, k) * 0.125
    e = np.exp(s - np.max(s, axis=2, keepdims=True))
    expected = np.einsum("hij,hjd->hid", e * np.sum(e * s, axis=2, keepdims=True), v)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_its_script_says_the_same():
    done = ps.optimize(attention(40, 16), "cuda", options=FREE)
    assert ps.optimize(done.nest, "cuda", schedule=done.schedule).source.text == done.source.text


@pytest.mark.parametrize("mask", ["", CAUSAL], ids=["full", "causal"])
@pytest.mark.parametrize("n, d", [(33, 7), (68, 40)])
def test_ragged_sizes(n, d, mask):
    done = ps.optimize(attention(n, d, mask=mask), "cuda", options=FREE)
    assert len(done.source.kernels) == 1 and "polysched_malloc" not in done.source.text
    done.verify(h=1, seconds=300)


@pytest.mark.parametrize("mask", ["", CAUSAL], ids=["full", "causal"])
def test_sizes_that_nobody_knows(mask):
    """Rows of scores may be longer than shared memory: they are in memory, and copied to it in chunks."""
    done = ps.optimize(attention(mask=mask), "cuda", options=FREE)
    (kernel,) = done.source.kernels
    assert "q, k, e, v copied to shared memory" in kernel.note
    for n, d in ((1, 1), (37, 19)):
        done.verify(h=2, n=n, d=d, seconds=300)


def test_its_decisions():
    schedule = ps.optimize(attention(70, 24), "cuda", options=FREE).schedule
    values = {decision.key: decision.value for decision in schedule.decisions}
    assert values == {"fuse_products.i": True, "rows.j": 32, "join.l_5": True, "join.l_7": True}
    fewer = ps.optimize(attention(70, 24), "cuda", schedule=schedule.decide("rows.j", 16))
    assert fewer.source.kernels[0].block == (32, 4, 1)
    fewer.verify(h=1)
    apart = ps.optimize(attention(70, 24), "cuda", schedule=schedule.decide("fuse_products.i", False))
    assert len(apart.source.kernels) == 3


def test_heads_of_batches_and_cross_attention():
    op = parse_op(
        "import numpy as np\n"
        "def f(q: ps.f64['b', 'h', 'n', 20], k: ps.f64['b', 'h', 40, 20], v: ps.f64['b', 'h', 40, 24])"
        " -> ps.f64['b', 'h', 'n', 24]:\n"
        "    s = q @ np.swapaxes(k, 2, 3)\n"
        "    e = np.exp(s - np.max(s, axis=3, keepdims=True))\n"
        "    return (e / np.sum(e, axis=3, keepdims=True)) @ v\n",
        "heads.py",
    )
    done = ps.optimize(op, "cuda", options=FREE)
    assert len(done.source.kernels) == 1
    done.verify(b=2, h=1, n=35)


def test_opencl_adds_up_through_memory():
    done = ps.optimize(attention(40, 16), "opencl", options=FREE)
    assert len(done.source.kernels) == 1
    done.verify(h=1)


def test_scores_that_are_used_again_keep_their_place():
    weights = "(e / np.sum(e, axis=2, keepdims=True) + s)"
    done = ps.optimize(attention(40, 16, weights=weights), "cuda", options=FREE)
    assert len(done.source.kernels) == 1
    done.verify(h=1)


def test_a_quotient_of_all_terms_is_made_once():
    fast = ps.optimize(attention(128, 64), "cuda", options=FREE).source.device
    assert fast.count(" / ") == 1 and "out_0[" in fast[fast.index(" / ") - 60 : fast.index(" / ")]
    unknown = ps.optimize(attention("'n'", 64), "cuda", options=FREE)
    device = unknown.source.device
    assert device.count("] / v5[") == 1 and "out_0[" in device[device.index("] / v5[") - 60 : device.index("] / v5[")]
    unknown.verify(h=1, n=35)
    exact = ps.optimize(attention(128, 64), "cuda", options=ps.Options(reorder_reductions=True, **TIME))
    assert "/ v5[" in exact.source.device and "* v_0[" in exact.source.device
    exact.verify(h=1)


def test_in_the_order_of_the_source_products_stay_apart():
    assert len(ps.optimize(attention(128, 64), "cuda").source.kernels) > 1


def test_products_of_many_terms_have_tiles_of_their_own():
    assert len(ps.optimize(attention(128, 512), "cuda", options=FREE).source.kernels) == 3


def test_sums_across_rows_keep_products_apart():
    """Along axis 1, the queries, every row needs all the others."""
    op = parse_op(
        "import numpy as np\n"
        "def f(q: ps.f32['h', 40, 16], k: ps.f32['h', 40, 16], v: ps.f32['h', 40, 16]) -> ps.f32['h', 40, 16]:\n"
        "    s = np.einsum('hid,hjd->hij', q, k)\n"
        "    e = np.exp(s - np.max(s, axis=1, keepdims=True))\n"
        "    return np.einsum('hij,hjd->hid', e / np.sum(e, axis=1, keepdims=True), v)\n",
        "across.py",
    )
    done = ps.optimize(op, "cuda", options=FREE)
    assert len(done.source.kernels) > 1
    done.verify(h=1)


@pytest.mark.parametrize("seed", range(12))
def test_random_rows_between_products(seed):
    rng = random.Random(seed)
    n, m, d, c = (rng.choice((1, 5, 31, 40, 70)) for _ in range(4))
    of_rows = {name: rng.choice((str(size), f"'{name}'")) for name, size in (("n", n), ("m", m), ("d", d), ("c", c))}
    dtype, middle = rng.choice(("f32", "f64")), random_middle(rng)
    op = parse_op(
        "import numpy as np\n"
        "def f(q: ps.{t}['h', {n}, {d}], k: ps.{t}['h', {m}, {d}], v: ps.{t}['h', {m}, {c}])"
        " -> ps.{t}['h', {n}, {c}]:\n"
        "    x = np.einsum('hid,hjd->hij', q, k)\n".format(t=dtype, **of_rows)
        + middle
        + "    return np.einsum('hij,hjd->hid', x, v)\n",
        "random.py",
    )
    done = ps.optimize(op, "cuda", options=FREE)
    sizes = {name: size for name, size in (("n", n), ("m", m), ("d", d), ("c", c)) if of_rows[name].startswith("'")}
    done.verify(h=rng.choice((1, 2)), seconds=300, **sizes)


def random_middle(rng: random.Random) -> str:
    """One to three sums of rows, each with something made of it element by element."""
    lines = []
    for k in range(rng.randint(1, 3)):
        lines.append(f"    m{k} = np.{rng.choice(('sum', 'max', 'mean'))}(x, axis=2, keepdims=True)\n")
        value = rng.choice(("np.exp(-np.abs(x - {0}))", "x * 0.5 - {0}", "x / ({0} * {0} + 1.0)", "np.maximum(x, {0})"))
        lines.append(f"    x = {value.format(f'm{k}')}\n")
    return "".join(lines)
