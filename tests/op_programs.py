"""Operators in Python's text, run by NumPy and as nests: helpers of tests, and random programs.

agree("def f(a: ps.f32['n']):\n    return a[::-1] + 1", a=array)      AssertionError where the results differ
random_program(random)                                                a text that NumPy runs, with its arguments
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

import polysched as ps
from polysched.errors import InputError
from polysched.frontend.op.op import Op, parse_op
from polysched.ir.dtypes import DType
from polysched.ir.interp import evaluate, interpret

SIZES = {"n": 5, "m": 3}


def run_numpy(
    text: str, arguments: dict[str, Any], outside: dict[str, Any] | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the function returns, and its arguments afterwards; `outside` is what other names stand for."""
    names: dict[str, Any] = {"math": math, "np": np, "ps": ps, **(outside or {})}
    exec(text, names)
    (function,) = [value for value in names.values() if callable(value)]
    given = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    with np.errstate(all="ignore"):
        result = function(**given)
    return result if isinstance(result, tuple) else () if result is None else (result,), given


def run_nest(op: Op, arguments: dict[str, Any], sizes: dict[str, int]) -> dict[str, Any]:
    """The arrays of the nest after it has been interpreted; new ones are filled with what no program computes."""
    given = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    given |= {name: sizes[name] for name in op.nest.sizes}
    defaults = dict(op.nest.defaults)
    for array in op.nest.arrays:
        if array.name not in given and array.name not in defaults:
            shape = [evaluate(extent, dict(sizes)) for extent in array.shape]
            given[array.name] = np.full(shape, 77, array.dtype.numpy)
    interpret(op.nest, given)
    return given


def agree(text: str, sizes: dict[str, int] | None = None, **arguments: Any) -> Op:
    """The operator; AssertionError if it does not compute what NumPy does, to the dtype and the shape."""
    op = parse_op(text, "program.py")
    returned, changed = run_numpy(text, arguments)
    after = run_nest(op, arguments, sizes or SIZES)
    tolerance = _TOLERANCES[min((t.bits for t in _floats(op)), default=64)]
    for name, expected in zip(op.results, returned, strict=True):
        same(np.asarray(expected), after[name], name, text, tolerance)
    for name, value in changed.items():
        if isinstance(value, np.ndarray):
            same(value, after[name], name, text, tolerance)
    return op


_TOLERANCES = {16: 1e-2, 32: 1e-5, 64: 1e-12}


def _floats(op: Op) -> list[DType]:
    """The float dtypes that the operator computes in."""
    body = op.ssa.body
    values = [*body.arguments, *(result for operation in body.operations for result in operation.results)]
    return [value.type.dtype for value in values if value.type.dtype.is_float]


def same(expected: np.ndarray, found: np.ndarray, name: str, text: str, tolerance: float) -> None:
    assert found.shape == expected.shape, f"{name} is {found.shape}, not {expected.shape}:\n{text}"
    assert found.dtype == expected.dtype, f"{name} is {found.dtype}, not {expected.dtype}:\n{text}"
    tolerance = tolerance if found.dtype.kind == "f" else 0.0
    close = np.allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    assert close, f"{name} is\n{found}\nnot\n{expected}\nof\n{text}"


# --- random programs

_DTYPES = ("f32", "f64", "i32", "i64", "i8", "u8", "i16", "boolean")
_SHAPES = ('"n"', '"n", "m"', '"m"', "4", '"n", 4', '"2*m"', '"n", 1', '2, "m"')


