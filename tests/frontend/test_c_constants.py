"""Constants of C, cast and computed with, are what gcc makes of them: all casts of all types, and all operators."""

from __future__ import annotations

import ctypes
import random
import shutil
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from frontend.c_constants import Case, binaries, casts, is_same, program, unaries

from polysched.codegen.emit.c import emit_c
from polysched.codegen.memory.linearize import linearize
from polysched.frontend.c.read import read_c
from polysched.ir.interp import interpret
from polysched.ir.nodes import Const, Function
from polysched.ir.simplify import simplify
from polysched.runtime.cpu import CpuProgram, c_function, open_library
from polysched.runtime.toolchain import EXACT, compile_shared

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc to ask")
FLAGS = ("-std=gnu11", "-O0", *EXACT)
AT_ONCE = 4000


def test_a_constant_that_is_cast_to_float_is_rounded() -> None:
    loop = "for (int i = 0; i < n; i++) A[i] = (float)0.1;"
    text = f"void k(int n, double A[n])\n{{\n#pragma scop\n{loop}\n#pragma endscop\n}}"
    (region,) = read_c("kernel.c", data=text.encode())
    for fn in (region.function, simplify(region.function)):
        found = np.zeros(1)
        interpret(fn, {"n": 1, "A": found})
        assert found[0] == 0.10000000149011612
    assert "A[i] = 0.10000000149011612;" in emit_c(simplify(region.function)).text


@pytest.mark.parametrize("text", ["1 << 40", "1l << 64", "-1 >> 40u", "1 << -1", "1 / 0", "5 % 0", "(int)1e10"])
def test_what_c_does_not_define_is_left_to_the_compiler(text: str) -> None:
    """Clang has values for some of these, and gcc others."""
    whole = f"void k(long a[1])\n{{\n#pragma scop\na[0] = {text};\n#pragma endscop\n}}"
    (region,) = read_c("kernel.c", data=whole.encode())
    for fn in (region.function, simplify(region.function)):
        with pytest.raises((ValueError, ArithmeticError)):
            interpret(fn, {"a": np.zeros(1, int)})
    assert not isinstance(simplify(region.function).body[0].value, Const)


@pytest.mark.parametrize("cases", [casts, binaries, unaries])
def test_some(cases: Callable[[], Iterator[Case]]) -> None:
    check(random.Random(0).sample(list(cases()), 500))


@pytest.mark.slow
@pytest.mark.parametrize("cases", [casts, unaries, binaries])
def test_everything(cases: Callable[[], Iterator[Case]]) -> None:
    """At most 12 000 of a kind."""
    found = list(cases())
    random.Random(1).shuffle(found)
    for start in range(0, min(len(found), 12_000), AT_ONCE):
        check(found[start : start + AT_ONCE])


def check(cases: list[Case]) -> None:
    """As gcc computes them: the nest interpreted, simplified and printed."""
    text, given = program(cases)
    (region,) = read_c("kernel.c", data=text.encode())
    fn, simple = region.function, simplify(region.function)
    expected = {name: array.copy() for name, array in given.items()}
    library = ctypes.CDLL(str(compile_shared(text, "k", flags=FLAGS)))
    library.k(*(ctypes.c_void_p(array.ctypes.data) for array in expected.values()))
    for way in (lambda **a: interpret(fn, a), lambda **a: interpret(simple, a), compiled(fn), compiled(simple)):
        found = {name: array.copy() for name, array in given.items()}
        way(**found)
        for name, array in found.items():
            texts = [text for text, dtype in cases if name == f"o_{dtype}"]
            wrong = np.flatnonzero(~is_same(array, expected[name]))[:5]
            assert not wrong.size, [(texts[k], array[k], expected[name][k]) for k in wrong]


def compiled(fn: Function) -> CpuProgram:
    source = emit_c(linearize(fn))
    library = open_library(str(compile_shared(source.text, source.entry, flags=FLAGS)))
    return CpuProgram(fn, library, c_function(library, source, fn))
