"""What NumPy's functions, operators and subscripts give: dtypes, shapes and values, of the lines in expressions/."""

import re
from pathlib import Path

import numpy as np
import pytest
from op_programs import agree

NAN = np.nan
MATRIX = [[3, 1, -3, 2.5], [-5, 0.5, 5, -5.5], [4, -4, 1, 0], [-0.0, 6, 0.7, -1]]
GIVEN = {
    "X": np.array([[3, 1, NAN, 2], [5, 0, 5, 5], [4, 4, 1, 0], [NAN, 6, NAN, 1]]),
    "Y": np.array(MATRIX),
    "F": np.array(MATRIX, np.float32),
    "I": np.array([[3, -7, 2, 0], [5, 1, -5, 2], [9, 4, -1, 3], [2, 6, -6, 1]], np.int32),
    "J": np.array([[2, 3, -2, 1], [3, -4, 4, 5], [-2, 1, 3, 2], [1, 2, -3, 4]], np.int32),
    "U": np.array([[2, 3, 2, 1], [3, 4, 4, 5], [2, 1, 3, 2], [1, 2, 3, 4]], np.uint8),
    "B": np.array([[0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0], [0, 0, 1, 1]], bool),
    "K": np.arange(24.0).reshape(2, 3, 4),
    "P": np.array([2, 3, -2, 1], np.int32),
    "v": np.array([1.5, -2, 3, 0.25]),
    "w": np.arange(5.0),
    "q": np.arange(5, dtype=np.float32),
    "z": np.arange(15.0).reshape(5, 3),
    "idx": np.array([3, 0, -2], np.int32),
    "s": np.float32(1.5),
}
SYMBOLIC = {"w": '"n"', "q": '"n"', "z": '"n", "m"', "idx": '"k"'}
LINES = [
    pytest.param(line, id=f"{file.stem}: {line}")
    for file in sorted((Path(__file__).parent / "expressions").glob("*.txt"))
    for line in file.read_text().splitlines()
]


@pytest.mark.parametrize("line", LINES)
def test_as_numpy(line):
    body = line.replace("; ", "\n    ") if ";" in line else f"return {line}"
    given = {name: value for name, value in GIVEN.items() if re.search(rf"(?<![\w.]){name}(?![\w(])", line)}
    parameters = ", ".join(f"{name}: {_annotation(name, value)}" for name, value in given.items())
    agree(f"def f({parameters}):\n    {body}", sizes={"n": 5, "m": 3, "k": 3}, **given)


def _annotation(name, value):
    dtype = {"float64": "f64", "float32": "f32", "int32": "i32", "uint8": "u8", "bool": "boolean"}[value.dtype.name]
    shape = SYMBOLIC.get(name, ", ".join(map(str, value.shape)))
    return f"ps.{dtype}[{shape}]" if shape else f"ps.{dtype}"
