"""What a thread executes for an operator with symbolic sizes: as written by hand, and after each way through polysched.

`naive` is naive/*.cu, numbered elements and no thought for what is invariant; `off` the same nest printed by polysched
without its stage, `stage` with it, one element a thread, and `full` what `ps.optimize` makes of it, shared out to as
many threads. All of them are run on the CPU, at small sizes, and compared with the interpreter.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from math import exp, inf, log, prod
from pathlib import Path
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.expressions import nests
from benchmarks.expressions.threads import (
    OPTIONS,
    Element,
    as_it_stands,
    count_naive,
    count_threads,
    grid_for,
    through_the_stage,
)
from polysched.codegen.emit.c import emit_c
from polysched.codegen.memory.linearize import linearize
from polysched.counts.sass.counts import Counts
from polysched.counts.sass.inspect import inspect
from polysched.counts.sass.report import Report
from polysched.errors import BudgetExceeded, PolyschedError
from polysched.ir.interp import evaluate, interpret
from polysched.ir.nodes import Function
from polysched.runtime.cpu import load
from polysched.runtime.emulated.emulate import emulate

_NAIVE = Path(__file__).with_name("naive")


@dataclass(frozen=True)
class Operator:
    """`shape` is the box of elements that are numbered, in sizes; those of a typical layer, and small ones to check."""

    shape: str  # a loop each after the stage, also for a product
    typical: str
    small: str = ""  # none: at the typical ones, compared with C, which is fast enough
    tile: str = ""  # those sizes of which a thread computes all elements after the stage, since they are few


def _window(rest: str, side: int, pad: int = 1, times: int = 1) -> str:
    return f"{rest} h={side} w={side} r=3 s=3 oh={times * side} ow={times * side} pad={pad}"


_SMALL = "h=5 w=4 r=3 s=2 pad=1"
_SMALL_3D = "d=3 h=2 w=4 q=2 r=3 s=2 pad=1"
OPERATORS = {
    "conv2d_nchw": Operator("n f oh ow", _window("n=4 c=64 f=64", 56), f"n=2 c=2 f=3 oh=5 ow=5 {_SMALL}"),
    "conv2d_nhwc": Operator("n oh ow f", _window("n=4 c=64 f=64", 56), f"n=2 c=2 f=3 oh=5 ow=5 {_SMALL}"),
    "depthwise": Operator("n c oh ow", _window("n=4 c=64", 56), f"n=2 c=3 oh=5 ow=5 {_SMALL}"),
    "group_conv": Operator("n g fg oh ow", _window("n=4 g=4 cg=16 fg=16", 56), f"n=2 g=2 cg=2 fg=3 oh=5 ow=5 {_SMALL}"),
    "transposed_2d": Operator("n f oh ow", _window("n=4 c=64 f=64", 28, times=2), f"n=2 c=2 f=3 oh=9 ow=8 {_SMALL}"),
    "transposed_3d": Operator(
        "n f od oh ow",
        _window("n=1 c=16 f=16 d=16 q=3 od=32", 16, times=2),
        f"n=2 c=2 f=2 od=6 oh=4 ow=7 {_SMALL_3D}",
    ),
    "conv3d": Operator(
        "n f od oh ow", _window("n=1 c=16 f=16 d=16 q=3 od=16", 32), f"n=2 c=2 f=2 od=4 oh=2 ow=5 {_SMALL_3D}"
    ),
    "batched_matmul": Operator("b n m", "b=16 n=128 m=128 k=64", "b=2 n=3 m=5 k=4"),
    "max_pool": Operator("n c oh ow", "n=4 c=64 h=112 w=112 r=3 s=3 oh=56 ow=56 pad=1", f"n=2 c=3 oh=3 ow=2 {_SMALL}"),
    "upsampling": Operator("n c h*k w*k", "n=4 c=64 h=56 w=56 k=2", "n=2 c=3 h=4 w=5 k=3"),
    "channel_shuffle": Operator("n c g h w", "n=4 g=4 c=16 h=56 w=56", "n=2 g=2 c=3 h=4 w=5"),
    "winograd_input": Operator("c n th tw", "n=4 c=64 h=56 w=56 th=28 tw=28 pad=1", "n=2 c=3 h=5 w=6 th=3 tw=3 pad=1"),
}


@dataclass(frozen=True)
class Row:
    """An operator's figures; instructions for an element of the result."""

    counts: dict[str, list[Counts]]  # of the versions with an element a thread, of several threads
    full: float  # infinite where a thread takes more than can be counted
    tile: int  # elements of a thread after the stage
    wrong: str = ""  # which versions do not compute what the nest does, and how

    def mean(self, version: str) -> float:
        """Instructions for an element."""
        threads = self.counts[version]
        return sum(counts.total for counts in threads) / len(threads) / (self.tile if version == "stage" else 1)

    @property
    def ratios(self) -> tuple[float, float, float]:
        """How many times fewer than naive: off, stage, full."""
        naive = self.mean("naive")
        return naive / self.mean("off"), naive / self.mean("stage"), naive / self.full

    def __str__(self) -> str:
        one = self.counts["stage"][0]
        kinds = (one["integer"] + one["uniform"], one["branch"], one.arithmetic, one["global"])
        figures = "".join(f"{self.mean(version):9.0f}" for version in ("naive", "off", "stage"))
        ratios = "".join(f"{ratio:8.2f}" for ratio in self.ratios)
        return f"{figures}{self.full:9.1f}{ratios}   {', '.join(map(str, kinds))}  {self.wrong}".rstrip()


