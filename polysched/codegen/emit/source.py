"""What the printers return: the text of a program, and how it is entered and launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polysched.config.options import Target
from polysched.errors import Loc
from polysched.ir.nodes import Array, Expr, Function
from polysched.support.brief import brief

ZERO_DIVISOR = "polysched_zero_divisor"  # an int in the text of a C Source that divides by what may be zero: if it was


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A GPU kernel of a Source, as its host code launches it."""

    name: str
    parameters: tuple[str, ...]  # the IR's names: arrays, sizes, scalars, then what the host code around it binds
    grid: tuple[Expr, Expr, Expr]  # blocks along x, y, z, in the sizes and the host's loop variables; <= 0 is no launch
    block: tuple[int, int, int]  # threads along x, y, z
    note: str = ""  # what it does with its threads and memory
    alone: tuple[str, ...] = ()  # axes along which `name`, not `wide`, needs a block for each iteration: its loops end
    wide: str = ""  # the kernel that counts in 64 bits, where `name` counts in 32 and the sizes do not fit; "": none


class Line(str):
    """A line of a text that is being put together, and the place in the user's source that it stems from."""

    loc: Loc | None

    def __new__(cls, text: str, loc: Loc | None = None) -> Line:
        line = super().__new__(cls, text)
        line.loc = loc
        return line


def loc_of(line: str) -> Loc | None:
    """The place of a Line, None for other texts."""
    return line.loc if isinstance(line, Line) else None


@dataclass(frozen=True, kw_only=True)
class Prepare:
    """A second function of a Source, in C, which fills arrays that its entry takes from constants alone."""

    entry: str
    parameters: tuple[str, ...]  # the IR's names, in order: constants, sizes, arrays to fill
    arrays: tuple[Array, ...]  # that it fills


@dataclass(frozen=True, kw_only=True)
class Source:
    """A complete program text; `entry` is the C name of the function in it that runs the whole nest."""

    target: Target
    text: str
    entry: str
    parameters: tuple[str, ...]  # the IR's names of the entry's parameters, in order
    kernels: tuple[Kernel, ...] = ()  # in order of their text; empty for C
    fits: tuple[Expr, ...] = ()  # sums of products of sizes; kernels run `wide` where one is 2^31 or a size is below 1
    device: str = ""  # the text of the kernels alone, as a compiler at run time takes it; in OpenCL's `text` as strings
    host: str = ""  # CUDA: the text without the kernels, for a launcher
    flags: tuple[str, ...] = ()  # C: of the compiler, that instructions of the user's need
    prepare: Prepare | None = None  # C: what runs once for all calls with the same constants
    locs: tuple[Loc | None, ...] = field(default=(), compare=False)  # where in the user's source each line stems from

    def __repr__(self) -> str:
        return brief(self, f"{self.entry}: {self.target}, {len(self.text.splitlines())} lines")

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Offload:
    """A kernel to be called from C with arrays in the host's memory, of which it has copies on a device."""

    kernel: Function
    entry: str  # the name to call it by, which no other of its file may have
    elements: Mapping[str, Expr]  # how many of each array are copied


def parameters(fn: Function) -> tuple[str, ...]:
    """The names of all parameters of `fn` in the user's order; sizes, scalars, arrays if it has stated none."""
    return fn.params or (*fn.sizes, *(scalar.name for scalar in fn.scalars), *(array.name for array in fn.arrays))