def random_program(chance: random.Random, statements: int = 5) -> tuple[str, dict[str, Any], int]:
    """A text, its arguments, and how many statements that NumPy runs were refused on the way to it."""
    arguments, annotations = {}, []
    generator = np.random.default_rng(chance.randrange(1 << 30))
    for name in "abc":
        dtype, shape = chance.choice(_DTYPES), chance.choice(_SHAPES)
        annotations.append(f"{name}: ps.{dtype}[{shape}]")
        extents = eval(f"[{shape.replace(chr(34), '')}]", dict(SIZES))
        kind = "bool" if dtype == "boolean" else getattr(ps, dtype).numpy
        low, high = (0, 2) if dtype == "boolean" else (0, 9) if dtype == "u8" else (-9, 9)
        arguments[name] = generator.integers(low, high, extents).astype(kind)
        if dtype in ("f32", "f64") and chance.random() < 0.2:
            arguments[name].flat[chance.randrange(arguments[name].size)] = np.nan
    head = f"def f({', '.join(annotations)}):"
    lines: list[str] = []
    known = ["a", "b", "c"]
    refused = 0
    for k in range(200):
        if len(lines) >= statements:
            break
        line, name = _statement(chance, known, f"v{k}")
        text = "\n    ".join([head, *lines, line, f"return {name}"])
        try:
            run_numpy(text, arguments)
        except Exception:
            continue
        try:
            parse_op(text, "program.py")
        except InputError:
            refused += 1
            continue
        lines.append(line)
        if name not in known:
            known.append(name)
    results = chance.sample(known, min(2, len(known)))
    returned = ", ".join(dict.fromkeys([known[-1], *results]))
    return "\n    ".join([head, *lines, f"return {returned}"]), arguments, refused


def _statement(chance: random.Random, known: list[str], new: str) -> tuple[str, str]:
    """A statement, and the name that it gives a value."""
    target = chance.choice(known)
    part, op = f"{target}[{_subscript(chance)}]", chance.choice(["+=", "-=", "*="])
    match chance.randrange(11):
        case 0:
            return f"{part} = {_expression(chance, known)}", target
        case 1:
            return f"{part} {op} {_expression(chance, known, 1)}", target
        case 2:
            return f"{target} {op} {_expression(chance, known, 1)}", target
        case 3:
            return f"{new} = {part}", new
        case 4:
            return f"{new} = {_shaped(chance, known)}", new
        case 5 | 6:
            return f"{new} = {_reduced(chance, known)}", new
        case 7:
            more = chance.choice(["", " * 2", ".sum()", f" + {chance.choice(known)}"])
            return f"{part} = {target}[{_subscript(chance)}]{more}", target
    return f"{new} = {_expression(chance, known)}", new


def _expression(chance: random.Random, known: list[str], depth: int = 3) -> str:
    if depth == 0 or chance.random() < 0.25:
        leaf = chance.choice(known)
        return chance.choice([leaf, leaf, leaf, chance.choice(_NUMBERS), f"{leaf}[{_subscript(chance)}]"])
    left, right = _expression(chance, known, depth - 1), _expression(chance, known, depth - 1)
    match chance.randrange(11):
        case 0 | 1 | 2:
            op = chance.choice("+-*/")
            return f"({left} / (np.abs({right}) + 1))" if op == "/" else f"({left} {op} {right})"
        case 3:
            cond = f"{left} {chance.choice(['<', '>=', '==', '!='])} {right}"
            return f"np.where({cond}, {_expression(chance, known, 1)}, {right})"
        case 4:
            return f"np.{chance.choice(_OF_TWO)}({left}, {right})"
        case 5:
            name = chance.choice(_OF_ONE)
            return f"np.{name}({left}{')' * (name.count('(') + 1)}"
        case 6:
            return f"({left} {chance.choice('&|^')} {right})"
        case 7:
            return f"({left}).astype(np.{chance.choice(['float32', 'int32', 'float64', 'int16'])})"
        case 8:
            return (
                f"({left} {chance.choice(['//', '%'])} {chance.choice(['2', '-3', '1.5', f'(np.abs({right}) + 1)'])})"
            )
        case 9:
            return f"({left} ** {chance.choice([0, 1, 2, 3, 5])})"
    return f"({left} {chance.choice(['<', '<=', '>', '=='])} {right})"


def _subscript(chance: random.Random) -> str:
    return ", ".join(chance.choice(_PARTS) for _ in range(chance.choice([1, 1, 2])))


_NUMBERS = ["1", "2", "0.5", "-1", "3"]
_SUBSCRIPTS = ":  ::-1  1:  :-1  ::2  1::2  -2:  0  -1  None  ...  :2  3:0:-1  :-4:-1  [1, -1]"
_PARTS = _SUBSCRIPTS.split("  ")
_FUNCTIONS = """abs sqrt(np.abs exp(-np.abs tanh floor square sign rint ceil log1p(np.abs expm1(-np.abs isnan
    isfinite logical_not nan_to_num fabs"""
_OF_ONE = _FUNCTIONS.split()
_OF_TWO = [*["maximum", "minimum"] * 2, "fmax", "fmin", "hypot", "logical_and", "logical_xor", "arctan2"]


