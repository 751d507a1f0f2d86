"""Arguments of a kernel as the command line has them, and how it may be called.

a=f32[100,20]      random numbers        n=100, on=1, s=0.5      a number
a=[100]            of its own type       p.n=100 p.a=f32[9]      fields of a struct, the others are 0
a=FILE.npy         what is in the file
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.frontend.cuda.kernel import Kernel, Parameter
from polysched.ir.dtypes import ALL
from polysched.runtime.struct_arguments import POINTER


def named_arguments(texts: Sequence[str], parameters: Sequence[Parameter] = ()) -> dict[str, Any]:
    """The arguments that the texts mean, for a kernel with these parameters."""
    rng = np.random.default_rng(0)
    types = {parameter.name: parameter for parameter in parameters}
    found: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        *structs, last = name.split(".")
        inside = found
        for struct in structs:
            inside = inside.setdefault(struct, {})
            if not isinstance(inside, dict):
                raise InputError(f"'{text}': {struct} is given before, and not by its fields")
        inside[last] = _argument(text, name, value, types.get(name), rng)
    return found


def trial_data(dtype: np.dtype, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Random numbers that a kernel may compute with: floats around 1, and integers that may be indices."""
    array = np.zeros(shape, dtype)
    if dtype.names is not None:
        for name in dtype.names:
            array[name] = trial_data(array[name].dtype, array[name].shape, rng)
    elif dtype.kind == "f":
        array[...] = rng.uniform(0.5, 1.5, shape)
    elif dtype.kind in "biu":
        array[...] = rng.integers(0, min(2, *shape) if shape else 2, shape)
    return array


def example_call(kernel: Kernel, *, is_dynamic: bool) -> list[str]:
    """Options of `polysched verify` that call the kernel, with sizes to be replaced."""
    options = ["--kernel", kernel.example, "--grid", "4", "--block", "32"]
    options += ["--dynamic-shared", "4096"] if is_dynamic else []
    for parameter in kernel.parameters:
        for name, value in _examples(parameter.name, parameter.dtype, parameter.is_pointer):
            options += ["--arg", f"{name}={value}"]
    return [shlex.quote(option) for option in options]


def _examples(name: str, dtype: np.dtype | None, is_pointer: bool) -> list[tuple[str, str]]:
    if is_pointer or dtype == POINTER:
        kind = "f32" if dtype is None or dtype == POINTER else _NAMES.get(dtype, "")
        return [(name, f"{kind}[1000]")]
    if dtype is not None and dtype.names is not None:
        return [it for field in dtype.names for it in _examples(f"{name}.{field}", dtype[field], False)]
    return [(name, "0.5" if dtype is not None and dtype.base.kind == "f" else "100")]


_NAMES = {np.dtype(it.numpy): name for name, it in ALL.items()}


def _argument(text: str, name: str, value: str, parameter: Parameter | None, rng: np.random.Generator) -> Any:
    if found := re.fullmatch(r"(\w*)\[(\d+(?:,\s*\d+)*)\]", value):
        dtype = np.dtype(ALL[found[1]].numpy) if found[1] in ALL else None
        if not found[1] and parameter is not None:
            dtype = parameter.dtype
        if dtype is None:
            what = f"'{found[1]}' is no type" if found[1] else f"the type of '{name}' is not known"
            raise InputError(f"{text}: {what}", hint=f"one of {', '.join(ALL)}, as in {name}=f32[{found[2]}]")
        return trial_data(dtype, tuple(int(extent) for extent in found[2].split(",")), rng)
    if value.endswith(".npy"):
        try:
            return np.load(value)
        except (OSError, ValueError) as error:
            raise InputError(f"'{value}' cannot be read as an array: {error}") from error
    return _number(text, value)


def _number(text: str, value: str) -> int | float:
    for number in (int, float):
        try:
            return number(value)
        except ValueError:
            continue
    raise InputError(f"'{text}' is no argument", hint="write NAME=f32[100,20], NAME=FILE.npy or NAME=NUMBER")