Case = tuple[Function, str, Operator]  # a nest, and the naive text of the same


def operators(args: argparse.Namespace) -> bool:
    """Prints the table; are all results right, and no operator worse than naive?"""
    chosen = {name: OPERATORS[name] for name in args.operator if name in OPERATORS}
    print("instructions for an element of the result, the mean of 2 x 2; sizes symbolic; times fewer than naive")
    return table({name: (nest_of(name), naive_text(name), it) for name, it in chosen.items()}, args, target=8)


def table(cases: Mapping[str, Case], args: argparse.Namespace, *, target: float) -> bool:
    """Prints nests, their naive texts and what became of them; are all results right, and none worse than naive?"""
    # One is generated after the other, since isl counts its operations for all threads of a process.
    generated = {name: _Generated(*case) for name, case in cases.items()}
    with ThreadPoolExecutor(args.jobs) as pool:
        reports = list(pool.map(lambda one: one.inspected(args.arch), generated.values()))
    print(f"{'operator':19}{'naive':>9}{'off':>9}{'stage':>9}{'full':>9}{'off':>8}{'stage':>8}{'full':>8}", end="")
    print("   of the stage's: integer, branch, float, memory")
    rows = []
    for (name, one), report in zip(generated.items(), reports, strict=True):
        rows.append(one.row(report))
        print(f"{name:19}{rows[-1]}", flush=True)
    means = [_geometric_mean(column) for column in zip(*(row.ratios for row in rows), strict=True)]
    print(f"{'geometric mean':55}{''.join(f'{mean:8.2f}' for mean in means)}   asked for: stage {target:g}")
    return all(not row.wrong and row.mean("stage") <= row.mean("naive") for row in rows)


def _geometric_mean(ratios: tuple[float, ...]) -> float:
    return exp(sum(map(log, ratios)) / len(ratios)) if all(ratios) else 0.0


