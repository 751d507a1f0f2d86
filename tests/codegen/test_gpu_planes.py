"""polysched/codegen/gpu/planes.py: four or more dimensions of blocks on the three of a grid."""

# mypy: ignore-errors
# ruff: noqa: F821

from __future__ import annotations

from nests import loop, nest

import polysched as ps
from polysched.codegen.gpu.planes import fold_planes
from polysched.ir.build import add, load, store, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array
from polysched.ir.text import show

i, j, m, n = (var(name) for name in "ijmn")
A = Array("A", f64, (n, m))


def test_two_loops_over_blocks_are_one():
    inner = loop("j", 1, m, store(A, (i, j), 1.0), kind="block.z")
    assert show(fold_planes(nest("fill", "n m", [A], loop("i", 0, n, inner, kind="block.w")))) == (
        "def fill(n: size, m: size, A: f64[n, m]):\n"
        "    for f0 in 0..max(n, 0) * max(m - 1, 0) (block.z):\n"
        "        j = 1 + floormod(f0, max(m - 1, 0))\n"
        "        i = floordiv(f0, max(m - 1, 0))\n"
        "        A[i, j] = 1.0"
    )


def test_three_loops_over_blocks_are_one():
    k = var("k")
    B = Array("B", f64, (n, m, n))
    inner = loop("j", 0, m, loop("k", 0, n, store(B, (i, j, k), 1.0), kind="block.z"), kind="block.w")
    assert show(fold_planes(nest("fill", "n m", [B], loop("i", 1, n, inner, kind="block.w"))).body) == (
        "for f1 in 0..max(max(n - 1, 0) * max(m, 0), 0) * max(n, 0) (block.z):\n"
        "    k = floormod(f1, max(n, 0))\n"
        "    f0 = floordiv(f1, max(n, 0))\n"
        "    j = floormod(f0, max(m, 0))\n"
        "    i = 1 + floordiv(f0, max(m, 0))\n"
        "    B[i, j, k] = 1.0"
    )


def test_a_loop_without_one_inside_that_stands_still_is_serial():
    inner = loop("j", i, m, store(A, (i, j), 1.0), kind="block.z")
    folded = fold_planes(nest("fill", "n m", [A], loop("i", 0, n, inner, kind="block.w")))
    assert [line.strip() for line in show(folded).splitlines()[1:3]] == ["for i in 0..n:", "for j in i..m (block.z):"]
    alone = nest("fill", "n", [A], loop("i", 0, n, store(A, (i, add(i, 0)), load(A, i, i)), kind="block.w"))
    assert show(fold_planes(alone)).splitlines()[1] == "    for i in 0..n:"


@ps.nest
def convolution(
    out: ps.f32[N, K, H, W], data: ps.f32[N, C, H, W], weight: ps.f32[K, C],
    N: ps.size, K: ps.size, C: ps.size, H: ps.size, W: ps.size,
):  # fmt: skip
    for n in range(N):
        for k in range(K):
            for h in range(H):
                for w in range(W):
                    for c in range(C):
                        out[n, k, h, w] += data[n, c, h, w] * weight[k, c]


def test_all_of_a_batch_of_images_is_on_the_grid():
    done = ps.optimize(convolution, target="cuda")
    (kernel,) = done.source.kernels
    assert [str(extent) for extent in kernel.grid] == [
        "floordiv(W - 1, 128) + 1",
        "floordiv(K - 1, 64) + 1",
        "N * H",
    ]
    done.verify(N=2, K=3, C=2, H=3, W=5)
