"""Python and NumPy are the specification: expressions are typed and computed as they compute them."""

from __future__ import annotations

import ast
import math
import random
from typing import Any

import numpy as np
import pytest

from polysched.errors import InputError
from polysched.frontend.arithmetic import Typed
from polysched.frontend.python_expressions import Expressions, Scope
from polysched.frontend.python_source import Source
from polysched.ir.dtypes import ALL, boolean, f16
from polysched.ir.interp import evaluate
from polysched.ir.text import show

SCALARS = {f"x_{name}": dtype for name, dtype in ALL.items()}
FUNCTIONS: dict[str, Any] = {"math": math, "np": np, **{name: dtype for name, dtype in ALL.items() if name != "bool"}}


def read(text: str) -> Typed:
    """The expression over a size n, a loop variable i, and a scalar x_DTYPE of each dtype."""
    scope = Scope(("n",), SCALARS, loops=("i",), all_loops=frozenset("i"))
    return Expressions(Source("f.py", (text,)), scope).value(ast.parse(text, mode="eval").body)


def check_against_python(text: str, values: dict[str, Any]) -> None:
    """The dtype is Python's, weak if it is a number of Python, and so is the value."""
    with np.errstate(all="ignore"):
        expected = eval(text, dict(FUNCTIONS), values)
    typed = read(text)
    assert typed.weak == (not isinstance(expected, np.generic)), text
    assert typed.type.dtype.numpy == np.asarray(expected).dtype.name, text
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    rtol = 2e-3 if typed.type.dtype == f16 else 1e-6 if typed.type.dtype.bits == 32 else 1e-13
    np.testing.assert_allclose(evaluate(typed.expr, plain), expected, rtol=rtol, err_msg=text)


def values(rng: random.Random) -> dict[str, Any]:
    numbers = {name: dtype(rng.choice((1, 2, 3, 5, 7))) for name, dtype in SCALARS.items()}
    return {"n": rng.randint(1, 9), "i": rng.randint(1, 9), **numbers}


def test_example() -> None:
    assert show(read("x_f32 / 2 + i").expr) == "x_f32 / 2.0f32 + f32(i)"
    assert show(read("x_i8 + x_i16").expr) == "i16(x_i8) + x_i16"
    assert read("x_f32 / 2 + i").type.dtype == ALL["f32"]


SPELLED = [
    ("-x_i8", "-x_i8"),
    ("-1", "-1"),
    ("+x_f32", "x_f32"),
    ("~x_u8", "~x_u8"),
    ("n / 2", "f64(n) / 2.0"),
    ("x_i8 / x_i8", "f64(x_i8) / f64(x_i8)"),
    ("x_i8 * 0.5", "f64(x_i8) * 0.5"),
    ("x_f32 * (i + 1)", "x_f32 * f32(i + 1)"),
    ("x_f32 * (1 / 3)", "x_f32 * f32(1.0 / 3.0)"),
    ("i // 2", "floordiv(i, 2)"),
    ("x_u8 % 3", "floormod(x_u8, 3u8)"),
    ("x_f64 ** 2", "x_f64 * x_f64"),
    ("x_i32 ** 4", "x_i32 * x_i32 * x_i32 * x_i32"),
    ("x_f32 ** 5", "pow(x_f32, 5.0f32)"),
    ("x_f64 ** x_f32", "pow(x_f64, f64(x_f32))"),
    ("x_i32 == i", "i64(x_i32) == i"),
    ("x_i32 == 5", "x_i32 == 5i32"),
    ("x_f32 < 0.1", "x_f32 < 0.1f32"),
    ("0 <= i < n", "0 <= i && i < n"),
    ("(x_bool & (i < n)) | (i > 3)", "x_bool && i < n || i > 3"),
    ("x_bool ^ x_bool", "x_bool != x_bool"),
    ("i < 3 and not x_f64", "i < 3 && !(x_f64 != 0.0)"),
    ("x_f32 if i else 1", "i != 0 ? x_f32 : 1.0f32"),
    ("min(i, n, 4)", "min(min(i, n), 4)"),
    ("max(x_f32, x_i64)", "max(f64(x_f32), f64(x_i64))"),
    ("abs(x_f32)", "fabs(x_f32)"),
    ("abs(x_i8)", "max(x_i8, -x_i8)"),
    ("abs(x_u8)", "x_u8"),
    ("sqrt(x_f32)", "sqrt(x_f32)"),
    ("np.arctan2(x_f32, 1)", "atan2(x_f32, 1.0f32)"),
    ("math.exp(x_i8)", "exp(f64(x_i8))"),
    ("floor(x_f32)", "floor(x_f32)"),
    ("math.floor(x_f32)", "i64(floor(x_f32))"),
    ("f32(i)", "f32(i)"),
    ("f32(2)", "2.0f32"),
    ("np.int8(x_f64)", "i8(x_f64)"),
    ("u8(300)", "u8(300)"),
    ("float(x_f32)", "f64(x_f32)"),
    ("int(x_f64)", "i64(x_f64)"),
    ("bool(x_f64)", "x_f64 != 0.0"),
    ("x_f32 + True", "x_f32 + 1.0f32"),
    ("(i < n) + 1", "i64(i < n) + 1"),
    ("(i < n) + (i < 2)", "i64(i < n) + i64(i < 2)"),
    ("math.pi * x_f32", "3.1415927f32 * x_f32"),
]


@pytest.mark.parametrize(("text", "expected"), SPELLED)
def test_spelled_out(text: str, expected: str) -> None:
    assert show(read(text).expr) == expected


@pytest.mark.parametrize("text", [text for text, _ in SPELLED if text.startswith(("-", "~", "n", "x", "(", "i", "0"))])
def test_as_python_computes(text: str) -> None:
    if " if " not in text and " and " not in text:
        check_against_python(text, values(random.Random(1)))


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "==", "<"])
def test_all_pairs_of_dtypes(op: str) -> None:
    """Every operator on every pair of dtypes, sizes and literals: the dtype of Python, or refused."""
    operands = [*SCALARS, "i", "3"]
    numbers = values(random.Random(2))
    for left in operands:
        for right in operands:
            if is_known(op, left, right):
                check_against_python(f"{left} {op} {right}", numbers)
            else:
                with pytest.raises(InputError):
                    read(f"{left} {op} {right}")


def is_known(op: str, left: str, right: str) -> bool:
    """Whether a nest has the operator between these; NumPy's arithmetic of bools and // and % of floats it has not."""
    if op in ("/", "==", "<"):
        return True
    if left == right == "x_bool":
        return op in ("&", "|", "^")
    return op in ("+", "-", "*") or read(f"{left} + {right}").type.dtype.is_integer


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        text, numbers = random_text(rng, 3), values(rng)
        try:
            read(text)
        except InputError as error:
            assert "bools" in str(error) or "does not fit" in str(error), text
            continue
        try:
            with np.errstate(all="ignore"):
                eval(text, dict(FUNCTIONS), numbers)
        except OverflowError:  # a Python number that does not fit in the dtype beside it; we wrap
            continue
        check_against_python(text, numbers)


def random_text(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice((*SCALARS, "i", "n", "2", "0.25"))
    left, right = random_text(rng, depth - 1), random_text(rng, depth - 1)
    if rng.random() < 0.15:
        return f"{rng.choice(('f32', 'f64'))}({left})"
    return f"({left} {rng.choice(('+', '*', '/', '==', '<='))} {right})"


def test_numbers_may_be_bools_as_operands() -> None:
    assert read("x_bool + x_i8").type.dtype == ALL["i8"]
    assert read("x_bool and i < n").type.dtype == boolean
