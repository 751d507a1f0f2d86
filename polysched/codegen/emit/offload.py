"""What is printed for C programs: a function that takes arrays in the host's memory, and runs a kernel on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polysched.ir.nodes import Expr, Function


@dataclass(frozen=True)
class Offload:
    """A kernel to be called from C with arrays in the host's memory."""

    kernel: Function
    entry: str  # the name to call it by, which no other of its file may have
    elements: Mapping[str, Expr]  # how many of each array are copied
