"""Winograd's transforms with constant sizes, one element of the result after the other: transforms/*.c.

The entries of the matrices are chains of conditions, as TVM prints them, on digits of the element's number and on loops
that a compiler must unroll to decide them; many are zero, and nothing that is multiplied by one may go, as it may be
infinite. The naive text is the same statements in CUDA, a thread for each element.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import polysched as ps
from benchmarks.expressions.operators import Operator, table
from polysched.ir.nodes import Function

_TRANSFORMS = Path(__file__).with_name("transforms")
TRANSFORMS = {
    "winograd_input_2d": Operator("x y c h w", "x=6 y=6 c=64 h=14 w=14", tile="x y"),
    "winograd_output_2d": Operator("c p x y", "c=64 p=196 x=4 y=4", tile="x y"),
    "winograd_input_3d": Operator("x y z c d h w", "x=4 y=4 z=4 c=16 d=10 h=10 w=10", tile="x y z"),
    "winograd_output_3d": Operator("c p x y z", "c=16 p=1000 x=2 y=2 z=2", tile="x y z"),
}


def winograd(args: argparse.Namespace) -> bool:
    """Prints the table; are all results right, and none worse than naive?"""
    print("instructions for an element of the result, sizes constant; times fewer than naive")
    cases = {name: (transform(name), naive_transform(name), it) for name, it in TRANSFORMS.items()}
    return table(cases, args, target=10)


def transform(name: str) -> Function:
    """A transform as a nest."""
    (nest,) = ps.from_c(_TRANSFORMS / f"{name}.c")
    return nest


def naive_transform(name: str) -> str:
    """A transform as a kernel in CUDA."""
    text = re.sub(r"#pragma .*\n", "", (_TRANSFORMS / f"{name}.c").read_text())
    arrays = "float *__restrict__ out, const float *__restrict__ data"
    text = re.sub(r"void (\w+)\(.*?\)", rf"__global__ void \1({arrays})", text, flags=re.DOTALL)
    number = "int p = blockIdx.x * blockDim.x + threadIdx.x;"
    return re.sub(r"for \(int p = 0; (.*); p\+\+\) {", rf"{number}\n    if (\1) {{", text)
