"""What making constants ready once saves: `python -m benchmarks.constants [--threads N] [--case WORD]`.

Products and convolutions of f32 with weights as the constant. A call of the kernel without constants and one of the
kernel that is bound to them take turns for some seconds in one process, on the same arrays; medians, and the fastest in
parentheses. Results are compared first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import numpy as np

import polysched as ps
from polysched.ir.nodes import Const, Function

_LEAST = 15  # pairs of calls
CONSTANT = "w"


def product(rows: int, columns: int, terms: int) -> Function:
    x, w = ps.placeholder((rows, terms), ps.f32, "x"), ps.placeholder((terms, columns), ps.f32, CONSTANT)
    k = ps.reduce_axis(terms, "k")
    y = ps.compute((rows, columns), lambda i, j: ps.sum(x[i, k] * w[k, j], axis=k), "y")
    return ps.function("product", [x, w], [y])


def vector(columns: int, terms: int) -> Function:
    x, w = ps.placeholder((terms,), ps.f32, "x"), ps.placeholder((terms, columns), ps.f32, CONSTANT)
    k = ps.reduce_axis(terms, "k")
    return ps.function("vector", [x, w], [ps.compute((columns,), lambda j: ps.sum(x[k] * w[k, j], axis=k), "y")])


def nchw(channels: int, features: int, size: int, window: int) -> Function:
    x = ps.placeholder((channels, size + window - 1, size + window - 1), ps.f32, "x")
    w = ps.placeholder((features, channels, window, window), ps.f32, CONSTANT)
    c, r, s = (ps.reduce_axis(extent, name) for extent, name in ((channels, "c"), (window, "r"), (window, "s")))
    shape = (features, size, size)
    y = ps.compute(shape, lambda f, i, j: ps.sum(x[c, i + r, j + s] * w[f, c, r, s], axis=(c, r, s)), "y")
    return ps.function("nchw", [x, w], [y])


def nhwc(channels: int, features: int, size: int, window: int) -> Function:
    x = ps.placeholder((size + window - 1, size + window - 1, channels), ps.f32, "x")
    w = ps.placeholder((window, window, channels, features), ps.f32, CONSTANT)
    r, s, c = (ps.reduce_axis(extent, name) for extent, name in ((window, "r"), (window, "s"), (channels, "c")))
    shape = (size, size, features)
    y = ps.compute(shape, lambda i, j, f: ps.sum(x[i + r, j + s, c] * w[r, s, c, f], axis=(r, s, c)), "y")
    return ps.function("nhwc", [x, w], [y])


_CONVOLUTIONS = ((64, 64, 56, 3), (256, 256, 14, 3), (512, 512, 7, 3), (256, 64, 56, 1), (512, 2048, 7, 1))
CASES: dict[str, Callable[[], Function]] = {
    "product 512": lambda: product(512, 512, 512),
    "product 1024": lambda: product(1024, 1024, 1024),
    "product 32 x 4096 x 4096": lambda: product(32, 4096, 4096),
    "product 4 x 4096 x 4096": lambda: product(4, 4096, 4096),
    "vector x 4096 x 4096": lambda: vector(4096, 4096),
    **{
        f"{layout.__name__} {c} -> {f}, {size} x {size}, {window} x {window}": (
            lambda layout=layout, of=(c, f, size, window): layout(*of)  # type: ignore[misc]
        )
        for layout in (nchw, nhwc)
        for c, f, size, window in _CONVOLUTIONS
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.constants", description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--case", default="", help="only cases with this in their name")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each case")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    print("| f32 | before, ms | after, ms | |\n|---|---|---|---|")
    for name, case in CASES.items():
        if args.case in name:
            print(_row(name, case(), args.threads > 1, args.seconds), flush=True)


def _row(name: str, nest: Function, parallel: bool, seconds: float) -> str:
    rng = np.random.default_rng(0)
    data = {each.name: rng.random(_shape(each.shape), np.float32) for each in nest.arrays}
    options = {"parallel": parallel}
    before = ps.optimize(nest, options=ps.Options(**options))
    after = ps.optimize(nest, options=ps.Options(constants=(CONSTANT,), **options)).bind(**{CONSTANT: data[CONSTANT]})
    runs = [before.program.bound(data), after.ready(x=data["x"], y=data["y"])]  # type: ignore[attr-defined]
    results = []
    for run in runs:
        data["y"][:] = np.nan
        run()
        results.append(data["y"].copy())
    assert np.allclose(*results, rtol=1e-4), f"{name}: results differ"
    times: list[list[float]] = [[], []]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < _LEAST:
        for run, taken in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            taken.append(1e3 * (time.perf_counter() - start))
    told = [f"{statistics.median(taken):.3f} ({min(taken):.3f})" for taken in times]
    gain = statistics.median(times[0]) / statistics.median(times[1])
    return f"| {name} | {told[0]} | {told[1]} | {gain:.2f} |"


def _shape(extents: tuple[object, ...]) -> tuple[int, ...]:
    return tuple(int(extent.value) for extent in extents if isinstance(extent, Const))


if __name__ == "__main__":
    main()
