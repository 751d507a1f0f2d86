"""What one thread executes at PolyBench's medium sizes, in the kernel that costs most."""

from __future__ import annotations

import argparse

from benchmarks.gpu_static.inspected import inspect_all
from benchmarks.polybench import KERNELS
from polysched.errors import BudgetExceeded, InputError


def threads(args: argparse.Namespace) -> bool:
    """Prints the table; are all texts accepted?"""
    rows = inspect_all((KERNELS[name].nest for name in args.kernel), arch=args.arch, jobs=args.jobs)
    print("a thread of the kernel with most instructions in all, at medium sizes; launches are of all kernels")
    print(f"{'kernel':15}{'launches':>9}{'blocks':>9}{'threads':>9}{'all':>9}{'FMA':>9}{'share':>7}{'integer':>9}   of")
    for name, row in zip(args.kernel, rows, strict=True):
        if row.report is None:
            print(f"{name:15}{row.reason}")
            continue
        try:
            found = row.done.count_instructions(row.report, **KERNELS[name].sizes["medium"])
        except (InputError, BudgetExceeded) as error:
            print(f"{name:15}{str(error).splitlines()[0]}")
            continue
        most = max(found.values(), key=lambda one: one.launches * one.threads * one.counts.total)
        blocks, counts = most.blocks, most.counts
        print(
            f"{name:15}{sum(one.launches for one in found.values()):9}{blocks:9}{most.threads // blocks:9}"
            f"{counts.total:9}{counts['fma']:9}{counts.fma_share:7.2f}{counts['integer']:9}   {most.largest.kernel}"
        )
    return all(row.report is not None for row in rows)
