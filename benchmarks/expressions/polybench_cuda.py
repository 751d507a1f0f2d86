"""Integer and branch instructions in the hottest loop of generated PolyBench kernels, by how much of the stage runs.

Both are for one floating-point instruction, or one access to memory where there is none: nvcc unrolls as it likes. A
kernel is nvcc's where the stage, or what it does beyond motion, changes less than 2 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import exp, log
from typing import Literal

import polysched as ps
from benchmarks.expressions.threads import OPTIONS
from benchmarks.gpu_static.inspected import hottest, loop_or_all
from benchmarks.polybench import KERNELS
from polysched.sass.report import Report

Mode = Literal["off", "licm", "all"]
_MODES: tuple[Mode, ...] = ("off", "licm", "all")
_SAME = 0.02
_MORE_REGISTERS = 1.1  # as many times as without the stage are too many, unless they pay


@dataclass(frozen=True)
class Cost:
    """Of the hottest loop, for each floating-point instruction or access; and of the kernel that has it."""

    integer: float  # with those of the uniform datapath
    branches: float
    all: float
    registers: int

    @staticmethod
    def of(report: Report) -> Cost:
        kernel = hottest(report)
        counts, _ = loop_or_all(kernel)
        each = counts.arithmetic or sum(counts.accesses.values()) or 1
        return Cost(
            (counts["integer"] + counts["uniform"]) / each,
            counts["branch"] / each,
            counts.total / each,
            kernel.resources.registers,
        )


def polybench_cuda(args: argparse.Namespace) -> bool:
    """Prints the table; is no hottest loop longer with the whole stage than without?"""
    texts = {(name, mode): _generated(name, mode) for name in args.kernel for mode in _MODES}
    with ThreadPoolExecutor(args.jobs) as pool:
        found = pool.map(lambda done: Cost.of(done.inspect(arch=args.arch)), texts.values())
        costs = dict(zip(texts, found, strict=True))
    print("instructions of the hottest loop for a floating-point one: integer + branch, of all kinds, registers")
    print(f"{'kernel':15}{'off':>25}{'licm':>25}{'all':>25}{'off/all':>9}{'licm/all':>10}   remarks")
    right = True
    ratios = []
    for name in args.kernel:
        mine = {mode: costs[name, mode] for mode in _MODES}
        cells = "".join(_cell(cost) for cost in mine.values())
        over_off, over_licm = (mine[mode].all / mine["all"].all for mode in ("off", "licm"))
        ratios.append((over_off, over_licm))
        print(f"{name:15}{cells}{over_off:9.2f}{over_licm:10.2f}   {', '.join(_remarks(mine))}")
        right &= over_off >= 1 - _SAME
    means = "".join(
        f"{exp(sum(map(log, column)) / len(column)):{width}.2f}"
        for column, width in zip(zip(*ratios, strict=True), (9, 10), strict=True)
    )
    print(f"{'geometric mean':90}{means}")
    return right


def _generated(name: str, mode: Mode) -> ps.Compiled:
    return ps.optimize(KERNELS[name].nest, "cuda", options=replace(OPTIONS, expressions=mode))


def _cell(cost: Cost) -> str:
    return f"{cost.integer:9.2f} +{cost.branches:5.2f}{cost.all:6.1f}{cost.registers:4}"


def _remarks(costs: Mapping[Mode, Cost]) -> list[str]:
    off, licm, all_ = (costs[mode] for mode in _MODES)
    is_same = abs(off.all / all_.all - 1) <= _SAME
    out = ["nvcc does it"] if is_same else ["nvcc hoists"] if abs(off.all / licm.all - 1) <= _SAME else []
    return out + (["more registers"] if all_.registers > _MORE_REGISTERS * off.registers else [])
