"""Source.locs: every line of a generated text that computes something names the line of the nest it stems from."""

from __future__ import annotations

import pytest

import polysched as ps
from polysched.frontend.python import parse_nest

NEST = """\
def two(A: f64[n, n], B: f64[n, n], C: f64[n, n], d: f64[n], n: size):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]
    for i in range(n):
        d[i] = 2.0 * d[i]
"""
PLAIN = ps.Options(tile=False, register_tiles=False)


def places(target, options=None):
    source = ps.optimize(parse_nest(NEST, "two.py"), target, options=options).source
    lines = source.text.split("\n")
    assert len(source.locs) == len(lines)
    return [(line.strip(), loc.line) for line, loc in zip(lines, source.locs, strict=True) if loc]


def test_the_lines_of_a_c_kernel():
    assert places("c", PLAIN) == [
        ("C[t0 + c2] += A[t1] * B[t2 + c2];", 5),
        ("d[c3] = 2.0 * d[c3];", 7),
    ]


@pytest.mark.parametrize("target", ["c", "cuda", "opencl"])
def test_both_statements_are_found_in_every_language(target):
    found = places(target)
    assert {line for _, line in found} == {5, 7}
    assert any("+=" in text or "polysched_mma" in text for text, line in found if line == 5)
    assert all("d[" in text for text, line in places(target, PLAIN) if line == 7)
    assert any("d[" in text for text, line in found if line == 7)  # the others are of its subscripts


def test_places_make_no_difference():
    source = ps.optimize(parse_nest(NEST, "two.py")).source
    assert source == ps.optimize(parse_nest("\n\n" + NEST, "other.py")).source
