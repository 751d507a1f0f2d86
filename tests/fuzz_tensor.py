"""Random sums of products by tensor instructions, under the checker: `python tests/fuzz_tensor.py --count 300`.

    for b in range(p): for i in range(n): for j in range(m):
        C[j, b, i] = bias[j]                                    or nothing
        for k in range(l):
            C[j, b, i] += f32(A[k, i + 8]) * f32(B[j, k])       strides, offsets, triangles, taps; any type and layout
        C[j, b, i] = max(C[j, b, i], f32(0.0))                  or nothing

Where there is an instruction for it, results are those of C in source order, forwards and backwards, to the bit, since
values are small and whole; where there is none, a search over all instances has to find no rows, columns and terms.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from random_sums import Sum, is_product, random_convolution, random_sum
from seeds import run_seeds
from tensor_products import whole_numbers

import polysched as ps
from polysched.config.heuristics.gpu import WARP_TILES, WarpTile
from polysched.frontend.python import parse_nest
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Function
from polysched.model.instructions.instruction import LINE, Instruction
from polysched.model.instructions.mma import INSTRUCTIONS
from polysched.runtime.emulated.emulate import emulate

_SOURCE = ps.Options(scheduler="source", parallel=False)
_SIZES = {"n": 40, "m": 40, "l": 72, "p": 3}  # at most


def check_tensor(seed: int) -> bool:
    """AssertionError for a result that is wrong or a refusal without a reason; is there an instruction for the nest?"""
    rng = random.Random(seed)
    of = rng.choice(list(INSTRUCTIONS.values()))
    given = _typed((random_convolution if rng.random() < 0.25 else random_sum)(rng), of)
    if given.unified(of) is None:
        assert not is_product(given, of), f"there is an instruction for {given}"
        return False
    given = _with_ends(given, rng)
    fn = parse_nest(given.text(), "product.py")
    options = ps.Options(
        tensor="fast",
        reorder_reductions=rng.random() < 0.5,
        fusion=rng.choice(("smart", "max", "none")),
        gpu=ps.Gpu(arch=f"sm_{max(of.arch, 80)}"),
    )
    with _small_tiles(rng):
        done = ps.optimize(fn, "cuda", options=options)
    if "tensorize" not in done.schedule.script:
        return False
    expected = ps.optimize(fn, options=_SOURCE)
    backwards = emulate(done.source, fn)
    backwards.reverse = True
    for _ in range(3):
        arguments = _arguments(fn, rng)
        wanted, other = ({name: np.copy(value) for name, value in arguments.items()} for _ in range(2))
        expected(**wanted)
        report = done.check(**arguments)
        assert report.findings == (), str(report)
        backwards(**other)
        for found in (arguments, other):
            for array in fn.arrays:
                np.testing.assert_array_equal(found[array.name], wanted[array.name], err_msg=array.name, strict=True)
    return True


def _typed(given: Sum, of: Instruction) -> Sum:
    """The same sum of the instruction's types."""
    cast = "" if of.factor == of.sum else str(of.sum)
    update = f"C[{{C}}] += {cast}(A[{{A}}]) * {cast}(B[{{B}}])"
    return replace(given, types=(of.factor.name, of.factor.name, of.sum.name), update=update)


def _with_ends(given: Sum, rng: random.Random) -> Sum:
    """With a factor that is scaled; or, where the loops that move the sum may be around, with what it starts from and
    what is made of it."""
    total = given.types[2]
    if given.types[0] == total and rng.random() < 0.3:
        return replace(given, update=given.update.replace("(A[{A}])", f"({total}(alpha) * A[{{A}}])"))
    if rng.random() < 0.4 or any("i" in args or "j" in args or "k" in args for _, args in given.loops):
        return given
    moving = [loop for loop in given.loops if loop[0] in given.C]
    zero = f"{total}(0)"
    return replace(
        given,
        loops=(*moving, *(loop for loop in given.loops if loop not in moving)),
        outer=len(moving),
        before=rng.choice(("", f"C[{{C}}] = {zero}", f"C[{{C}}] = {total}({moving[-1][0]})")),
        after=rng.choice(("", f"C[{{C}}] = max(C[{{C}}], {zero})", f"C[{{C}}] = C[{{C}}] + {total}({moving[0][0]})")),
    )


@contextmanager
def _small_tiles(rng: random.Random) -> Iterator[None]:
    """Tiles that are quickly compiled, of which the sizes below have several."""
    warp_rows, warp_columns = rng.choice((16, 32)), rng.choice((16, 32))
    rows, columns = warp_rows * rng.choice((1, 2)), warp_columns * rng.choice((1, 2))
    tiles = {
        name: (WarpTile(rows, columns, warp_rows, warp_columns, few[0].chunk // 2, rng.choice((2, 3, 4)), speed=100),)
        for name, few in WARP_TILES.items()
    }
    with patch.dict(WARP_TILES, tiles):
        yield


def _arguments(fn: Function, rng: random.Random) -> dict[str, np.ndarray | int | float]:
    """Half of the time, rows of both factors are whole lines of 16 bytes, where any sizes make them so."""
    sizes = _random_sizes(rng)
    if rng.random() < 0.5:
        several = (_random_sizes(rng) for _ in range(200))
        sizes = next((each for each in several if _has_whole_lines(fn, each)), sizes)
    return {**sizes, "alpha": 2.0, **whole_numbers(fn, **sizes)}


def _random_sizes(rng: random.Random) -> dict[str, int]:
    return {name: rng.randint(0 if rng.random() < 0.1 else 1, most) for name, most in _SIZES.items()}


def _has_whole_lines(fn: Function, sizes: dict[str, int]) -> bool:
    rows = ((evaluate(array.shape[-1], sizes), array.dtype.bits // 8) for array in fn.arrays if array.name in "AB")
    return all(extent * size % LINE == 0 for extent, size in rows)


if __name__ == "__main__":
    sys.exit(run_seeds(lambda seed: check_tensor(seed) and None, __doc__, first=0, count=300))
