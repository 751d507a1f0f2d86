"""E3 and E4: a loop split by 32, and its halves on blocks and threads: i = blockIdx.x * 32 + threadIdx.x, if i < n."""

from __future__ import annotations

import re

import pytest
from by_hand import vadd

import polysched as ps

DEFINED = {
    "cuda": (r"for \(index_t (\w+) = \(index_t\)blockIdx\.x;", r"const index_t (\w+) = \(index_t\)threadIdx\.x;"),
    "opencl": (r"for \(long (\w+) = \(long\)get_group_id\(0\);", r"const long (\w+) = \(long\)get_local_id\(0\);"),
}


def bound(tail: str) -> ps.Schedule:
    s = ps.Schedule(vadd).split("i", 32, tail=tail, names=("xo", "xi"))
    return s.bind("xo", "blockIdx.x").bind("xi", "threadIdx.x")


def in_threads(done: ps.Compiled) -> str:
    """The kernel, with the names of this block and thread in the place of the variables that count them."""
    text = done.source.device
    for definition, name in zip(DEFINED[done.source.target], ("blockIdx.x", "threadIdx.x"), strict=True):
        if (variable := re.search(definition, text)) is not None:
            text = re.sub(rf"\b{variable.group(1)}\b", name, text)
    return re.sub(r"\((index_t|long)\)", "", text)


@pytest.mark.parametrize("target", DEFINED)
def test_E4_the_index_of_a_thread_under_its_guard(target):
    done = ps.optimize(vadd, target, schedule=bound("guard"))
    text = in_threads(done)
    index = "blockIdx.x * 32 + threadIdx.x"
    assert f"C[{index}] = A[{index}] + B[{index}];" in text
    guards = re.findall(r"if \((.*)\) \{", text)
    assert guards == ["threadIdx.x < n - blockIdx.x * 32"]  # blockIdx.x * 32 + threadIdx.x < n
    assert done.source.kernels[0].block == (32, 1, 1)
    done.verify()


def test_E4_loops_that_count_what_the_source_counts():
    text = ps.optimize(vadd, "cuda", schedule=bound("cut")).source.device.replace("(index_t)", "")
    assert re.search(r"for \(index_t c0 = blockIdx\.x;.*c0 < \(\(n - 1\) >> 5\) \+ 1;", text)
    body = text[text.index("const index_t c1") :].splitlines()
    assert [line.strip() for line in body[:3]] == [
        "const index_t c1 = c0 * 32 + threadIdx.x;",
        "if (c1 < n) {",
        "C[c1] = A[c1] + B[c1];",
    ]


def test_E3_the_tree_that_both_come_from():
    assert str(bound("guard")) == """\
domain: { S[i] : 0 <= i < n }
  context: { : n >= 0 }
    mark: map:block.x
      band:
        xo: [S[i] -> floor((i)/32)] coincident
        mark: full:32
          mark: map:thread.x
            band:
              xi: [S[i] -> (i) mod 32] coincident"""
