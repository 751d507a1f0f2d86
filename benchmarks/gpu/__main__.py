"""Kernels on a GPU, checked and timed: `python -m benchmarks.gpu`, in less than 8 minutes.

suite         the 30 PolyBench kernels, and the same in source order
gemm          products of matrices against cuBLAS
techniques    what each technique is worth: the nest without it
rows          operators along rows, as one kernel and as several, against PyTorch
tensor        products and a convolution, by tensor instructions and without them, against cuBLAS

A line for each as it comes: milliseconds of the device by its events, median and least, without copies from and to the
host; the floor, which is the larger of bytes over bandwidth and operations over peak, where every array is read and
written once; the share of it that is reached. Results are compared with the C target's. The exit status is 1 if one
is wrong, 2 if there is no GPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from math import exp, log
from statistics import fmean
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.gpu.cublas import time_product
from benchmarks.gpu.machine import Peaks, this_gpu
from benchmarks.gpu.measure import Job, Measured, arguments, dry, measure
from benchmarks.gpu.processes import run_all
from benchmarks.gpu.pytorch import time_rows
from benchmarks.gpu.work import least
from benchmarks.operators.against_pytorch import OPTIONS
from benchmarks.polybench import KERNELS
from benchmarks.polybench.sizes import SETS
from polysched.errors import LaunchError

SOURCE = {"scheduler": "source"}

# What is left out, by its name: fields of Options; those that are none yet are passed over.
TECHNIQUES: dict[str, dict[str, Any]] = {
    "register tiles": {"register_tiles": False},
    "shared memory": {"shared_memory": False},
    "tiles": {"tile": False},
    "contraction": {"contract_floats": False},
}
PRODUCT = {"n": 4096, "m": 4096, "k": 4096}
SMALLER = {"n": 2048, "m": 2048, "k": 2048}
WITHOUT: dict[str, dict[str, int]] = {
    "product_f64": dict.fromkeys("nmk", 2048),
    "product_f32": dict.fromkeys("nmk", 2048),
    "conv2d": {},
    "jacobi-2d": {"tsteps": 20, "n": 4096},
    "heat-3d": {"tsteps": 20, "n": 256},
}
FEW = {"n": 1000, "m": 1000, "k": 1000}
ROWS = {
    "softmax": ((128, 1000), (4096, 128), (8, 32000), (16384, 2048)),
    "log_softmax": ((4096, 128), (16384, 2048)),
    "layer_norm": ((128, 768), (8, 8192), (16384, 2048)),
    "rms_norm": ((128, 768), (8, 8192), (16384, 2048)),
}


def main() -> int:
    args = _arguments()
    jobs = [job for table in args.tables for job in TABLES[table](args.dataset) if job.name in args.kernel]
    start = time.monotonic()
    deadline = start + 60 * args.minutes
    if args.dry:
        return _dry(jobs, args.arch, args.jobs, deadline)
    try:
        gpu = this_gpu()
    except LaunchError as error:
        print(f"{error}\n--dry generates and compiles everything without one", file=sys.stderr)
        return 2
    print(gpu)
    print(f"{'nest':16}{'variant':26}{'ms':>10}{'least':>10}{'runs':>5}{'floor':>10}  by          share  compile s")
    found: list[tuple[Job, Measured]] = []
    for job, measured in run_all(jobs, measure, gpu.arch, at_once=args.jobs, limit=args.limit, deadline=deadline):
        found.append((job, measured))
        print(_line(job, measured, gpu), flush=True)
    if {"gemm", "tensor"}.intersection(args.tables):
        _print_cublas(found)
    if "rows" in args.tables:
        _print_pytorch(found)
    _print_summary(found, gpu)
    print(f"{time.monotonic() - start:.0f} s in all")
    return int(any(measured.fault for _, measured in found if measured.variant == "ours"))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE", help=", ".join(TABLES))
    names = [*dict.fromkeys((*KERNELS, *WITHOUT, *ROWS, "product_f16", "product_i8", "conv2d_f16"))]
    parser.add_argument("--kernel", choices=names, nargs="+", default=names, metavar="NAME")
    parser.add_argument("--dataset", choices=SETS, default="large", help="the sizes of the suite")
    parser.add_argument("--limit", type=float, default=8.0, help="seconds that a variant may have the GPU")
    parser.add_argument("--minutes", type=float, default=7.5, help="after which nothing more is started")
    parser.add_argument("--jobs", type=int, default=4, help="compiled at a time; one runs at a time")
    parser.add_argument("--dry", action="store_true", help="generate and compile for --arch, without a GPU")
    parser.add_argument("--arch", default="sm_90", help="with --dry")
    args = parser.parse_args()
    if unknown := set(args.tables) - set(TABLES):
        parser.error(f"there is no table {', '.join(sorted(unknown))}")
    return args


# --- what is measured


def _suite(dataset: str) -> list[Job]:
    return [Job(name, kernel.sizes[dataset], {"ours": {}, "source order": SOURCE}) for name, kernel in KERNELS.items()]


def _gemm(dataset: str) -> list[Job]:
    return [Job(name, PRODUCT, {"ours": {}}) for name in ("product_f64", "product_f32")]


def _techniques(dataset: str) -> list[Job]:
    known = {field.name for field in fields(ps.Options)}
    variants = {f"without {name}": changes for name, changes in TECHNIQUES.items() if set(changes) <= known}
    return [Job(name, sizes, {"ours": {}, **variants, "source order": SOURCE}) for name, sizes in WITHOUT.items()]


def _rows(dataset: str) -> list[Job]:
    apart = {**OPTIONS, "fuse_rows.i": False}
    return [
        Job(name, {"n": n, "d": d}, {"ours": OPTIONS, "several kernels": apart})
        for name, shapes in ROWS.items()
        for n, d in shapes
    ]


def _tensor(dataset: str) -> list[Job]:
    variants: dict[str, dict[str, Any]] = {"ours": {}, "without them": {"tensor": "off"}}
    jobs = (
        ("product_f64", PRODUCT),
        ("product_f64", FEW),
        ("product_f16", SMALLER),  # the CPU takes long to check larger ones
        ("product_f16", FEW),
        ("product_i8", SMALLER),
        ("product_i8", FEW),
        ("conv2d_f16", {}),
    )
    cut: dict[str, dict[str, Any]] = {"ours": {}, "cut to tf32": {"tensor": "fast"}}
    return [*(Job(name, sizes, variants) for name, sizes in jobs), Job("product_f32", SMALLER, cut)]


TABLES = {"suite": _suite, "gemm": _gemm, "techniques": _techniques, "rows": _rows, "tensor": _tensor}


# --- what is printed


def _line(job: Job, measured: Measured, gpu: Peaks) -> str:
    head = f"{job.name:16}{measured.variant:26}"
    if measured.fault:
        return f"{head}{measured.fault}"
    is_cut = job.variants[measured.variant].get("tensor") == "fast"
    floor, by = gpu.floor(least(job.function, job.sizes), is_cut=is_cut)
    times = f"{measured.median:10.3f}{measured.fastest:10.3f}{measured.runs:5}{floor:10.4f}"
    return f"{head}{times}  {by:10}{floor / measured.median:7.1%}{measured.compile / 1e3:10.1f}"


def _print_cublas(found: Sequence[tuple[Job, Measured]]) -> None:
    for job, ours in found:
        is_asked = job.name.startswith("product_f") and job.sizes in (PRODUCT, SMALLER, FEW)
        if is_asked and ours.variant == "ours" and not ours.fault:
            try:
                theirs = time_product(job.sizes["n"], int(job.name[-2:]), ours.runs)
            except OSError as error:
                print(f"cuBLAS: {error}")
                return
            share = f"ours reaches {theirs / ours.median:.0%} of it"
            print(f"{job.name}, {job.sizes['n']}: cuBLAS takes {theirs:.4f} ms, {share}", flush=True)


def _print_pytorch(found: Sequence[tuple[Job, Measured]]) -> None:
    for job, ours in found:
        if job.name in ROWS and ours.variant == "ours" and not ours.fault:
            given = [value for value in arguments(job).values() if isinstance(value, np.ndarray)]
            try:
                theirs = list(time_rows(job.name, given[:-1], runs=50))
            except ImportError as error:
                print(f"PyTorch: {error}")
                return
            shape = " x ".join(map(str, job.sizes.values()))
            figures = "; ".join(f"{who} {ms:.4f} ms, {ms / ours.median:.2f} of ours" for who, ms in theirs)
            print(f"{job.name} {shape}: ours {ours.median:.4f} ms; {figures}", flush=True)


def _print_summary(found: Sequence[tuple[Job, Measured]], gpu: Peaks) -> None:
    """Geometric means over the suite, and who is wrong."""
    suite = {(job.name, each.variant): each for job, each in found if job.variants.keys() == {"ours", "source order"}}
    times = {key: each.median for key, each in suite.items() if not each.fault}
    ours = [name for name, variant in times if variant == "ours"]
    ratios = [times[name, "source order"] / times[name, "ours"] for name in ours if (name, "source order") in times]
    print(f"suite: {len(ours)} right and timed")
    if ratios:
        mean = exp(fmean(map(log, ratios)))
        print(f"  {mean:.2f} times as fast as in source order ({len(ratios)} kernels, geometric mean)")
    wrong = sorted({job.name for job, measured in found if measured.fault and measured.variant == "ours"})
    if wrong:
        print(f"WRONG or not run: {', '.join(wrong)}")


def _dry(jobs: Sequence[Job], arch: str, at_once: int, deadline: float) -> int:
    print(f"{'nest':16}{'variant':26}{'seconds':>8}   for {arch}")
    failed = 0
    for job, measured in run_all(jobs, dry, arch, at_once=at_once, limit=60.0, deadline=deadline):
        failed += bool(measured.fault)
        print(f"{job.name:16}{measured.variant:26}{measured.compile / 1e3:8.2f}   {measured.fault}", flush=True)
    print(f"{failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
