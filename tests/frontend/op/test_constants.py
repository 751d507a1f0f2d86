"""Numbers and arrays of every dtype, at the edges: what each operator gives is what NumPy gives, dtype included."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from op_programs import run_nest, run_numpy

from polysched.errors import InputError
from polysched.frontend.op.op import parse_op
from polysched.ir.dtypes import ALL, DType
from tests.codegen.constants import edges

OPERATORS = ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "<", "<=", "==", "!=")
NUMBERS = "0 1 -1 3 7 200 40000 16777217 2147483647 4294967295 9007199254740993 0.1 -0.0 1e-46 2.5 True np.float32(0.1)"
Case = tuple[str, dict[str, Any]]  # a program, and its arguments


def values(dtype: DType) -> np.ndarray:
    return np.array([one.value for one in edges(dtype)], dtype.numpy)


def with_numbers() -> Iterator[Case]:
    for dtype, op, number in itertools.product(ALL.values(), OPERATORS, NUMBERS.split()):
        divides = op in ("//", "%")
        if not (divides and number == "0"):
            yield _program(f"a {op} {number}", a=values(dtype))
        yield _program(f"{number} {op} a", a=values(dtype)[values(dtype) != 0] if divides else values(dtype))


def of_two_arrays() -> Iterator[Case]:
    for one, other, op in itertools.product(ALL.values(), ALL.values(), OPERATORS):
        grid = np.meshgrid(values(one), values(other), indexing="ij")
        a, b = (np.ascontiguousarray(each.ravel()) for each in grid)
        kept = (b != 0) if op in ("//", "%") else np.ones(len(b), bool)
        if kept.any():
            yield _program(f"a {op} b", a=a[kept], b=b[kept])


def of_casts() -> Iterator[Case]:
    for one, other, last in itertools.product(ALL.values(), repeat=3):
        small = one.is_float and (other.is_integer or last.is_integer)  # NumPy too leaves others to the machine
        a = np.array([0.0, 1.0, 7.5], one.numpy) if small else values(one)
        if not (other.is_float and last.is_integer and not small):
            yield _program(f"a.astype(np.{other.numpy}).astype(np.{last.numpy})", a=a)


def _program(text: str, **arrays: np.ndarray) -> Case:
    dtypes = {dtype.numpy: dtype for dtype in ALL.values()}
    params = ", ".join(f"{name}: ps.{dtypes[str(array.dtype)]}['n']" for name, array in arrays.items())
    return f"def f({params}):\n    return {text}", arrays


@pytest.mark.parametrize("cases", [with_numbers, of_two_arrays, of_casts])
def test_some(cases: Any) -> None:
    agree(random.Random(0).sample(list(cases()), 150))


@pytest.mark.slow
@pytest.mark.parametrize("cases", [with_numbers, of_two_arrays, of_casts])
def test_everything(cases: Any) -> None:
    agree(list(cases()))


def agree(cases: list[Case]) -> None:
    """What is refused is no matter of this test, but most must not be."""
    read = 0
    for text, arrays in cases:
        try:
            (expected,), _ = run_numpy(text, arrays)
            op = parse_op(text, "program.py")
        except (InputError, TypeError, OverflowError):  # bools have no -, numbers do not fit
            continue
        read += 1
        found = run_nest(op, arrays, {"n": len(arrays["a"])})[op.results[0]]
        np.testing.assert_array_equal(found, expected, err_msg=text, strict=True)
        if found.dtype.kind == "f":
            signs = (np.signbit(each)[~np.isnan(found)] for each in (found, expected))
            np.testing.assert_array_equal(*signs, err_msg=text)
    assert 2 * read > len(cases)


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL.values() if dtype.is_integer], ids=str)
def test_shifts_by_any_count(dtype: DType) -> None:
    """By the width or more, or by less than 0, no digit is left."""
    counts = [count for count in (-9, -1, 0, 1, dtype.bits - 1, dtype.bits, 100) if dtype.kind == "i" or count >= 0]
    a, b = (np.ascontiguousarray(each.ravel()) for each in np.meshgrid(values(dtype), np.array(counts, dtype.numpy)))
    agree([_program("a << b", a=a, b=b), _program("a >> b", a=a, b=b)])
    literals = [_program(f"a {op} {count}", a=a) for op in ("<<", ">>") for count in counts]
    agree(literals)
    assert "&&" not in str(parse_op(literals[3][0], "program.py").nest)  # a count that is known needs no test
