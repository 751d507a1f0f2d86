"""Checks a compiled nest: its schedule against the exact dependences, its results against the nest interpreted.

Anyone can ask: `print(done.verify())`, or `done.verify(n=40)` for sizes of one's own. Kernels for a GPU are run in
several ways: under the checker of races and bounds, emulated, and emulated in reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from polysched.brief import brief
from polysched.deps.dependences import Dependences
from polysched.deps.legality import first_violation
from polysched.errors import BudgetExceeded, KernelError, LaunchError, PolyschedError, ToolchainError
from polysched.ir.dtypes import DType
from polysched.ir.interp import evaluate, interpret
from polysched.ir.nodes import Function
from polysched.model.scop import Scop
from polysched.model.tree import Tree
from polysched.runtime.check import Checked
from polysched.runtime.findings import CheckReport
from polysched.trial_sizes import ladders, small_sizes, work


class VerificationError(PolyschedError):
    """A schedule or a kernel of ours is wrong; please report it."""


Run = Callable[..., CheckReport | None]  # in place, on arguments by name


@dataclass(frozen=True)
class Verification:
    """What was checked, all of it right."""

    dependences: int  # that the schedule was checked against
    sizes: tuple[dict[str, int], ...]  # for which the kernel's arrays equal the interpreter's
    ways: tuple[str, ...] = ("",)  # of running it
    beyond: tuple[dict[str, int], ...] = ()  # sizes for which they equal those of the nest as it was given, in C
    trusted: tuple[str, ...] = ()  # what the user claims, and nobody has checked

    def __repr__(self) -> str:
        return brief(self, str(self))

    def __str__(self) -> str:
        given = f", if it is true that {' and that '.join(self.trusted)}" if self.trusted else ""
        parts = [f"legal for all sizes ({self.dependences} dependences){given}"]
        if self.sizes:
            parts.append(f"equal to the interpreted nest for {_listed(self.sizes)}")
        if self.beyond:
            parts.append(f"{'and' if self.sizes else 'equal'} to the nest as C for {_listed(self.beyond)}")
        if self.ways != ("",):
            parts.append(f"each {', '.join(self.ways)}")
        return "; ".join(parts)


def _listed(sizes: tuple[dict[str, int], ...]) -> str:
    constant = "the constants that it has"
    return "; ".join(", ".join(f"{name}={n}" for name, n in some.items()) or constant for some in sizes)


def verify(
    nest: Function,
    runs: Mapping[str, Run],
    *,
    scop: Scop,
    dependences: Dependences,
    tree: Tree,
    sizes: dict[str, int],
    beyond: Callable[[], Callable[..., None]] | None = None,
    several_tiles: bool = False,
    tolerance: float = 0.0,
    seed: int = 0,
) -> Verification:
    """Checks `tree` for all sizes, and `runs`, by what they are called, against the interpreted `nest` on random arrays
    of small sizes; and against `beyond()`, a program that is trusted, where those are too large for it, or of several
    tiles too, if these are asked for.

    `sizes` fixes some sizes; `tolerance` is relative, for floats. VerificationError names what differs, or what the
    checker found; LaunchError sizes that the nest cannot be run with.
    """
    violation = first_violation(tree, dependences, scop)
    if violation is not None:
        raise VerificationError(f"illegal schedule: {violation}")
    if unknown := sizes.keys() - set(scop.function.sizes):
        raise LaunchError(f"'{scop.name}' has no size {', '.join(sorted(unknown))}: it has {list(scop.function.sizes)}")
    trial = _Trial(nest, scop, runs, tolerance, np.random.default_rng(seed))
    tried = tuple(small_sizes(scop, sizes, _MOST_INSTANCES))
    accesses = 0
    for chosen in tried:
        accesses = trial.compare(partial(interpret, nest), "the interpreted nest", chosen)
    larger: list[dict[str, int]] = []
    if beyond is not None and (several_tiles or not tried):
        over = work(nest, scop, tried[-1]) if tried else -1
        steps = ladders(nest, scop, sizes, over)
        if any(steps):
            larger = trial.climb(_in_c(beyond, scop, tried), steps, max(1.0, accesses / max(1, over)) if tried else inf)
    if not tried and not larger:
        raise LaunchError(_why_not(nest, scop, sizes, beyond is not None))
    return Verification(len(dependences.pairs), tried, tuple(runs), tuple(larger), dependences.trusted)


_MOST_INSTANCES = 20_000  # the interpreter's speed is some 10**5 instances a second
_MOST_ACCESSES = 60_000_000  # in all; the checker's speed is some 3 * 10**7 of them a second
_MOST_ASKED = 300_000_000  # where there are no smaller sizes


def _in_c(
    beyond: Callable[[], Callable[..., None]], scop: Scop, tried: tuple[dict[str, int], ...]
) -> Callable[[dict[str, Any]], None]:
    """Runs the trusted program; LaunchError if there is none, and nothing else to compare with."""
    try:
        trusted = beyond()
    except ToolchainError as error:
        if tried:
            raise
        raise LaunchError(
            f"'{scop.name}' is too large to interpret, which takes at most {_MOST_INSTANCES} instances of statements, "
            f"and as C in source order it cannot be run: {error}"
        ) from error
    return lambda arguments: trusted(**arguments)


def _why_not(nest: Function, scop: Scop, sizes: dict[str, int], has_c: bool) -> str:
    """Why no sizes could be tried."""
    smallest = next((step for steps in ladders(nest, scop, sizes) for step in steps), None)
    if smallest is None:
        some = _listed((sizes,)) if sizes or not scop.function.sizes else "small sizes"
        return f"'{scop.name}' cannot be run with {some}: its sizes must satisfy {scop.valid_sizes}"
    most = f"{_MOST_ASKED:.0e} are" if has_c else f"{_MOST_INSTANCES} instances of statements are"
    what = "give smaller ones" if scop.function.sizes else "make its constants smaller, or sizes that are parameters"
    return (
        f"'{scop.name}' is too large to run here with {_listed((smallest,))}: it accesses memory about "
        f"{work(nest, scop, smallest):.1e} times, and at most {most} checked; {what}"
    )


@dataclass(frozen=True)
class _Trial:
    """What is compared."""

    nest: Function
    scop: Scop
    runs: Mapping[str, Run]
    tolerance: float
    rng: np.random.Generator

    def climb(
        self, trusted: Callable[[dict[str, Any]], None], ladders: list[list[dict[str, int]]], per_work: float
    ) -> list[dict[str, int]]:
        """The sizes that were compared: of each ladder the last that its share of all accesses allows, and those on the
        way there. `per_work` is how many accesses of the kernel a unit of work took; it falls as tiles fill, so that
        a step may show that a longer one is possible."""
        rest = _MOST_ACCESSES if per_work < inf else _MOST_ASKED
        done: list[dict[str, int]] = []
        for k, steps in enumerate(ladders):
            share, ratio = rest // (2 if k == 0 and len(ladders) > 1 else len(ladders) - k), per_work
            works = {step: work(self.nest, self.scop, sizes) for step, sizes in enumerate(steps)}
            while works:
                step = max((step for step in works if works[step] * ratio <= share), default=min(works))
                if works[step] > share:
                    break
                try:
                    used = self.compare(trusted, "the nest as C", steps[step], share) or works[step]
                except BudgetExceeded:
                    rest -= share
                    break
                done += [steps[step]] if steps[step] not in done else []
                rest, share, ratio = rest - used, share - used, max(1.0, used / works[step])
                works = {other: it for other, it in works.items() if other > step}
        return done

    def compare(
        self, trusted: Callable[[dict[str, Any]], None], who: str, sizes: dict[str, int], most: int | None = None
    ) -> int:
        """How often kernels under the checker accessed memory; VerificationError if one of the runs is wrong, and
        BudgetExceeded if it would be more than `most`."""
        nest = self.nest
        bound = max(1, min(sizes.values(), default=1))  # so that subscripts from arrays and scalars stay in bounds
        scalars = {s.name: _values(s.dtype, (), self.rng, bound)[()] for s in nest.scalars}
        arguments: dict[str, Any] = {**sizes, **scalars}
        for array in nest.arrays:
            shape = tuple(int(evaluate(extent, sizes)) for extent in array.shape)
            arguments[array.name] = _values(array.dtype, shape, self.rng, bound)
        expected = _copied(arguments)
        try:
            trusted(expected)
        except (IndexError, ZeroDivisionError) as error:
            message = f"'{nest.name}' cannot run on random integers below {bound}, for {_listed((sizes,))}: {error}"
            raise LaunchError(message) from error
        accesses = 0
        for way, run in self.runs.items():
            actual = _copied(arguments)
            try:
                report = replace(run, most_accesses=most)(**actual) if isinstance(run, Checked) else run(**actual)
            except KernelError as error:
                raise VerificationError(f"{error}\nfound {way}, for {sizes}") from error
            if report is not None and not report.is_silent:
                found = "\n".join(map(str, report.findings))
                raise VerificationError(f"{found}\nfound {way}, for {sizes}")
            accesses += report.accesses if report is not None else 0
            for array in nest.arrays:
                where = f"for {sizes}{f', {way}' if way else ''}"
                _require_equal(array.name, actual[array.name], expected[array.name], self.tolerance, who, where)
        return accesses


def _copied(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


def _require_equal(name: str, actual: np.ndarray, wanted: np.ndarray, tolerance: float, who: str, where: str) -> None:
    equal = _equal(actual, wanted, tolerance)
    if not equal.all():
        at = tuple(int(x) for x in np.argwhere(~equal)[0])
        raise VerificationError(f"'{name}{list(at)}' is {actual[at]}, but {who} says {wanted[at]}, {where}")


def _equal(actual: np.ndarray, wanted: np.ndarray, tolerance: float) -> np.ndarray:
    """Where the elements are equal: to the bit but for NaNs, or within the tolerance of floats."""
    if not np.issubdtype(wanted.dtype, np.floating):
        return actual == wanted
    if tolerance:
        return np.isclose(actual, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    return ((actual == wanted) & (np.signbit(actual) == np.signbit(wanted))) | (np.isnan(actual) & np.isnan(wanted))


def _values(dtype: DType, shape: tuple[int, ...], rng: np.random.Generator, bound: int) -> np.ndarray:
    if dtype.is_float:
        return np.asarray(rng.uniform(0.5, 1.5, shape), dtype.numpy)
    return np.asarray(rng.integers(0, 2 if dtype.kind == "b" else bound, shape), dtype.numpy)
