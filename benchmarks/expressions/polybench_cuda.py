"""Instructions that threads of generated PolyBench kernels execute, by how much of the stage runs.

Counted at medium sizes twice over, in blocks spread over the grid of each kernel, and added up over all launches. A
kernel whose branches go by data counts as often as it is long. Integer and branch instructions are for one
floating-point instruction, or one access to memory where there is none. A kernel is nvcc's where the stage, or what it
does beyond motion, changes less than 2 %.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import exp, log, prod
from typing import Literal

import polysched as ps
from benchmarks.expressions.threads import OPTIONS
from benchmarks.polybench import KERNELS
from polysched.counts.sass.counts import Counts
from polysched.counts.sass.execute.thread import run_thread
from polysched.counts.sass.launches import Launch, find_launches
from polysched.counts.sass.report import KernelReport
from polysched.errors import InputError

Mode = Literal["off", "licm", "all"]
_MODES: tuple[Mode, ...] = ("off", "licm", "all")
_SAME = 0.02
_MORE_REGISTERS = 1.1  # as many times as without the stage are too many, unless they pay


@dataclass(frozen=True)
class Cost:
    """Of all threads of all launches, for each floating-point instruction or access."""

    integer: float  # with those of the uniform datapath
    branches: float
    all: float
    registers: int  # the most of any kernel that is launched

    @staticmethod
    def of(done: ps.Compiled, sizes: Mapping[str, int], arch: str) -> Cost:
        report = done.inspect(arch=arch)
        launches = find_launches(done.source, done.nest, sizes)
        names = dict.fromkeys(launch.kernel for launch in launches)
        total = Counter[str]()
        for name in names:
            mine = [launch for launch in launches if launch.kernel == name]
            threads = sum(prod(launch.blocks) * prod(launch.threads) for launch in mine)
            taken = _taken(report[name], max(mine, key=lambda launch: prod(launch.blocks)))
            for counts in taken:
                total["integer"] += threads * (counts["integer"] + counts["uniform"]) // len(taken)
                total["branch"] += threads * counts["branch"] // len(taken)
                total["all"] += threads * counts.total // len(taken)
                total["floats"] += threads * counts.arithmetic // len(taken)
                total["accesses"] += threads * sum(counts.accesses.values()) // len(taken)
        each = total["floats"] or total["accesses"]
        most = max(report[name].resources.registers for name in names)
        return Cost(total["integer"] / each, total["branch"] / each, total["all"] / each, most)


def _taken(kernel: KernelReport, launch: Launch) -> list[Counts]:
    """What a thread of some blocks executes; no block of them is on the diagonal, nor at an edge of a large grid."""
    given, (x, y, z) = launch.arguments[: len(kernel.assembly.parameters)], launch.blocks
    thread = (min(1, launch.threads[0] - 1), min(1, launch.threads[1] - 1), min(1, launch.threads[2] - 1))
    blocks = [(x * column // 8, y * row // 8, z // 2) for column in (1, 5) for row in (3, 7)]
    try:
        return [
            run_thread(kernel.assembly, given, threads=launch.threads, blocks=(x, y, z), block=block, thread=thread)
            for block in dict.fromkeys(blocks)
        ]
    except InputError:  # a branch goes by data
        return [kernel.counts]


def polybench_cuda(args: argparse.Namespace) -> bool:
    """Prints the table; are no more instructions executed with the whole stage than without?"""
    texts = {(name, mode): _generated(name, mode) for name in args.kernel for mode in _MODES}
    sizes = {name: {size: 2 * value for size, value in KERNELS[name].sizes["medium"].items()} for name in args.kernel}
    with ThreadPoolExecutor(args.jobs) as pool:
        found = pool.map(lambda key: Cost.of(texts[key], sizes[key[0]], args.arch), texts)
        costs = dict(zip(texts, found, strict=True))
    print("instructions that are executed for a floating-point one: integer + branch, of all kinds; registers")
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
