"""Everything that is done to constants: folded, printed in each language and compiled, it is what the interpreter says.

    f64(f32(0.1))       0.10000000149011612, folded or not
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from polysched.codegen.emit.c import emit_c
from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.emit.opencl import emit_opencl
from polysched.codegen.emit.region import emit_region
from polysched.codegen.emit.source import Source
from polysched.codegen.memory.linearize import linearize
from polysched.frontend.c.region import Region
from polysched.ir.build import const
from polysched.ir.dtypes import ALL, DType, boolean, f16, f32, f64
from polysched.ir.interp import evaluate, interpret
from polysched.ir.nodes import Cast, Const, Expr, Function
from polysched.ir.simplify import simplify
from polysched.runtime.cpu import CpuProgram, c_function, open_library
from polysched.runtime.emulated.emulate import emulate
from polysched.runtime.toolchain import EXACT, compile_shared
from polysched.support.isl import Set
from tests.codegen.constants import casts, operations, stored
from tests.nests import outcome

Run = Callable[..., None]
gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
SAMPLE = 500


def test_a_float_is_a_value_of_its_type() -> None:
    assert evaluate(Cast(const(0.1, f32), f64), {}) == 0.10000000149011612
    assert simplify(Cast(Const(0.1, f32), f64)) == Const(0.10000000149011612, f64)
    assert Const(16777217, f32).value == 16777216.0 and Const(1e-46, f32) == Const(0.0, f32)
    once = 2**53 + 2**29 + 1  # rounded once; twice would give 2**53
    assert simplify(Cast(Const(once), f32)) == Const(2.0**53 + 2.0**30, f32)
    assert Const(1e39, f32).value == float("inf") and Const(65520.0, f16).value == float("inf")
    assert str(Const(0.1, f32)) == "0.1f32" and Const(0.1, f32) == Const(0.10000000149011612, f32)


def everything(dtype: DType) -> Iterator[Expr]:
    yield from operations(dtype)
    yield from casts(dtype)


def sample(*, but: tuple[DType, ...] = ()) -> tuple[Function, dict[str, Any]]:
    """Some of what is done to constants of all dtypes."""
    exprs = [expr for dtype in ALL.values() if dtype not in but for expr in everything(dtype)]
    exprs = [e for e in exprs if not but or not any(str(dtype) in str(e) for dtype in but)]
    return stored("sample", iter(random.Random(0).sample(exprs, SAMPLE)))


def assert_same(fn: Function, given: dict[str, Any], run: Run) -> None:
    """To the bit, but for the bits of a NaN."""
    expected = outcome(fn, given)
    found = {name: value.copy() for name, value in given.items()}
    run(**found)
    for array in fn.arrays:
        one, other = expected[array.name], found[array.name]
        is_same = (one == other) & (np.signbit(one) == np.signbit(other)) if array.dtype.is_float else one == other
        is_same |= (one != one) & (other != other)
        texts = [str(store.value) for store in fn.body if store.array == array.name]
        wrong = [(texts[k], one[k], other[k]) for k in np.flatnonzero(~is_same)[:5]]
        assert not wrong, wrong


def compiled(fn: Function, source: Source | None = None, *flags: str) -> Run:
    source = source or emit_c(linearize(fn))
    options = ("-O0", *(flags or ("-std=gnu11", *EXACT)))
    library = open_library(str(compile_shared(source.text, source.entry, flags=options)))
    return CpuProgram(fn, library, c_function(library, source, fn))


def in_a_region(fn: Function) -> Run:
    """The block that takes the place of a region of C, which needs no flags and no header."""
    kernel = linearize(fn)
    whole = emit_c(kernel)
    names = {array.name: array.name for array in fn.arrays}
    words = frozenset(whole.text.replace("(", " ").replace(",", " ").split())
    region = Region(
        function=fn, path="f.c", begin=0, end=0, indent="", expressions=names, unaliased=frozenset(names),
        assumptions=(), taken=words | set(names),
    )  # fmt: skip
    before, after = emit_region(kernel, region, Set("{ : }"))
    text = f"{whole.text[: whole.text.rindex(chr(10) + '{' + chr(10))]}\n{{\n{before}{after}}}\n"
    source = Source(target="c", text=text, entry=whole.entry, parameters=whole.parameters)
    return compiled(fn, source, "-std=c99", "-ffp-contract=off")


WAYS: dict[str, Callable[[Function], Run]] = {
    "c": compiled,
    "region": in_a_region,
    "cuda": lambda fn: emulate(emit_cuda(linearize(fn)), fn),
    "opencl": lambda fn: emulate(emit_opencl(linearize(fn)), fn),
}


@pytest.mark.parametrize("dtype", ALL.values(), ids=str)
def test_folding_everything(dtype: DType) -> None:
    fn, given = stored("folded", everything(dtype))
    simple = simplify(fn)
    assert_same(fn, given, lambda **arguments: interpret(simple, arguments))


@gcc
@pytest.mark.parametrize("way", WAYS)
def test_printing(way: str) -> None:
    fn, given = sample(but=(f16,) if way == "region" else ())
    assert_same(fn, given, WAYS[way](fn))


@gcc
@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ALL.values(), ids=str)
def test_printing_everything(way: str, dtype: DType) -> None:
    if way == "region" and dtype == f16:
        pytest.skip("C regions have no f16")
    exprs = (e for e in everything(dtype) if way != "region" or "f16" not in str(e))
    fn, given = stored("everything", exprs)
    assert_same(fn, given, WAYS[way](fn))


def test_every_dtype_is_cast_to_every_other() -> None:
    """So that the tests above leave out no pair."""
    for dtype in ALL.values():
        targets = {(expr.arg.dtype, expr.dtype) for expr in casts(dtype) if isinstance(expr, Cast)}
        assert {(dtype, other) for other in ALL.values()} <= targets
    assert len(list(casts(boolean))) > 200 and len(list(operations(f64))) > 1000
