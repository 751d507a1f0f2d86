# mypy: ignore-errors
"""Operators with symbolic sizes as a naive user writes them, or as TVM prints them without a schedule.

One iteration for each element of the result, numbered through: its place is taken apart by // and % where it is used,
also in the innermost loop, where padding is a condition: an `if`, or a value of zero, as TVM prints it. `naive/` has
the same in CUDA, with the same parameters.
"""

from __future__ import annotations

import polysched as ps


@ps.nest
def conv2d_nchw(
    out: ps.f32[n * f * oh * ow], data: ps.f32[n, c, h, w], weight: ps.f32[f, c, r, s],
    n: ps.size, c: ps.size, h: ps.size, w: ps.size, f: ps.size, r: ps.size, s: ps.size,
    oh: ps.size, ow: ps.size, pad: ps.size,
):  # fmt: skip
    for p in range(n * f * oh * ow):
        acc = ps.f32(0.0)
        for k in range(c):
            for i in range(r):
                for j in range(s):
                    if 0 <= p // ow % oh + i - pad < h and 0 <= p % ow + j - pad < w:
                        acc += (
                            data[p // (f * oh * ow), k, p // ow % oh + i - pad, p % ow + j - pad]
                            * weight[p // (oh * ow) % f, k, i, j]
                        )
        out[p] = acc


@ps.nest
def conv2d_nhwc(
    out: ps.f32[n * oh * ow * f], data: ps.f32[n, h, w, c], weight: ps.f32[r, s, c, f],
    n: ps.size, h: ps.size, w: ps.size, c: ps.size, r: ps.size, s: ps.size, f: ps.size,
    oh: ps.size, ow: ps.size, pad: ps.size,
):  # fmt: skip
    for p in range(n * oh * ow * f):
        acc = ps.f32(0.0)
        for i in range(r):
            for j in range(s):
                for k in range(c):
                    if 0 <= p // (f * ow) % oh + i - pad < h and 0 <= p // f % ow + j - pad < w:
                        acc += (
                            data[p // (f * ow * oh), p // (f * ow) % oh + i - pad, p // f % ow + j - pad, k]
                            * weight[i, j, k, p % f]
                        )
        out[p] = acc


@ps.nest
def depthwise(
    out: ps.f32[n * c * oh * ow], data: ps.f32[n * c * h * w], weight: ps.f32[c, r, s],
    n: ps.size, c: ps.size, h: ps.size, w: ps.size, r: ps.size, s: ps.size, oh: ps.size, ow: ps.size, pad: ps.size,
):  # fmt: skip
    """What is around the data counts as zero, as TVM prints it; the other convolutions skip it."""
    for p in range(n * c * oh * ow):
        acc = ps.f32(0.0)
        for i in range(r):
            for j in range(s):
                acc += (
                    data[p // (oh * ow) * (h * w) + (p // ow % oh + i - pad) * w + p % ow + j - pad]
                    * weight[p // (oh * ow) % c, i, j]
                    if 0 <= p // ow % oh + i - pad < h and 0 <= p % ow + j - pad < w
                    else ps.f32(0.0)
                )
        out[p] = acc


@ps.nest
def group_conv(
    out: ps.f32[n * g * fg * oh * ow], data: ps.f32[n, g * cg, h, w], weight: ps.f32[g * fg, cg, r, s],
    n: ps.size, g: ps.size, cg: ps.size, fg: ps.size, h: ps.size, w: ps.size, r: ps.size, s: ps.size,
    oh: ps.size, ow: ps.size, pad: ps.size,
):  # fmt: skip
    """Of g groups, each makes fg channels from cg."""
    for p in range(n * g * fg * oh * ow):
        acc = ps.f32(0.0)
        for k in range(cg):
            for i in range(r):
                for j in range(s):
                    if 0 <= p // ow % oh + i - pad < h and 0 <= p % ow + j - pad < w:
                        acc += (
                            data[
                                p // (g * fg * oh * ow),
                                p // (oh * ow) % (g * fg) // fg * cg + k,
                                p // ow % oh + i - pad,
                                p % ow + j - pad,
                            ]
                            * weight[p // (oh * ow) % (g * fg), k, i, j]
                        )
        out[p] = acc


@ps.nest
def transposed_2d(
    out: ps.f32[n * f * oh * ow], data: ps.f32[n, c, h, w], weight: ps.f32[c, f, r, s],
    n: ps.size, c: ps.size, h: ps.size, w: ps.size, f: ps.size, r: ps.size, s: ps.size,
    oh: ps.size, ow: ps.size, pad: ps.size,
):  # fmt: skip
    """With stride 2."""
    for p in range(n * f * oh * ow):
        acc = ps.f32(0.0)
        for k in range(c):
            for i in range(r):
                for j in range(s):
                    if (
                        (p // ow % oh + pad - i) % 2 == 0
                        and (p % ow + pad - j) % 2 == 0
                        and 0 <= (p // ow % oh + pad - i) // 2 < h
                        and 0 <= (p % ow + pad - j) // 2 < w
                    ):
                        acc += (
                            data[p // (f * oh * ow), k, (p // ow % oh + pad - i) // 2, (p % ow + pad - j) // 2]
                            * weight[k, p // (oh * ow) % f, i, j]
                        )
        out[p] = acc


@ps.nest
def transposed_3d(
    out: ps.f32[n * f * od * oh * ow], data: ps.f32[n, c, d, h, w], weight: ps.f32[c, f, q, r, s],
    n: ps.size, c: ps.size, d: ps.size, h: ps.size, w: ps.size, f: ps.size, q: ps.size, r: ps.size, s: ps.size,
    od: ps.size, oh: ps.size, ow: ps.size, pad: ps.size,
):  # fmt: skip
    """With stride 2."""
    for p in range(n * f * od * oh * ow):
        acc = ps.f32(0.0)
        for k in range(c):
            for t in range(q):
                for i in range(r):
                    for j in range(s):
                        if (
                            (p // (oh * ow) % od + pad - t) % 2 == 0
                            and (p // ow % oh + pad - i) % 2 == 0
                            and (p % ow + pad - j) % 2 == 0
                            and 0 <= (p // (oh * ow) % od + pad - t) // 2 < d
                            and 0 <= (p // ow % oh + pad - i) // 2 < h
                            and 0 <= (p % ow + pad - j) // 2 < w
                        ):
                            acc += (
                                data[
                                    p // (f * od * oh * ow),
                                    k,
                                    (p // (oh * ow) % od + pad - t) // 2,
                                    (p // ow % oh + pad - i) // 2,
                                    (p % ow + pad - j) // 2,
                                ]
                                * weight[k, p // (od * oh * ow) % f, t, i, j]
                            )
        out[p] = acc


@ps.nest
def conv3d(
    out: ps.f32[n * f * od * oh * ow], data: ps.f32[n, c, d, h, w], weight: ps.f32[f, c, q, r, s],
    n: ps.size, c: ps.size, d: ps.size, h: ps.size, w: ps.size, f: ps.size, q: ps.size, r: ps.size, s: ps.size,
    od: ps.size, oh: ps.size, ow: ps.size, pad: ps.size,
):  # fmt: skip
    for p in range(n * f * od * oh * ow):
        acc = ps.f32(0.0)
        for k in range(c):
            for t in range(q):
                for i in range(r):
                    for j in range(s):
                        if (
                            0 <= p // (oh * ow) % od + t - pad < d
                            and 0 <= p // ow % oh + i - pad < h
                            and 0 <= p % ow + j - pad < w
                        ):
                            acc += (
                                data[
                                    p // (f * od * oh * ow),
                                    k,
                                    p // (oh * ow) % od + t - pad,
                                    p // ow % oh + i - pad,
                                    p % ow + j - pad,
                                ]
                                * weight[p // (od * oh * ow) % f, k, t, i, j]
                            )
        out[p] = acc


@ps.nest
def batched_matmul(
    out: ps.f32[b * n * m], left: ps.f32[b, n, k], right: ps.f32[b, k, m],
    b: ps.size, n: ps.size, m: ps.size, k: ps.size,
):  # fmt: skip
    for p in range(b * n * m):
        acc = ps.f32(0.0)
        for q in range(k):
            acc += left[p // (n * m), p // m % n, q] * right[p // (n * m), q, p % m]
        out[p] = acc


@ps.nest
def max_pool(
    out: ps.f32[n * c * oh * ow], data: ps.f32[n, c, h, w],
    n: ps.size, c: ps.size, h: ps.size, w: ps.size, r: ps.size, s: ps.size, oh: ps.size, ow: ps.size, pad: ps.size,
):  # fmt: skip
    """With stride 2."""
    for p in range(n * c * oh * ow):
        acc = ps.f32(-3.0e38)
        for i in range(r):
            for j in range(s):
                if 0 <= p // ow % oh * 2 + i - pad < h and 0 <= p % ow * 2 + j - pad < w:
                    acc = max(
                        acc,
                        data[p // (c * oh * ow), p // (oh * ow) % c, p // ow % oh * 2 + i - pad, p % ow * 2 + j - pad],
                    )
        out[p] = acc


@ps.nest
def upsampling(
    out: ps.f32[n * c * (h * k) * (w * k)], data: ps.f32[n, c, h, w],
    n: ps.size, c: ps.size, h: ps.size, w: ps.size, k: ps.size,
):  # fmt: skip
    """Each element k times along both sides."""
    for p in range(n * c * (h * k) * (w * k)):
        out[p] = data[
            p // (c * (h * k) * (w * k)), p // ((h * k) * (w * k)) % c, p // (w * k) % (h * k) // k, p % (w * k) // k
        ]


@ps.nest
def channel_shuffle(
    out: ps.f32[n * (g * c) * h * w], data: ps.f32[n * (g * c) * h * w],
    n: ps.size, g: ps.size, c: ps.size, h: ps.size, w: ps.size,
):  # fmt: skip
    """The g groups of c channels become c groups of g."""
    for p in range(n * (g * c) * h * w):
        out[p] = data[
            (
                p // (g * c * h * w) * (g * c)
                + p // (h * w) % (g * c) % g * c
                + p // (h * w) % (g * c) // g
            ) * (h * w) + p % (h * w)
        ]  # fmt: skip


@ps.nest
def winograd_input(
    out: ps.f32[4, 4, c * (n * th * tw)], data: ps.f32[n, c, h, w],
    n: ps.size, c: ps.size, h: ps.size, w: ps.size, th: ps.size, tw: ps.size, pad: ps.size,
):  # fmt: skip
    """B^T d B of F(2x2, 3x3) for each channel and tile; the entries of B are told by conditions."""
    for p in range(c * (n * th * tw)):
        for x in range(4):
            for y in range(4):
                acc = ps.f32(0.0)
                for i in range(4):
                    for j in range(4):
                        acc += (
                            (
                                data[
                                    p // (th * tw) % n,
                                    p // (n * th * tw),
                                    p // tw % th * 2 + i - pad,
                                    p % tw * 2 + j - pad,
                                ]
                                if 0 <= p // tw % th * 2 + i - pad < h and 0 <= p % tw * 2 + j - pad < w
                                else ps.f32(0.0)
                            )
                            * (
                                ps.f32(-1.0)
                                if (i == 2 and x == 0) or (i == 1 and x == 2) or (i == 3 and x == 3)
                                else ps.f32(1.0)
                                if i == x or (i == 2 and x == 1) or (i == 1 and x == 3)
                                else ps.f32(0.0)
                            )
                            * (
                                ps.f32(-1.0)
                                if (j == 2 and y == 0) or (j == 1 and y == 2) or (j == 3 and y == 3)
                                else ps.f32(1.0)
                                if j == y or (j == 2 and y == 1) or (j == 1 and y == 3)
                                else ps.f32(0.0)
                            )
                        )
                out[x, y, p] = acc
