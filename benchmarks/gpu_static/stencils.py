# mypy: ignore-errors
"""Time tiles of stencils: passes over memory, work that is done twice, launches and predicted time, against one step a
launch; and what the checker counts."""

from __future__ import annotations

import argparse
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.polybench import KERNELS
from polysched.config.target import LIMITS, TARGETS
from polysched.ir.dtypes import DType, f32, f64
from polysched.ir.node import rewrite
from polysched.ir.nodes import Function
from polysched.ir.text import show
from polysched.strategy.stencils.time_tiles import prices_of
from polysched.transform.edits.base.loops import loops

_STEPS, _SIZE = 8, 230  # of what the checker counts: a few blocks of the largest tiles


@ps.nest
def nine_point(A: ps.f64["n", "n"], B: ps.f64["n", "n"], tsteps: ps.size, n: ps.size):
    for t in range(tsteps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.1 * (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1] + A[i, j - 1] + A[i, j]
                    + A[i, j + 1] + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                )  # fmt: skip
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.1 * (
                    B[i - 1, j - 1] + B[i - 1, j] + B[i - 1, j + 1] + B[i, j - 1] + B[i, j]
                    + B[i, j + 1] + B[i + 1, j - 1] + B[i + 1, j] + B[i + 1, j + 1]
                )  # fmt: skip


NAMES = ("jacobi-1d", "jacobi-2d", "fdtd-2d", "heat-3d")
STENCILS: dict[str, Function] = {name: KERNELS[name].nest.function for name in NAMES}
STENCILS["9-point"] = nine_point.function


def in_floats(fn: Function) -> Function:
    """The nest in single precision."""

    def single(node: Any) -> Any:
        has_type = any(each.name == "dtype" for each in fields(node)) if is_dataclass(node) else False
        return replace(node, dtype=f32) if has_type and node.dtype == f64 else None

    arrays = tuple(replace(array, dtype=f32) for array in fn.arrays)
    return rewrite(replace(fn, arrays=arrays), single)


def stencils(args: argparse.Namespace) -> bool:
    """Prints the table; has the checker found nothing?"""
    print("bytes of memory for a step of an element, with halos; the share of work that is done twice; launches for")
    print("T steps; the time predicted for a step of an element, in ps, on an H100; bytes of sectors by the checker")
    titles = f"{'tile':>12}{'steps':>6}{'bytes':>8}{'of':>5}{'ratio':>7}{'twice':>7}{'launches':>10}{'ps':>7}{'of':>7}"
    print(f"{'stencil':15}{titles}{'gain':>6}{'counted':>9}")
    is_silent = True
    for name, double in STENCILS.items():
        for nest, real in ((in_floats(double), f32), (double, f64)):
            draft = ps.Schedule(nest, "ilp").draft
            prices = prices_of(draft, loops(draft.nested)[0], TARGETS["cuda"].shared)
            best, label = prices.best, f"{name} {real.name}"
            if best is None:
                print(f"{label:15}{'none gains':>12}{'':6}{'':8}{prices.untiled_bytes:5}", flush=True)
                continue
            moved = prices.bytes_of(best.sizes, best.steps)
            counted, silent = _counted(nest, real)
            is_silent &= silent
            print(
                f"{label:15}{'x'.join(map(str, best.sizes)):>12}{best.steps:6}{moved:8.2f}{prices.untiled_bytes:5}"
                f"{moved / prices.untiled_bytes:7.2f}{prices.redundant(best.sizes, best.steps):7.0%}"
                f"{f'T/{best.steps} + 2':>10}{1e12 * best.seconds:7.2f}{1e12 * prices.untiled:7.2f}"
                f"{prices.untiled / best.seconds:6.1f}{counted:9.2f}",
                flush=True,
            )
    return is_silent


def _counted(fn: Function, real: DType) -> tuple[float, bool]:
    """Bytes of sectors that kernels with shared memory ask for, for a step of an element; and whether that was all."""
    done, rng = ps.optimize(fn, "cuda"), np.random.default_rng(0)
    dims = max(len(array.shape) for array in fn.arrays)
    n = _SIZE if dims > 1 else _SIZE**2
    sizes = {size: _STEPS if size in ("tsteps", "tmax") else n for size in fn.sizes}
    arrays = {each.name: rng.random([sizes[str(show(x))] for x in each.shape]).astype(real.numpy) for each in fn.arrays}
    report = done.check(**arrays, **sizes)
    sectors = sum(one.cost for one in report.traffic if not one.shared and "_s[" in one.text)
    return LIMITS.sector * sectors / (_STEPS * n**dims), report.is_silent
