"""Compiles a CUDA text for a GPU, without one, and says what came of it.

    report = inspect(text, "gemm.cu")
    report["gemm_k0"].hottest.counts.fma_share          of the loop with most multiply-adds
    print(report)                                       registers, occupancy and the loops of each kernel
"""

from __future__ import annotations

import math
from pathlib import Path

from polysched.sass.counts import count
from polysched.sass.flow import Loop, find_loops
from polysched.sass.instructions import Instruction
from polysched.sass.occupancy import occupancy
from polysched.sass.parse import Assembly, parse
from polysched.sass.report import KernelReport, LoopReport, Report
from polysched.sass.toolkit import DEFAULT_ARCH, Resources, disassemble


def inspect(
    text: str,
    name: str = "kernels.cu",
    *,
    arch: str = DEFAULT_ARCH,
    flags: tuple[str, ...] = (),
    threads: int | None = None,
    include: Path | None = None,
) -> Report:
    """The figures of a CUDA text, compiled for `arch` with nvcc and `flags`.

    `threads` of a block are for the occupancy of kernels that state none; `include` is a folder of headers.
    ToolchainError if nvcc or nvdisasm is missing, or nvcc refuses the text.
    """
    disassembly, resources = disassemble(text, name, arch=arch, flags=flags, include=include)
    kernels = tuple(_kernel(assembly, resources[assembly.symbol], threads) for assembly in parse(disassembly))
    return Report(arch=arch, flags=flags, kernels=kernels)


def _kernel(assembly: Assembly, resources: Resources, threads: int | None) -> KernelReport:
    if assembly.launch_bounds is not None:
        threads = math.prod(assembly.launch_bounds)
    held = threads and occupancy(
        assembly.arch, threads=threads, registers=resources.registers, shared=resources.shared
    )
    return KernelReport(
        name=assembly.name,
        assembly=assembly,
        resources=resources,
        threads=threads,
        occupancy=held or None,
        counts=count(assembly.instructions),
        loops=_loops(assembly.instructions),
    )


def _loops(instructions: tuple[Instruction, ...]) -> tuple[LoopReport, ...]:
    loops = find_loops(instructions)
    reports = []
    for loop in loops:
        inside = frozenset[int]().union(*(inner.body for inner in loops if inner.parent == loop.header))
        reports.append(_loop(loop, [instructions[position] for position in sorted(loop.body - inside)]))
    return tuple(reports)


def _loop(loop: Loop, own: list[Instruction]) -> LoopReport:
    lines = [instruction.line for instruction in own if instruction.line]
    counts = count(own)
    return LoopReport(
        loop=loop, lines=(min(lines, default=0), max(lines, default=0)), counts=counts, branches=counts["branch"] - 1
    )