class _Generated:
    """An operator in all versions."""

    def __init__(self, nest: Function, naive: str, operator: Operator):
        self.nest, self.naive, self.operator = nest, naive, operator
        self.versions = {"off": as_it_stands(nest), "stage": through_the_stage(nest, operator.shape)}
        self.full = ps.optimize(nest, "cuda", options=OPTIONS)

    def inspected(self, arch: str) -> dict[str, Report]:
        """What nvcc makes of each."""
        texts = {"naive": self.naive, "full": self.full.source.text}
        texts |= {version: mapped.source.text for version, mapped in self.versions.items()}
        return {version: inspect(text, f"{self.nest.name}_{version}", arch=arch) for version, text in texts.items()}

    def row(self, reports: Mapping[str, Report]) -> Row:
        sizes = sizes_of(self.operator.typical)
        total, elements = elements_of(self.operator, sizes)
        given = {name: sizes[name] for name in self.nest.sizes}
        naive = reports["naive"][self.nest.name].assembly
        counts = {"naive": count_naive(naive, self.nest, given, total, elements)}
        for version, mapped in self.versions.items():
            counts[version] = count_threads(reports[version], mapped, given, elements)
        tile = prod(sizes[name] for name in self.operator.tile.split())
        try:
            found = self.full.count_instructions(reports["full"], **given).values()
            full = sum(one.launches * one.threads * one.counts.total for one in found) / total
        except BudgetExceeded:
            full = inf
        return Row(counts, full, tile, "; ".join(self.wrong()))

    def wrong(self) -> Iterator[str]:
        """Which versions differ from the interpreted nest at small sizes, and how."""
        small = sizes_of(self.operator.small or self.operator.typical)
        sizes = {name: small[name] for name in self.nest.sizes}
        total, _ = elements_of(self.operator, small)
        expected = _arguments(self.nest, sizes)
        if self.operator.small:
            interpret(self.nest, expected)
        else:
            load(emit_c(linearize(self.nest)), self.nest)(**expected)
        runs: dict[str, Callable[..., Any]] = {
            "naive": lambda **given: ps.check_cuda(self.naive, self.nest.name, *grid_for(total), **given).findings,
            **{version: emulate(mapped.source, self.nest) for version, mapped in self.versions.items()},
            "full": self.full.program,
        }
        for version, run in runs.items():
            given = _arguments(self.nest, sizes)
            try:
                if findings := run(**given):
                    yield f"{version}: {findings[0]}"
            except PolyschedError as error:
                yield f"{version}: {str(error).splitlines()[0]}"
            if not np.array_equal(given["out"], expected["out"]):
                yield f"{version}: {np.count_nonzero(given['out'] != expected['out'])} of {given['out'].size} are wrong"


def elements_of(operator: Operator, sizes: Mapping[str, int]) -> tuple[int, list[Element]]:
    """How many there are, and those in the middle of the box: a tile if there are any, else 2 x 2 neighbours."""
    sides: dict[str, int] = {}  # of the box
    middle: dict[str, int] = {}
    for word in operator.shape.split():
        factors = [sizes[name] for name in word.split("*")]
        sides[word], middle[word] = prod(factors), _number([side // 2 for side in factors], factors)
    few, many = operator.tile.split(), [word for word in sides if word not in operator.tile.split()]
    elements = []
    for moved in product(*(range(sides[word]) for word in few)) if few else product(range(2), range(2)):
        at = dict(middle)
        for word, by in zip(few or many[-2:], moved, strict=True):
            at[word] = by if few else at[word] + by
        *planes, y, x = many
        place = at[x], at[y], _number([at[word] for word in planes], [sides[word] for word in planes])
        elements.append(Element(_number([*at.values()], [*sides.values()]), place))
    return prod(sides.values()), elements


def _number(digits: Sequence[int], sides: Sequence[int]) -> int:
    number = 0
    for digit, side in zip(digits, sides, strict=True):
        number = number * side + digit
    return number


def sizes_of(text: str) -> dict[str, int]:
    """The sizes in "n=4 c=64"."""
    return {name: int(value) for name, _, value in (part.partition("=") for part in text.split())}


def nest_of(name: str) -> Function:
    """The operator as a nest."""
    nest: ps.Nest = getattr(nests, name)
    return nest.function


def naive_text(name: str) -> str:
    """The operator in CUDA, as a naive user writes it."""
    return (_NAIVE / f"{name}.cu").read_text()


def _arguments(nest: Function, sizes: dict[str, int]) -> dict[str, Any]:
    """The same random arrays at each call."""
    rng = np.random.default_rng(0)
    shapes = {array.name: tuple(int(evaluate(extent, sizes)) for extent in array.shape) for array in nest.arrays}
    return {**sizes, **{name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}}
