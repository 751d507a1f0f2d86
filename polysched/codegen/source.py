"""What the printers return: the text of a program, and how it is entered and launched."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.ir.nodes import Expr, Function
from polysched.options import Target


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A GPU kernel of a Source, as its host code launches it."""

    name: str
    parameters: tuple[str, ...]  # the IR's names: arrays, sizes, scalars, then what the host code around it binds
    grid: tuple[Expr, Expr, Expr]  # blocks along x, y, z, in the sizes and the host's loop variables; <= 0 is no launch
    block: tuple[int, int, int]  # threads along x, y, z


@dataclass(frozen=True, kw_only=True)
class Source:
    """A complete program text; `entry` is the C name of the function in it that runs the whole nest."""

    language: Target
    text: str
    entry: str
    parameters: tuple[str, ...]  # the IR's names of the entry's parameters, in order
    kernels: tuple[Kernel, ...] = ()  # in order of their text; empty for C
    device: str = ""  # OpenCL: the text of the kernels, which stands in `text` as strings

    def __str__(self) -> str:
        return self.text


def parameters(fn: Function) -> tuple[str, ...]:
    """The names of all parameters of `fn` in the user's order; sizes, scalars, arrays if it has stated none."""
    return fn.params or (*fn.sizes, *(scalar.name for scalar in fn.scalars), *(array.name for array in fn.arrays))
