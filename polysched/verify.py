"""Checks a compiled nest: its schedule against the exact dependences, its results against the nest interpreted.

Anyone can ask: `print(done.verify())`, or `done.verify(n=40)` for sizes of one's own. Kernels for a GPU are run in
several ways: under the checker of races and bounds, emulated, and emulated in reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from polysched import isl
from polysched.deps.dependences import Dependences
from polysched.deps.legality import first_violation
from polysched.errors import KernelError, LaunchError, PolyschedError
from polysched.ir.dtypes import DType
from polysched.ir.interp import evaluate, interpret
from polysched.ir.nodes import Function
from polysched.model.scop import Scop
from polysched.model.tree import Tree
from polysched.runtime.findings import CheckReport


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

    def __str__(self) -> str:
        parts = [
            f"legal for all sizes ({self.dependences} dependences)",
            f"equal to the interpreted nest for {_listed(self.sizes)}",
        ]
        if self.beyond:
            parts.append(f"and to the nest as C for {_listed(self.beyond)}")
        if self.ways != ("",):
            parts.append(f"each {', '.join(self.ways)}")
        return "; ".join(parts)


def _listed(sizes: tuple[dict[str, int], ...]) -> str:
    return "; ".join(", ".join(f"{name}={n}" for name, n in some.items()) or "no sizes" for some in sizes)


def verify(
    nest: Function,
    runs: Mapping[str, Run],
    *,
    scop: Scop,
    dependences: Dependences,
    tree: Tree,
    sizes: dict[str, int],
    beyond: Callable[[], Callable[..., None]] | None = None,
    tolerance: float = 0.0,
    seed: int = 0,
) -> Verification:
    """Checks `tree` for all sizes, and `runs`, by what they are called, against the interpreted `nest` on random arrays
    of small sizes; against `beyond()`, a program that is trusted, of larger ones too.

    `sizes` fixes some sizes; `tolerance` is relative, for floats. VerificationError names what differs, or what the
    checker found; LaunchError sizes that the nest cannot be run with.
    """
    violation = first_violation(tree, dependences, scop)
    if violation is not None:
        raise VerificationError(f"illegal schedule: {violation}")
    rng = np.random.default_rng(seed)
    if unknown := sizes.keys() - set(scop.function.sizes):
        raise LaunchError(f"'{scop.name}' has no size {', '.join(sorted(unknown))}: it has {list(scop.function.sizes)}")
    tried = tuple(_small_sizes(scop, sizes))
    if not tried:
        raise LaunchError(
            f"no sizes to run with: they must satisfy {scop.valid_sizes}, "
            f"and give at most {_MOST_INSTANCES} instances of statements to interpret"
        )
    threads = 0
    for chosen in tried:
        threads = _compare(nest, partial(interpret, nest), runs, chosen, tolerance, rng)
    larger: list[dict[str, int]] = []
    if beyond is not None:
        trusted = beyond()
        per_access = threads / max(1, _accesses(scop, tried[-1]))
        for chosen in _larger_sizes(scop, sizes, per_access):
            if chosen not in tried:
                larger.append(chosen)
                _compare(nest, lambda arguments: trusted(**arguments), runs, chosen, tolerance, rng)
    return Verification(len(dependences.pairs), tried, tuple(runs), tuple(larger))


_TRIED = (1, 2, 3, 7, 17, 33, 65)
_SMALL = 7
_APART = 7  # here the sizes differ from each other, so that no two are mixed up unnoticed
_MOST_INSTANCES = 20_000  # the interpreter's speed is some 10**5 instances a second
_BEYOND = (130, 66, 34)  # more than one tile of any size of ours, and part of the next
_MOST_ACCESSES = 12_000_000  # the checker's speed is some 10**7 of them a second
_MOST_THREADS = 20_000_000  # and as many threads that do nothing


def _small_sizes(scop: Scop, fixed: dict[str, int]) -> Iterator[dict[str, int]]:
    """Sizes at which the nest is valid and quickly interpreted: partial, full and several tiles."""
    candidates: list[dict[str, int]] = []
    for value in _TRIED:
        apart = int(value == _APART)
        sizes = {name: fixed.get(name, value + k * apart) for k, name in enumerate(scop.function.sizes)}
        if sizes not in candidates:
            candidates.append(sizes)
            if _is_valid(scop, sizes) and _instances(scop, sizes) <= _MOST_INSTANCES:
                yield sizes


def _larger_sizes(scop: Scop, fixed: dict[str, int], threads_per_access: float) -> Iterator[dict[str, int]]:
    """Sizes of several tiles, most of them too large for the interpreter: all alike, and each alone large."""
    names = [name for name in scop.function.sizes if name not in fixed]
    alike = ({**fixed, **dict.fromkeys(names, value)} for value in _BEYOND)
    alone = (
        [{**fixed, **dict.fromkeys(names, _SMALL), name: value} for value in _BEYOND]
        for name in names
        if len(names) > 1
    )
    for candidates in (alike, *alone):
        for some in candidates:
            sizes = {name: some[name] for name in scop.function.sizes}
            if not _is_valid(scop, sizes):
                continue
            accesses = _accesses(scop, sizes)
            if accesses <= _MOST_ACCESSES and accesses * threads_per_access <= _MOST_THREADS:
                yield sizes
                break


def _is_valid(scop: Scop, sizes: dict[str, int]) -> bool:
    return not scop.valid_sizes.intersect(_point(scop, sizes)).is_empty()


def _instances(scop: Scop, sizes: dict[str, int]) -> int:
    point = _point(scop, sizes)
    return sum(s.domain.intersect_params(point).count_val().get_num_si() for s in scop.statements)


def _accesses(scop: Scop, sizes: dict[str, int]) -> int:
    """About how many: as if the domains were boxes, since isl counts one by one."""
    point = _point(scop, sizes)
    return sum((len(s.reads) + len(s.writes)) * _box(s.domain.intersect_params(point)) for s in scop.statements)


def _box(domain: isl.Set) -> int:
    """The instances of the smallest box around the set."""
    if domain.is_empty():
        return 0
    ranges = ((domain.dim_min_val(k), domain.dim_max_val(k)) for k in range(domain.dim(isl.dim_type.set)))
    return prod(high.get_num_si() - low.get_num_si() + 1 for low, high in ranges)


def _point(scop: Scop, sizes: dict[str, int]) -> isl.Set:
    point = isl.Set.universe(scop.valid_sizes.get_space())
    for k, name in enumerate(scop.function.sizes):
        point = point.fix_val(isl.dim_type.param, k, isl.Val(sizes[name]))
    return point


def _compare(
    nest: Function,
    trusted: Callable[[dict[str, Any]], None],
    runs: Mapping[str, Run],
    sizes: dict[str, int],
    tolerance: float,
    rng: np.random.Generator,
) -> int:
    """How many threads the checker has seen; VerificationError if one of the runs is wrong."""
    bound = max(1, min(sizes.values(), default=1))  # so that subscripts from arrays and scalars stay in bounds
    arguments: dict[str, Any] = {**sizes, **{s.name: _values(s.dtype, (), rng, bound)[()] for s in nest.scalars}}
    for array in nest.arrays:
        shape = tuple(int(evaluate(extent, sizes)) for extent in array.shape)
        arguments[array.name] = _values(array.dtype, shape, rng, bound)
    expected = _copied(arguments)
    try:
        trusted(expected)
    except (IndexError, ZeroDivisionError) as error:
        raise LaunchError(f"the nest cannot run on random integers below {bound}, for {sizes}: {error}") from error
    threads = 0
    for way, run in runs.items():
        actual = _copied(arguments)
        try:
            report = run(**actual)
        except KernelError as error:
            raise VerificationError(f"{error}\nfound {way}, for {sizes}") from error
        if report is not None and not report.is_silent:
            found = "\n".join(map(str, report.findings))
            raise VerificationError(f"{found}\nfound {way}, for {sizes}")
        threads += report.threads if report is not None else 0
        for array in nest.arrays:
            _require_equal(array.name, actual[array.name], expected[array.name], tolerance, way, sizes)
    return threads


def _copied(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


def _require_equal(
    name: str, actual: np.ndarray, wanted: np.ndarray, tolerance: float, way: str, sizes: dict[str, int]
) -> None:
    equal = _equal(actual, wanted, tolerance)
    if not equal.all():
        where = tuple(int(x) for x in np.argwhere(~equal)[0])
        raise VerificationError(
            f"'{name}{list(where)}' is {actual[where]}, but the interpreted nest says {wanted[where]}, for {sizes}"
            f"{f', {way}' if way else ''}"
        )


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
