"""Fourier transforms, as products with tables of sines and cosines. Complex numbers are pairs along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from polysched.frontend import tensor as te
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.table import operator

Value = Any


@operator("DFT")
def dft(node: Node, x: Array, length_of: Array | None = None, axis_of: Array | None = None) -> Array:
    """Before version 20 the axis is an attribute. What the length asks for beyond the data is 0."""
    inverse, onesided = bool(node.get("inverse", 0)), bool(node.get("onesided", 0))
    if axis_of is not None:
        axis = node.integers(axis_of, "axis")[0]
    else:
        axis = int(node.get("axis", 1)) if node.since < 20 else -2
    axis = node.normalized(axis, x.rank)
    extent = x.shape[axis]
    usual = 2 * (extent - 1) if inverse and onesided else extent
    length = usual if length_of is None else node.integers(length_of, "dft_length")[0]
    if inverse and onesided:
        return _real_inverse(node, x, axis, length)
    return transformed(node, x, axis, length, inverse=inverse, onesided=onesided)


def transformed(node: Node, x: Array, axis: int, length: int, *, inverse: bool, onesided: bool) -> Array:
    """sum(x[n] * exp(-2 pi i n k / length), n), or with the other sign and divided by the length."""
    count = length // 2 + 1 if onesided else length
    terms, is_real = min(length, x.shape[axis]), x.shape[-1] == 1
    turns = np.outer(np.arange(terms), np.arange(count)) % length * (2 * np.pi / length)
    factor, sign = (1 / length, 1) if inverse else (1, -1)
    cosine, sine = (_table(node, factor * f, x) for f in (np.cos(turns), sign * np.sin(turns)))
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 : -1], 2)

    def element(i: Index) -> Value:
        n, is_first = node.make.axis(terms), i[-1] == 0
        at = n, i[axis]

        def part(k: int) -> Value:
            return x[(*i[:axis], n, *i[axis + 1 : -1], k)]

        if is_real:
            return te.sum(part(0) * te.select(is_first, cosine[at], sine[at]), axis=n)
        real = part(0) * cosine[at] - part(1) * sine[at]
        imaginary = part(0) * sine[at] + part(1) * cosine[at]
        return te.sum(te.select(is_first, real, imaginary), axis=n)

    return node.make.compute(shape, x.dtype, element)


def _real_inverse(node: Node, x: Array, axis: int, length: int) -> Array:
    """Of the half that is given; what is left out is conjugate to it, so that terms in between count twice."""
    terms = min(length // 2 + 1, x.shape[axis])
    turns = np.outer(np.arange(terms), np.arange(length)) % length * (2 * np.pi / length)
    weights = np.full((terms, 1), 2 / length)
    weights[0] = 1 / length
    if length % 2 == 0 and terms == length // 2 + 1:
        weights[-1] = 1 / length
    cosine, sine = (_table(node, weights * f, x) for f in (np.cos(turns), np.sin(turns)))
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 : -1], 1)

    def element(i: Index) -> Value:
        n = node.make.axis(terms)
        real, imaginary = (x[(*i[:axis], n, *i[axis + 1 : -1], k)] for k in (0, 1))
        return te.sum(real * cosine[(n, i[axis])] - imaginary * sine[(n, i[axis])], axis=n)

    return node.make.compute(shape, x.dtype, element)


def _table(node: Node, content: np.ndarray, x: Array) -> Array:
    return node.make.constant(content.astype(x.dtype.numpy))


@operator("STFT")
def stft(node: Node, x: Array, step_of: Array, window: Array | None = None, length_of: Array | None = None) -> Array:
    """The transforms of frames that begin `step` elements apart, each multiplied by the window."""
    step, onesided = node.integers(step_of, "frame_step")[0], bool(node.get("onesided", 1))
    if length_of is not None:
        length = node.integers(length_of, "frame_length")[0]
    else:
        length = window.shape[0] if window is not None else x.shape[1]
    if window is not None and window.shape != (length,):
        raise node.refusal(f"the window has {window.shape[0]} elements, and frames {length}", "both are as long")
    signal = x if x.rank == 3 else Array((*x.shape, 1), x.dtype, lambda i: x[i[:-1]])
    count = 1 + (signal.shape[1] - length) // step
    one = constant(1, x.dtype)

    def framed(i: Index) -> Value:
        return signal[(i[0], i[1] * step + i[2], i[3])] * (one if window is None else window[(i[2],)])

    frames = node.make.compute((x.shape[0], count, length, signal.shape[2]), x.dtype, framed)
    return transformed(node, frames, 2, length, inverse=False, onesided=onesided)
