"""What nvcc made of a CUDA text, as figures and as a table.

    nvcc -arch=sm_90 -fmad=false

    gemm_k1, line 36: 32 registers, no spills; 256 threads a block, 8 blocks a multiprocessor: occupancy 1.00, ...
        lines depth all FMA share float integer  /FMA 64-bit uniform move branch barrier LDS/FMA  accesses
        40-52     1 106   3  0.03     3      41 13.67     13      14   15      5       0    0.00  LDG.64 x7, STG.64
      * 49-50     2  35   4  0.11     4      12  3.00      6       4    2      0       0    0.00  LDG.64 x8

A row is a loop without the loops inside, * the hottest. "64-bit" are the upper halves among the integer instructions,
"branch" are those but for the jump back.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from polysched.counts.sass.counts import Counts
from polysched.counts.sass.flow import Loop
from polysched.counts.sass.occupancy import Occupancy
from polysched.counts.sass.parse import Assembly
from polysched.counts.sass.toolkit import Resources
from polysched.errors import InputError
from polysched.support.brief import Brief, brief


@dataclass(frozen=True, kw_only=True)
class LoopReport:
    """One loop of a kernel."""

    loop: Loop
    lines: tuple[int, int]  # of the CUDA text, first and last; (0, 0) if unknown
    counts: Counts  # of its body, without the loops inside
    branches: int  # but for the jump back to its header


@dataclass(frozen=True, kw_only=True, repr=False)
class KernelReport(Brief):
    name: str
    assembly: Assembly = field(repr=False)
    resources: Resources
    threads: int | None  # of a block, as the text bounds them by __launch_bounds__, or the caller says
    occupancy: Occupancy | None  # None where the threads of a block are unknown, or the GPU is
    counts: Counts  # of the whole kernel, nvcc's own routines included
    loops: tuple[LoopReport, ...]

    @property
    def hottest(self) -> LoopReport | None:
        """The loop with most multiply-adds of its own, then most arithmetic; None without loops."""
        return max(self.loops, key=lambda loop: (heat(loop.counts), loop.loop.depth), default=None)

    def __str__(self) -> str:
        return _text(self)


@dataclass(frozen=True, kw_only=True)
class Report:
    """All kernels of a text."""

    arch: str
    flags: tuple[str, ...]
    kernels: tuple[KernelReport, ...]

    def __repr__(self) -> str:
        return brief(self, f"{self.heading}: {', '.join(kernel.name for kernel in self.kernels)}")

    def __getitem__(self, name: str) -> KernelReport:
        """The kernel of that name, as in the text or as the linker knows it; InputError if there is none."""
        for kernel in self.kernels:
            if name in (kernel.name, kernel.assembly.symbol):
                return kernel
        names = ", ".join(kernel.name for kernel in self.kernels)
        raise InputError(f"there is no kernel '{name}'", hint=f"there are: {names or 'none'}")

    def __str__(self) -> str:
        return "\n\n".join([self.heading, *map(str, self.kernels)]) if self.kernels else "no kernels"

    @property
    def heading(self) -> str:
        """How the text was compiled."""
        return shlex.join(["nvcc", f"-arch={self.arch}", *self.flags])


def heat(counts: Counts) -> tuple[int, int, int, int]:
    """What to compare loops by: the program's own multiply-adds, arithmetic, accesses; then the fewest instructions.

    So of two copies of one loop, the one without guards is meant.
    """
    programs_own = max(counts["fma"] - _FMA_OF_DIVISION * counts["special"], 0)
    return programs_own + counts["mma"], counts.arithmetic, sum(counts.accesses.values()), -counts.total


_FMA_OF_DIVISION = 8  # that nvcc makes of a f64 division beside an approximate reciprocal; fewer of a root


def _text(kernel: KernelReport) -> str:
    rows = [_TITLES, *(_row(loop, "*" if loop is kernel.hottest else "") for loop in kernel.loops)]
    if not kernel.loops:
        rows.append(_cells("", "", "", kernel.counts, kernel.counts["branch"]))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES) - 1)]
    cells = [[cell.rjust(width) for cell, width in zip(row, widths, strict=False)] for row in rows]
    lines = [f"  {' '.join(row)}  {accesses}".rstrip() for row, (*_, accesses) in zip(cells, rows, strict=True)]
    return "\n".join([_headline(kernel), *lines])


def _headline(kernel: KernelReport) -> str:
    used = kernel.resources
    line = min((instruction.line for instruction in kernel.assembly.instructions if instruction.line), default=0)
    spilled = f"{used.spill_stores} bytes stored and {used.spill_loads} loaded in spills"
    parts = [
        f"{used.registers} registers",
        spilled if used.spill_stores or used.spill_loads else "no spills",
        *([f"{used.stack} bytes of stack"] if used.stack else []),
        *([f"{used.shared} bytes of shared memory"] if used.shared else []),
    ]
    text = f"{kernel.name}{f', line {line}' if line else ''}: {', '.join(parts)}"
    if (held := kernel.occupancy) is not None:
        text += f"; {kernel.threads} threads a block, {held.blocks} blocks a multiprocessor: occupancy {held.share:.2f}"
        text += f", limited by {held.limit}"
    if kernel.counts.unknown:
        text += f"; of unknown kind: {', '.join(kernel.counts.unknown)}"
    return text


_TITLES = (
    "", "lines", "depth", "all", "FMA", "share", "float", "integer", "/FMA", "64-bit", "uniform", "move",
    "branch", "barrier", "LDS/FMA", "accesses",
)  # fmt: skip


def _row(report: LoopReport, mark: str) -> tuple[str, ...]:
    first, last = report.lines
    lines = f"{first}-{last}" if last > first else str(first or "?")
    return _cells(mark, lines, str(report.loop.depth), report.counts, report.branches)


def _cells(mark: str, lines: str, depth: str, counts: Counts, branches: int) -> tuple[str, ...]:
    fma = counts["fma"]
    columns = (
        counts.total, fma, f"{counts.fma_share:.2f}", counts.arithmetic - fma, counts["integer"],
        _ratio(counts.per_fma("integer")), counts.carries, counts["uniform"], counts["move"], branches,
        counts["barrier"], _ratio(counts.shared_loads / fma if fma else None),
    )  # fmt: skip
    times = ((f"{opcode}.{bits}", number) for (opcode, bits), number in counts.accesses.items())
    accesses = ", ".join(access if number == 1 else f"{access} x{number}" for access, number in times)
    return mark, lines, depth, *map(str, columns), accesses


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"