def _shaped(chance: random.Random, known: list[str]) -> str:
    x, y = chance.choice(known), chance.choice(known)
    return chance.choice(
        [
            f"{x}.T",
            f"{x}.reshape(-1)",
            f"np.stack([{x}, {y}], axis={chance.choice([0, 1, -1])})",
            f"np.concatenate([{x}, {y}], axis={chance.choice([0, -1])})",
            f"np.pad({x}, {chance.choice([1, '(1, 2)'])})",
            f"{x}.copy()",
            f"np.zeros_like({x})",
            f"np.flip({x}, axis=-1)",
            f"np.cumsum({x}, axis={chance.choice([0, -1])})",
            f"{x}[np.array([0, 2, 1, 0])]",
            f"np.clip({x}, -3, 4)",
            f"np.expand_dims({x}, 0)",
            f"np.broadcast_to({x}, (2, *{x}.shape))",
            f"np.roll({x}, {chance.choice([1, -1, 2])}, axis={chance.choice([0, -1])})",
            f"np.{chance.choice(['tile', 'repeat'])}({x}, 2)",
            f"np.repeat({x}, 3, axis=0)",
            f"np.{chance.choice(['tril', 'triu'])}({x}, {chance.choice([0, 1, -1])})",
            f"np.{chance.choice(['diag', 'diagonal', 'trace', 'rot90', 'flipud', 'ravel', 'transpose'])}({x})",
            f"np.diff({x}, axis={chance.choice([0, -1])})",
            f"np.pad({x}, 1, mode='{chance.choice(['edge', 'reflect', 'symmetric', 'wrap'])}')",
            f"np.{chance.choice(['vstack', 'hstack', 'column_stack'])}([{x}, {y}, {x}])",
            f"np.cumprod({x}, axis=0)",
            f"np.{chance.choice(['maximum', 'minimum'])}.accumulate({x}, axis={chance.choice([0, -1])})",
            f"np.take({x}, [0, 2], axis={chance.choice([0, -1])})",
            f"np.take_along_axis({x}, np.argmax({x}, axis=0, keepdims=True), axis=0)",
            f"np.swapaxes({x}, 0, -1)",
            f"np.lib.stride_tricks.sliding_window_view({x}, 2, axis=-1)",
            f"np.split({x}, 2, axis=-1)[{chance.choice([0, 1])}]",
            f"np.eye({x}.shape[0]) + {x}",
            f"np.arange({x}.shape[0]) * 2",
            f"np.linspace(0, 1, {x}.shape[-1]) * {x}",
            f"np.full_like({x}, 3)",
            f"np.outer({x}, {y})",
            f"np.where({x} > 1, {chance.choice(['1', '2.5', 'np.nan'])}, {y})",
        ]
    )


def _reduced(chance: random.Random, known: list[str]) -> str:
    x, y = chance.choice(known), chance.choice(known)
    name = chance.choice(["sum", "max", "min", "mean", "any", "all", "argmax", "argmin", "prod", "var", "std"])
    more = chance.choice(["ptp", "count_nonzero", "nansum", "nanmean", "average", "linalg.norm", "add.reduce"])
    axis = chance.choice(["", "axis=0", "axis=-1", "axis=1"])
    keep = chance.choice(["", "keepdims=True"])
    arguments = ", ".join(part for part in (axis, keep) if part)
    return chance.choice(
        [
            f"{x}.{name}({arguments})",
            f"np.{name}({_expression(chance, known, 2)}{', ' if arguments else ''}{arguments})",
            f"{x} @ {y}",
            f"np.{more}({x}{', ' if axis else ''}{axis})",
            f"np.{chance.choice(['sum', 'prod', 'any'])}({x}, {axis or 'axis=None'}, where={y} > 0)",
            f"np.{chance.choice(['max', 'min', 'sum'])}({x}, {axis or 'axis=None'}, initial=2)",
            f"np.{chance.choice(['dot', 'inner'])}({x}, {x})",
            f"np.tensordot({x}, {y}, axes=1)",
            f"np.einsum('...i->...', {x})",
            f"np.einsum('i,i->i', {x}, {y})",
            f"np.einsum('ij,kj->ik', {x}, {y})",
        ]
    )
