"""Sectors of global memory and cycles of shared memory that warps take, over the least that would do."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import polysched as ps
from benchmarks.gpu_static.inspected import OPTIONS
from benchmarks.polybench import KERNELS
from benchmarks.polybench.data import initial_data
from polysched.runtime.emulated.findings import Traffic

_SIZES = (70, 67, 65, 69, 66)  # that differ and divide no tile
_STEPS = 2


def traffic(args: argparse.Namespace) -> bool:
    """Prints the table; has the checker found nothing?"""
    print(f"sectors and cycles over the least that would do, sizes of about {_SIZES[0]}; the worst line, by its excess")
    print(f"{'kernel':15}{'requests':>10}{'global':>8}{'shared':>8}   worst")
    is_silent = True
    for name in args.kernel:
        sizes = dict(zip(KERNELS[name].nest.function.sizes, _SIZES, strict=False))
        sizes |= {"tsteps": _STEPS} if "tsteps" in sizes else {}
        report = ps.optimize(KERNELS[name].nest, "cuda", options=OPTIONS).check(**initial_data(name, sizes))
        is_silent &= report.is_silent
        found = [one for one in report.traffic if one.requests]
        worst = max(found, key=lambda one: one.cost - one.least, default=None)
        in_global, in_shared = (_ratio(one for one in found if one.shared == shared) for shared in (False, True))
        requests = sum(one.requests for one in found)
        print(f"{name:15}{requests:10}{in_global:>8}{in_shared:>8}   {worst}", *report.findings[:1], flush=True)
    return is_silent


def _ratio(traffic: Iterable[Traffic]) -> str:
    found = list(traffic)
    least = sum(one.least for one in found)
    return f"{sum(one.cost for one in found) / least:.2f}" if least else "-"
