"""Winograd's transforms, with constant sizes: what unrolling is worth, which decides their conditions.

The entries of the matrices are told by conditions on loops that a compiler must unroll to decide them, and half of what
is summed is multiplied by zero.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import replace

from benchmarks.expressions.operators import Operator, naive_text, nest_of, sizes_of, table
from polysched.ir.node import substitute
from polysched.ir.nodes import Const, Expr, Function

_TRANSFORMS = {
    "winograd_input": Operator("c n th tw", "n=1 c=8 h=56 w=56 th=28 tw=28 pad=1"),
    "winograd_output": Operator("f n th tw", "n=1 f=8 oh=56 ow=56 th=28 tw=28"),
    "winograd_input_3d": Operator("c n td th tw", "n=1 c=2 d=16 h=16 w=16 td=8 th=8 tw=8 pad=1"),
    "winograd_output_3d": Operator("f n td th tw", "n=1 f=2 od=16 oh=16 ow=16 td=8 th=8 tw=8"),
}


def winograd(args: argparse.Namespace) -> bool:
    """Prints the table; are all results right, and none worse than naive?"""
    print("instructions for a tile, the mean of 2 x 2; sizes constant; times fewer than naive")
    cases = {}
    for name, operator in _TRANSFORMS.items():
        sizes = sizes_of(operator.typical)
        cases[name] = (with_sizes(nest_of(name), sizes), text_with_sizes(naive_text(name), sizes), operator)
    return table(cases, args, target=10)


def with_sizes(nest: Function, sizes: Mapping[str, int]) -> Function:
    """The nest with constants for all of its sizes."""
    constants: dict[str, Expr] = {name: Const(sizes[name]) for name in nest.sizes}
    return replace(
        nest,
        sizes=(),
        params=tuple(name for name in nest.params if name not in constants),
        arrays=tuple(replace(it, shape=tuple(substitute(e, constants) for e in it.shape)) for it in nest.arrays),
        body=substitute(nest.body, constants),
    )


def text_with_sizes(text: str, sizes: Mapping[str, int]) -> str:
    """The same for the text of a kernel, whose sizes are its last parameters."""
    constants = ", ".join(f"{name} = {sizes[name]}" for name in re.findall(r"\bint (\w+)(?=[,)])", text))
    return re.sub(r"(,\s*int \w+)+\)\n{\n", f")\n{{\n    const int {constants};\n", text, count=1)
