"""polysched/codegen/emit/gcc/dot_rows.py: rows of sums to which one instruction adds products of parts of words."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from nests import loop, nest, outcome

from polysched.codegen.emit.c import emit_c
from polysched.codegen.emit.gcc.dot_rows import DotRow, dot_row
from polysched.ir.build import add, const, load, mul, store, sub, var
from polysched.ir.dtypes import i32
from polysched.ir.nodes import DOT_BYTES, DOT_HALVES, Array, Call, Const, Expr, For, Function
from polysched.runtime.cpu import load as compiled
from tests.codegen.test_region import STRICT, assert_runs_as_interpreted, gcc

i, j, k = map(var, "ijk")
S, A, B = (Array(name, i32, (const(200),)) for name in "SAB")


DOTS = Call(DOT_HALVES, (load(A, k), load(B, j)), i32)
KINDS = {"halves": (DOT_HALVES, False), "u8": (DOT_BYTES, False), "i8": (DOT_BYTES, True)}


def row(
    *,
    at: Expr = j,
    index: Expr = j,
    factor: Expr | None = None,
    count: int = 8,
    array: Array = B,
    kind: str = "halves",
) -> For:
    factor = load(A, k) if factor is None else factor
    fn, is_turned = KINDS[kind]
    words = (factor, load(array, index))
    dot = Call(fn, words[::-1] if is_turned else words, i32)
    return loop("j", 0, count, store(S, [at], add(load(S, at), dot)), kind="vector")


def test_a_row():
    at, index = add(mul(i, 48), j), add(j, k)
    assert dot_row(row(at=at, index=index)) == DotRow("add_dots", "S", mul(i, 48), load(A, k), "B", k, 8)


def test_a_word_of_bytes_is_the_first_operand_or_the_second():
    assert dot_row(row(kind="u8")) == DotRow("add_dots_u8", "S", const(0), load(A, k), "B", const(0), 8)
    assert dot_row(row(kind="i8")) == DotRow("add_dots_i8", "S", const(0), load(A, k), "B", const(0), 8)


NOT_ROWS = {
    "sums two apart": row(at=mul(j, 2)),
    "columns two apart": row(index=mul(j, 2)),
    "backwards": row(index=sub(9, j)),
    "one sum": row(at=const(3)),
    "a factor for each": row(factor=load(A, j)),
    "a factor that changes": row(factor=load(S, 0)),
    "columns that change": row(array=S),
    "from another one on": replace(row(), lo=Const(1)),
    "to no constant": replace(row(), hi=k),
    "every other one": replace(row(), step=2),
    "in order": replace(row(), kind="serial"),
    "of another sum": replace(row(), body=(store(S, [j], add(load(S, add(j, 1)), DOTS)),)),
    "another function": loop("j", 0, 8, store(S, [j], add(load(S, j), mul(load(A, k), load(B, j)))), kind="vector"),
}


@pytest.mark.parametrize("name", NOT_ROWS)
def test_what_is_no_such_row(name):
    assert dot_row(NOT_ROWS[name]) is None


def rows(count: int, kind: str = "vector", of: str = "halves") -> Function:
    body = replace(row(at=add(i, j), index=add(j, 3), factor=load(A, i), count=count, kind=of), kind=kind)
    return nest("rows", "", [S, A, B], loop("i", 0, 5, body))


def test_the_text_calls_a_function():
    text = emit_c(rows(48)).text
    assert "add_dots_i32(&S[i], A[i], &B[3], 48);" in text
    assert text.count("vpmaddwd") == 2
    assert "S[i + j] += dot_i32(A[i], B[j + 3]);" in emit_c(rows(48, "serial")).text


EXTREMES = [-(1 << 31), -(1 << 31) + (1 << 15), 0x7FFF7FFF, 0x7FFF8000, -1, 0, 1, 1 << 16, -(1 << 16), (1 << 31) - 1]
HALVES = sorted({(high << 16) | (low & 0xFFFF) for high, low in product((-(1 << 15), -1, 0, (1 << 15) - 1), repeat=2)})


def arguments() -> dict[str, np.ndarray]:
    """Also two halves of -32768, of which the sum of the products wraps."""
    words = np.array([*EXTREMES, *HALVES], np.int32)
    a, b = np.meshgrid(np.roll(words, 5)[:5], words)
    return {name: np.resize(some, 200) for name, some in (("S", words), ("A", a), ("B", b))}


@pytest.mark.parametrize("count", [1, 4, 8, 12, 16, 24, 40, 48, 61])
@pytest.mark.parametrize("of", KINDS)
def test_rows_of_any_length_are_what_the_interpreter_makes_of_them(count, of):
    fn, given = rows(count, of=of), arguments()
    expected = outcome(fn, given)
    for kind in ("vector", "serial"):
        changed = {name: value.copy() for name, value in given.items()}
        compiled(emit_c(rows(count, kind, of)), fn)(**changed)
        np.testing.assert_array_equal(changed["S"], expected["S"])


NATIVE = ("", "-masm=intel", "-mno-avx512vnni", "-mno-avx512f", "-mno-avx512f -mno-avxvnni -masm=intel")


@gcc
@pytest.mark.parametrize("flags", ["-O2", *(f"-march=native {flags}" for flags in NATIVE)])
@pytest.mark.parametrize("of", KINDS)
def test_in_a_block_of_the_user_s(flags, of):
    """With its own types, no function before it, and names that the operands have, too."""
    assert_runs_as_interpreted(rows(24, of=of), arguments(), (*STRICT, *flags.split()))
    sums, dots, vector = (Array(name, i32, (const(200),)) for name in ("sums", "dots", "vector"))
    a = var("a")
    fn, is_turned = KINDS[of]
    words = (load(dots, a), load(vector, add(j, 3)))
    dot = Call(fn, words[::-1] if is_turned else words, i32)
    inner = loop("j", 0, 24, store(sums, [add(a, j)], add(load(sums, add(a, j)), dot)), kind="vector")
    fn = nest("rows", "", [sums, dots, vector], loop("a", 0, 5, inner))
    given = dict(zip(("sums", "dots", "vector"), arguments().values(), strict=True))
    assert_runs_as_interpreted(fn, given, (*STRICT, *flags.split()))
