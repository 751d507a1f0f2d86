"""Instructions of the user's own: made of a nest and a text in C, which is held against the nest before it is used.

    matvec4 = ps.instruction(matvec4, "for (int i = 0; i < 4; i++) ...")

The text runs in a process of its own, on random data, with its operands in several layouts, and with memory around them
that it must not change.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from polysched.check.trials.rounding import at_first, is_whole, tolerance, with_bounds
from polysched.codegen.emit.dialect import C
from polysched.codegen.emit.foreign import definitions
from polysched.errors import InputError, ToolchainError
from polysched.frontend.python import Nest
from polysched.ir.dtypes import DType
from polysched.ir.interp import interpret
from polysched.ir.nodes import Const, Foreign, Function
from polysched.model.extract import extract
from polysched.model.instructions.own import INSTRUCTIONS, OwnInstruction, require_own, show_strides
from polysched.runtime.toolchain import c_flags, compile_shared, find_compiler
from polysched.support.entry import entry

_FLAGS = "-m", "-D", "-I"  # what those may begin with that leave alone how floats are rounded
_SECONDS = 20.0
_LINE = 64  # bytes that an instruction may want its operands to be aligned to
_SIGNALS = {
    "SIGILL": (": this processor lacks an instruction in it", "check=False makes it for another machine"),
    "SIGSEGV": ("", "it may use the elements of its operands alone, which are aligned as C asks, and no more"),
}
_CHILD = Path(__file__).with_name("instruction_child.py")


@entry
def instruction(
    nest: Nest | Function,
    text: str,
    *,
    headers: Sequence[str] = (),
    flags: Sequence[str] = (),
    strides: Mapping[str, Sequence[int | None]] | None = None,
    check: bool = True,
) -> OwnInstruction:
    """An instruction of yours for CPUs, which does what the nest says, by the text in C: `tensorize` has it run tiles.

    The nest has constant extents, and loops around one statement. The text is the body of a function: of an array A of
    two dimensions it is given a pointer to A[0, 0], and A_0 and A_1, how many elements A[i + 1, k] and A[i, k + 1] lie
    behind A[i, k]; of a scalar its value. Nothing is known of alignment. `strides` are those that an array has to have,
    as in {"A": (None, 1)}; `headers` are included, as in ["immintrin.h"], and `flags` are for the compiler, as -mavx2.

    It is run on random data, unless `check` is off, which is for instructions that this machine has not. InputError
    shows where it differs from the nest: integers are equal, and floats as close as sums in any order are.
    """
    function = nest.function if isinstance(nest, Nest) else nest
    if not isinstance(function, Function):
        raise InputError(f"{nest!r:.60} is not a nest", hint="decorate the function with @polysched.nest")
    if wrong := [each for each in flags if not each.startswith(_FLAGS)]:
        hint = "it is one as -mavx2, -DNAME or -I/folder, with which floats are rounded as before"
        raise InputError(f"'{wrong[0]}' is no flag of an instruction", hint=hint)
    needs = tuple((name, tuple(each)) for name, each in (strides or {}).items())
    own = OwnInstruction(function, text, tuple(headers), tuple(flags), needs)
    require_own(own)
    extract(function)  # which refuses subscripts that are out of bounds
    if check:
        _require_right(own)
    INSTRUCTIONS[own.name] = own
    return own


@dataclass(frozen=True)
class _Run:
    """Operands in memory, and what has to come out."""

    strides: Mapping[str, tuple[int, ...]]
    first: Mapping[str, int]  # the number of the element that each begins at
    memory: Mapping[str, np.ndarray]
    expected: np.ndarray  # of the array that is changed
    allowed: np.ndarray  # how far each element may be from that


def _require_right(own: OwnInstruction) -> None:
    """InputError, which shows the first difference, unless the text does what the nest does."""
    find_compiler()
    rng = np.random.default_rng(0)
    runs = [_run(own, strides, style, rng) for strides in _layouts(own) for style in ("any", "whole")]
    for run, after in zip(runs, _after(own, runs), strict=True):
        _compare(own, run, after)


def _layouts(own: OwnInstruction) -> Iterator[dict[str, tuple[int, ...]]]:
    """Strides of all arrays: one after the other, with gaps, backwards, in the other order, and, of what is only read,
    the same element again and again."""
    for gap, turned, sign in ((0, False, 1), (3, False, 1), (1, True, 1), (0, True, -1), (0, False, 0)):
        yield {array.name: _strides(own, array.name, gap, turned, sign) for array in own.nest.arrays}


def _strides(own: OwnInstruction, name: str, gap: int, turned: bool, sign: int) -> tuple[int, ...]:
    extents, needs = _extents(own.nest, name), own.needs(name)
    if sign == 0 and name != own.store.array:
        return tuple(0 if each is None else each for each in needs)
    sign = sign or 1
    found = list(needs)
    reach = 1 + sum((n - 1) * abs(each) for n, each in zip(extents, needs, strict=True) if each is not None)
    free = [d for d, each in enumerate(needs) if each is None]
    for d in free if turned else reversed(free):
        found[d] = sign * (reach + gap)
        reach += (extents[d] - 1) * (reach + gap)
    return tuple(each or 0 for each in found)


def _extents(nest: Function, name: str) -> tuple[int, ...]:
    return tuple(int(each.value) for each in nest.array(name).shape if isinstance(each, Const))


def _run(own: OwnInstruction, strides: dict[str, tuple[int, ...]], style: str, rng: np.random.Generator) -> _Run:
    memory, first, elements = dict[str, np.ndarray](), dict[str, int](), dict[str, Any]()
    for array in own.nest.arrays:
        spans = [(n - 1) * by for n, by in zip(_extents(own.nest, array.name), strides[array.name], strict=True)]
        first[array.name] = _LINE - sum(min(0, span) for span in spans)
        size = first[array.name] + sum(max(0, span) for span in spans) + _LINE
        memory[array.name] = _random(array.dtype, style, size, rng)
        elements[array.name] = _view(own.nest, array.name, memory, first, strides).copy()
    for scalar in own.nest.scalars:
        memory[scalar.name], first[scalar.name] = _random(scalar.dtype, style, 1, rng), 0
        elements[scalar.name] = memory[scalar.name][0]
    bounded, names = with_bounds(own.nest)
    beside = at_first(names, elements)
    interpret(bounded, {**elements, **beside})
    expected = elements[own.store.array]
    allowed = np.zeros(expected.shape)
    if own.store.array in names:
        figures = [beside[each] for each in names[own.store.array]]
        exact = style == "whole" and is_whole(own.nest)
        allowed = tolerance(own.store.value.dtype, *figures, exact=exact)
    return _Run(strides, first, memory, expected, allowed)


def _random(dtype: DType, style: str, size: int, rng: np.random.Generator) -> np.ndarray:
    if dtype.is_float:
        values = rng.standard_normal(size) if style == "any" else rng.integers(-4, 5, size)
        return values.astype(dtype.numpy)
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(dtype.numpy)
    limits = np.iinfo(dtype.numpy)
    return rng.integers(limits.min, limits.max, size, dtype.numpy, endpoint=True)


def _view(
    nest: Function,
    name: str,
    memory: Mapping[str, np.ndarray],
    first: Mapping[str, int],
    strides: Mapping[str, tuple[int, ...]],
) -> np.ndarray:
    """The elements of an operand."""
    steps = (np.arange(extent) * by for extent, by in zip(_extents(nest, name), strides[name], strict=True))
    at = reduce(np.add.outer, steps, np.array(first[name]))
    return np.asarray(memory[name][at])


def _after(own: OwnInstruction, runs: Sequence[_Run]) -> Iterator[dict[str, np.ndarray]]:
    """The memory of each run after the instruction has run."""
    foreign = own.foreign
    names = [each.name for each in foreign.arrays] + [each.name for each in foreign.scalars]
    blob, given, starts = b"", [], list[dict[str, int]]()
    for run in runs:
        offsets, begins = [], {}
        for name in names:
            size = run.memory[name].itemsize
            begins[name] = len(blob) + size  # aligned to no more than an element
            offsets.append(begins[name] + run.first[name] * size)
            blob += b"\0" * size + run.memory[name].tobytes()
            blob += b"\0" * (-len(blob) % _LINE)
        strides = [by for array in foreign.arrays for by in run.strides[array.name]]
        given.append({"offsets": offsets, "strides": strides})
        starts.append(begins)
    out = _child(own, _library(own), json.dumps(given), blob)
    for run, begins in zip(runs, starts, strict=True):
        sizes = {name: (memory.dtype, len(memory)) for name, memory in run.memory.items()}
        yield {name: np.frombuffer(out, *sizes[name], begin) for name, begin in begins.items()}


def _library(own: OwnInstruction) -> Path:
    """The compiled text, and a function that calls it."""
    text = _text(own.foreign)
    try:
        return compile_shared(text, own.name, flags=(*c_flags(text), *own.flags))
    except ToolchainError as error:
        raise InputError(f"the text of '{own.name}' does not compile: {error}") from None


def _text(of: Foreign) -> str:
    types = C.types
    count = len(of.arrays)
    arguments = [f"({types[a.dtype.name]} *)(at + offsets[{k}])" for k, a in enumerate(of.arrays)]
    arguments += [f"*({types[s.dtype.name]} *)(at + offsets[{count + k}])" for k, s in enumerate(of.scalars)]
    arguments += [f"strides[{k}]" for k in range(sum(len(array.shape) for array in of.arrays))]
    lines = [f"#include <{name}>" for name in ("stdint.h", "stdbool.h", *of.includes)]
    lines += definitions([of], lambda dtype: types[dtype.name])
    head = "void hold(char *at, const int64_t *offsets, const int64_t *strides)"
    return "\n".join([*lines, head, "{", f"    {of.name}({', '.join(arguments)});", "}", ""])


def _child(own: OwnInstruction, library: Path, told: str, blob: bytes) -> bytes:
    """The memory after all runs; InputError if the process does not end as it should."""
    command = [sys.executable, "-S", "-E", str(_CHILD), str(library), told]
    try:
        run = subprocess.run(command, input=blob, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(f"the text of '{own.name}' does not end within {_SECONDS:g} s") from None
    if run.returncode < 0:
        name = signal.Signals(-run.returncode).name
        why, hint = _SIGNALS.get(name, ("", ""))
        raise InputError(f"the text of '{own.name}' ends its process by {name}{why}", hint=hint)
    if run.returncode or len(run.stdout) != len(blob):
        raise InputError(f"the text of '{own.name}' cannot be run: {run.stderr.decode(errors='replace')[-500:]}")
    return run.stdout


def _compare(own: OwnInstruction, run: _Run, after: Mapping[str, np.ndarray]) -> None:
    name = own.store.array
    got = _view(own.nest, name, after, run.first, run.strides)
    where = ", ".join(f"{each} {show_strides(by)}" for each, by in run.strides.items())
    wrong = _differs(got, run.expected, run.allowed)
    if wrong.any():
        at = tuple(int(k) for k in np.argwhere(wrong)[0])
        element = f"{name}[{', '.join(map(str, at))}]"
        bound = f" within {run.allowed[at]:.3g}" if got.dtype.kind == "f" else ""
        what = f"gives {got[at]} for {element}, and its nest {run.expected[at]}{bound}"
        raise InputError(f"the text of '{own.name}' {what}, with the strides {where}")
    for each, memory in run.memory.items():
        untouched = memory.copy()
        if each == name:
            _put(own, untouched, run, got)
        if untouched.tobytes() != after[each].tobytes():
            beside = "beside the elements of" if each == name else "of"
            raise InputError(f"the text of '{own.name}' changes memory {beside} {each}, with the strides {where}")


def _differs(got: np.ndarray, expected: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Which elements are further from those expected than is allowed; NaNs are alike."""
    if got.dtype.kind != "f":
        return np.asarray(got != expected)
    with np.errstate(all="ignore"):
        same = (got == expected) | (np.isnan(got) & np.isnan(expected))
        far = np.abs(got.astype(np.longdouble) - expected.astype(np.longdouble))
        return np.asarray(~(same | (far <= allowed)))


def _put(own: OwnInstruction, memory: np.ndarray, run: _Run, values: np.ndarray) -> None:
    """`values` where the array's elements are."""
    name = own.store.array
    for at in product(*map(range, _extents(own.nest, name))):
        memory[run.first[name] + sum(k * by for k, by in zip(at, run.strides[name], strict=True))] = values[at]
