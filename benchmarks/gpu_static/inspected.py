"""Nests compiled to CUDA, what nvcc makes of them, and the columns that tables share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import polysched as ps
from polysched.counts.sass.counts import Counts
from polysched.counts.sass.inspect import inspect
from polysched.counts.sass.report import KernelReport, Report, heat
from polysched.counts.sass.toolkit import find
from polysched.errors import ToolchainError

OPTIONS = ps.Options(contract_floats=True)
HOTTEST_TITLES = "    all   FMA  share  float  integer   /FMA  branch  LDS/FMA   accesses"


@dataclass(frozen=True)
class Inspected:
    """A nest compiled to CUDA; `report` is None where nvcc refuses the text, for `reason`."""

    done: ps.Compiled
    seconds: float  # of generation
    report: Report | None = None
    reason: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether nvcc accepts it, without spills."""
        return self.report is not None and not any(map(spills, self.report.kernels))


def inspect_all(
    nests: Iterable[ps.Nest], *, arch: str, jobs: int, change: Callable[[str], str] = str
) -> list[Inspected]:
    """The nests, compiled one after the other, and what nvcc makes of their texts after `change`."""
    find("nvcc"), find("nvdisasm")  # missing ones are no fault of a text
    generated = [_generated(nest) for nest in nests]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda one: _inspected(one, arch, change), generated))


def _generated(nest: ps.Nest) -> Inspected:
    start = time.perf_counter()
    done = ps.optimize(nest, "cuda", options=OPTIONS)
    return Inspected(done, time.perf_counter() - start)


def _inspected(one: Inspected, arch: str, change: Callable[[str], str]) -> Inspected:
    try:
        return replace(one, report=inspect(change(one.done.source.text), one.done.source.entry, arch=arch))
    except ToolchainError as error:
        lines = str(error).splitlines()
        return replace(one, reason=next((line for line in lines if "error" in line), lines[0]))


def spills(kernel: KernelReport) -> int:
    """Bytes stored and loaded."""
    return kernel.resources.spill_stores + kernel.resources.spill_loads


def hottest(report: Report) -> KernelReport:
    """The kernel with the hottest loop."""
    return max(report.kernels, key=lambda kernel: heat(loop_or_all(kernel)[0]))


def loop_or_all(kernel: KernelReport) -> tuple[Counts, int]:
    """The counts of the hottest loop, and its branches but for the jump back; of the whole kernel if it has no loop."""
    if kernel.hottest is None:
        return kernel.counts, kernel.counts["branch"] - 1
    return kernel.hottest.counts, kernel.hottest.branches


def figures(row: Inspected) -> str:
    """Registers, spilled and shared bytes, the most of any kernel; and the hottest loop of all kernels."""
    if row.report is None:
        return f"   {row.reason}"
    kernels = row.report.kernels
    registers = max(kernel.resources.registers for kernel in kernels)
    shared = max(kernel.resources.shared for kernel in kernels)
    counts, branches = loop_or_all(hottest(row.report))
    fma = counts["fma"]
    lds = f"{counts.shared_loads / fma:.2f}" if fma else "-"
    integer = f"{counts['integer'] / fma:.2f}" if fma else "-"
    accesses = ", ".join(f"{opcode}.{bits} x{number}" for (opcode, bits), number in counts.accesses.items())
    return (
        f"{registers:11}{max(map(spills, kernels)):8}{shared:8}{counts.total:7}{fma:6}{counts.fma_share:7.2f}"
        f"{counts.arithmetic - fma:7}{counts['integer']:9}{integer:>7}{branches:8}{lds:>9}   {accesses}"
    )
