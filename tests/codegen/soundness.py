"""What every pass over expressions must keep, checked on one random program a time.

    check(case(7, "licm"))                      AssertionError if `licm` breaks the program of seed 7

- What the interpreter makes of it: every bit of every array (any NaN is any other), and whether it traps. A trap is a
  division by zero, a subscript out of bounds or a shift by too much; which comes first, and what was stored before, is
  free.
- What `verify` holds at its stage; the same object if nothing changes, and so on a second run (but for the whole stage:
  its passes make work for each other); the same text every time.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from polysched.codegen.emit.c import emit_c
from polysched.codegen.emit.source import Source
from polysched.codegen.expr.cse import cse
from polysched.codegen.expr.dce import dce
from polysched.codegen.expr.licm import licm
from polysched.codegen.expr.normalize import normalize
from polysched.codegen.expr.pressure import relieve
from polysched.codegen.loops.loop_bounds import loop_bounds
from polysched.codegen.loops.ranges import simplify_ranges
from polysched.codegen.loops.unswitch import unswitch
from polysched.codegen.memory.linearize import linearize
from polysched.codegen.stage import improve_expressions
from polysched.config.options import Options
from polysched.config.target import TARGETS
from polysched.errors import LaunchError
from polysched.ir.node import walk
from polysched.ir.nodes import Barrier, Expr, For, Function, If, Let, Stmt, Var
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.ir.verify import Stage, verify
from polysched.prelude.structure.unfuse import unfuse
from polysched.runtime.cpu import CpuProgram, c_function
from polysched.runtime.toolchain import EXACT, find_compiler
from tests.codegen.programs import awkward_arguments, awkward_program
from tests.nests import outcome

Pass = Callable[[Function], Function]


SOURCE: dict[str, Pass] = {"unfuse": unfuse}  # for what front ends give
LOWERED: dict[str, Pass] = {  # for kernels
    "simplify": simplify,
    "loop_bounds": loop_bounds,
    "ranges": simplify_ranges,
    "normalize": normalize,
    "unswitch": unswitch,
    "unswitch freely": partial(unswitch, most_growth=200),
    "cse": cse,
    "cse of all": partial(cse, threshold=1, reach=1000),
    "dce": dce,
    "licm": licm,
    "licm for gpu": partial(licm, threshold=2, tiny_loop=8),
    "relieve": partial(relieve, budget=4),
}
STAGES: dict[str, Pass] = {
    "stage for c": partial(improve_expressions, options=Options(), target=TARGETS["c"]),
    "stage for cuda": partial(improve_expressions, options=Options(), target=TARGETS["cuda"]),
}
PASSES = {**SOURCE, **LOWERED, **STAGES}
SIZES = (0, 1, 3)
TRAPS = (ZeroDivisionError, IndexError, ValueError)


@dataclass(frozen=True, eq=False)
class Case:
    name: str  # of the pass
    seed: int
    fn: Function

    @property
    def stage(self) -> Stage:
        return "source" if self.name in SOURCE else "lowered"


def case(seed: int, name: str | None = None) -> Case:
    """The case of that seed, of one pass or else of all in turn."""
    name = name or tuple(PASSES)[seed % len(PASSES)]
    rng = random.Random(seed)
    gpu = name == "stage for cuda" or (name in LOWERED and rng.random() < 0.4)
    program = awkward_program(rng, lowered=name not in SOURCE, gpu=gpu)
    fn = program if name in SOURCE or rng.random() < 0.3 else linearize(program)
    if name in ("dce", "relieve", "cse", "cse of all") and rng.random() < 0.7:
        fn = licm(fn)  # they have little to do before values are named
    return Case(name, seed, fn)


def check(case: Case) -> Function:
    """The program after the pass; AssertionError, which says what is wrong, if the pass is."""
    fn, change = case.fn, PASSES[case.name]
    verify(fn, case.stage)
    after = change(fn)
    verify(after, case.stage)
    assert not _parts_threads(after.body, frozenset()), "a barrier is under a condition that threads disagree on"
    assert after is fn or after != fn, "nothing changed, but the result is another object"
    assert str(change(fn)) == str(after), "a second run gives another text"
    if case.name not in STAGES:
        again = change(after)
        assert again is after, f"not idempotent: the result becomes\n{show(again)}"
    if after is not fn:
        for arguments in arguments_of(case):
            assert_same(result(fn, arguments), result(after, arguments), arguments)
    return after


def _parts_threads(body: tuple[Stmt, ...], differs: frozenset[str], apart: bool = False) -> bool:
    """Is there a barrier where not all threads come, if `apart` or what depends on the names `differs` decides it?"""

    def depends(*exprs: Expr) -> bool:
        return any(isinstance(node, Var) and node.name in differs for node in walk(exprs))

    for stmt in body:
        match stmt:
            case Let(name, value) if depends(value):
                differs |= {name}
            case For(var, lo, hi, body=inner):
                within = differs | {var} if stmt.kind.startswith("thread") else differs
                if _parts_threads(inner, within, apart or depends(lo, hi)):
                    return True
            case If(cond, then, other):
                if any(_parts_threads(branch, differs, apart or depends(cond)) for branch in (then, other)):
                    return True
            case Barrier() if apart:
                return True
    return False


def arguments_of(case: Case) -> Iterator[dict[str, Any]]:
    rng = random.Random(case.seed)
    for size in SIZES:
        yield awkward_arguments(case.fn, rng, size)


Result = dict[str, np.ndarray] | None  # None is a trap


def result(fn: Function, arguments: dict[str, Any]) -> Result:
    try:
        return outcome(fn, arguments)
    except TRAPS:
        return None


def assert_same(expected: Result, actual: Result, arguments: dict[str, Any]) -> None:
    sizes = {name: value for name, value in arguments.items() if not isinstance(value, np.ndarray)}
    assert expected is not None or actual is None, f"a trap is gone, for {sizes}"
    assert actual is not None or expected is None, f"a trap is new, for {sizes}"
    if expected is None or actual is None:
        return
    for name, values in expected.items():
        same = bits(values) == bits(actual[name])
        assert same.all(), f"{name} is {actual[name]}, not {values}, for {sizes}"


def bits(values: np.ndarray) -> np.ndarray:
    """The values as integers, all NaNs as one."""
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), np.nan, values).view(f"i{values.dtype.itemsize}")


def failure(case: Case) -> str | None:
    """Why the pass is wrong on the case, if it is."""
    try:
        check(case)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def check_compiled(cases: Iterable[Case]) -> None:
    """AssertionError if C computes anything else than what the interpreter makes of the programs before the pass.

    Programs that trap, or are refused, are left out. All are compiled at once.
    """
    runs = {one: list(_defined_runs(one)) for one in cases}
    sources = {one: emit_c(PASSES[one.name](replace(linearize(one.fn), name=f"case_{one.seed}"))) for one in runs}
    with TemporaryDirectory() as folder:
        library = _compiled(sources.values(), Path(folder))
        for one, source in sources.items():
            program = CpuProgram(one.fn, library, c_function(library, source, one.fn))
            for arguments, expected in runs[one]:
                try:
                    program(**arguments)
                except LaunchError:  # nothing has run: a product of sizes and constants in it would wrap
                    continue
                actual = {name: arguments[name] for name in expected}
                try:
                    assert_same(expected, actual, arguments)
                except AssertionError as error:
                    raise AssertionError(f"seed {one.seed}: in C, {error}\n{show(one.fn)}\n{source}") from None


def _defined_runs(case: Case) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    for arguments in arguments_of(case):
        expected = result(case.fn, arguments)
        if expected is not None:
            yield arguments, expected


def _compiled(sources: Iterable[Source], folder: Path) -> ctypes.CDLL:
    files = []
    for source in sources:
        files.append(folder / f"{source.entry}.c")
        files[-1].write_text(source.text)
    library = folder / "cases.so"
    flags = ("-std=gnu11", "-O1", "-w", *EXACT, "-shared", "-fPIC")
    subprocess.run([*find_compiler().command, *flags, *files, "-o", library, "-lm"], check=True)
    return ctypes.CDLL(str(library))
