"""Blocks of iterations, rejoined."""

# ruff: noqa: F821 - nests are not ordinary Python: annotations name sizes by texts

import random
from dataclasses import replace

import numpy as np
import pytest

import polysched as ps
from polysched.ir.build import add, binary, floordiv, load, mul, store, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.nodes import Array, Expr, For, Function, If
from polysched.ir.rename import fresh_names
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.prelude.structure.forward import forward_indices
from polysched.prelude.structure.rejoin import rejoined
from polysched.prelude.structure.unfuse import unfuse
from tests.nests import loop, nest, outcome

size = ps.size
h, w, b, t = (var(name) for name in "hwbt")
TOTAL = mul(h, w)


def whole(fn: Function) -> Function:
    taken, _ = rejoined(fn, fresh_names("p", set()))
    verify(taken, "source")
    return taken


def blocks(
    count: Expr, index: Expr, *, guard: Expr | None = None, width: int = 4, value: Expr | None = None
) -> Function:
    out = Array("out", i64, (TOTAL,))
    body = store(out, (index,), add(load(out, index), index if value is None else value))
    threads = loop("t", 0, width, If(binary("<", index, TOTAL) if guard is None else guard, (body,)))
    return nest("f", "h w", [out], loop("b", 0, count, threads))


UP, INDEX = floordiv(add(TOTAL, 3), 4), add(mul(b, 4), t)


def test_one_loop():
    fn = blocks(UP, INDEX)
    assert show(fn.body[0]).splitlines() == [
        "for b in 0..floordiv(h * w + 3, 4):",
        "    for t in 0..4:",
        "        if b * 4 + t < h * w:",
        "            out[b * 4 + t] = out[b * 4 + t] + (b * 4 + t)",
    ]
    assert show(whole(fn).body[0]) == "for p0 in 0..h * w:\n    out[p0] = out[p0] + p0"


@pytest.mark.parametrize(
    "fn",
    [
        blocks(binary("truncdiv", add(TOTAL, 3), 4), INDEX),
        blocks(floordiv(sub(add(TOTAL, 4), 1), 4), INDEX),
        blocks(add(floordiv(sub(TOTAL, 1), 4), 1), INDEX),
        blocks(floordiv(add(mul(w, h), 3), 4), INDEX, guard=binary(">", TOTAL, INDEX)),
        blocks(UP, add(t, mul(4, b))),
    ],
    ids=show,
)
def test_other_ways_to_write_it(fn):
    assert whole(fn) is not fn
    assert_same(fn, whole(fn))


@pytest.mark.parametrize(
    "fn",
    [
        blocks(floordiv(TOTAL, 4), INDEX),  # the last block is missing
        blocks(floordiv(add(TOTAL, 4), 4), INDEX),  # one more than is needed: it might be, but nobody writes that
        blocks(floordiv(add(h, 3), 4), INDEX),
        blocks(floordiv(add(TOTAL, 7), 8), INDEX),
        blocks(UP, add(mul(b, 3), t)),
        blocks(UP, add(mul(t, 4), b)),
        blocks(UP, INDEX, value=t),
        blocks(UP, INDEX, guard=binary("<=", INDEX, TOTAL)),
        blocks(UP, INDEX, guard=binary("<", INDEX, add(TOTAL, t))),
    ],
    ids=show,
)
def test_what_is_left(fn):
    assert whole(fn) is fn


def test_kinds():
    (outer,) = blocks(UP, INDEX).body
    assert isinstance(outer, For)
    (inner,) = outer.body
    kinds = {("serial", "serial"): "serial", ("block.x", "thread.x"): "parallel", ("parallel", "serial"): None}
    for (one, other), expected in kinds.items():
        fn = replace(blocks(UP, INDEX), body=(replace(outer, kind=one, body=(replace(inner, kind=other),)),))
        (loop_,) = whole(fn).body
        assert (loop_.kind if whole(fn) is not fn else None) == expected


def assert_same(fn: Function, other: Function) -> None:
    for sizes in ({"h": 0, "w": 3}, {"h": 1, "w": 1}, {"h": 2, "w": 4}, {"h": 3, "w": 5}):
        start = {"out": np.array([random.Random(1).randint(0, 9) for _ in range(sizes["h"] * sizes["w"])], np.int64)}
        np.testing.assert_array_equal(outcome(fn, sizes | start)["out"], outcome(other, sizes | start)["out"])


@ps.nest
def threads(a: ps.f32["h", "w"], out: ps.f32["h * w"], h: size, w: size):
    for b in range((h * w + 255) // 256):
        for t in range(256):
            idx = b * 256 + t
            if idx < h * w:
                y = idx // w
                x = idx % w
                out[idx] = a[y, x]


def test_then_it_is_taken_apart():
    assert [show(stmt) for stmt in unfuse(threads.function).body] == [
        "for y in 0..h:\n    for x in 0..w:\n        out[y * w + x] = a[y, x]"
    ]
    assert forward_indices(threads.function)[1]
    ps.optimize(threads, "cuda").verify(h=3)


def test_a_size_alone_is_no_reason():
    """It is affine as it is."""

    @ps.nest
    def guarded(out: ps.f32["n"], n: ps.size):
        for b in range((n + 255) // 256):
            for t in range(256):
                if b * 256 + t < n:
                    out[b * 256 + t] = 1.0

    assert unfuse(guarded.function) is guarded.function
