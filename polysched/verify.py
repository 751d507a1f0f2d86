"""Checks a compiled nest: its schedule against the exact dependences, its results against the nest interpreted.

Anyone can ask: `print(done.verify())`, or `done.verify(n=40)` for sizes of one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from polysched import isl
from polysched.deps.dependences import Dependences
from polysched.deps.legality import first_violation
from polysched.errors import LaunchError, PolyschedError
from polysched.ir.dtypes import DType
from polysched.ir.interp import evaluate, interpret
from polysched.ir.nodes import Function
from polysched.model.scop import Scop
from polysched.model.tree import Tree


class VerificationError(PolyschedError):
    """A schedule or a kernel of ours is wrong; please report it."""


@dataclass(frozen=True)
class Verification:
    """What was checked, all of it right."""

    dependences: int  # that the schedule was checked against
    sizes: tuple[dict[str, int], ...]  # for which the kernel's arrays equal the interpreter's

    def __str__(self) -> str:
        runs = "; ".join(", ".join(f"{name}={n}" for name, n in sizes.items()) or "no sizes" for sizes in self.sizes)
        return f"legal for all sizes ({self.dependences} dependences); equal to the interpreted nest for {runs}"


def verify(
    nest: Function,
    run: Callable[..., None],
    *,
    scop: Scop,
    dependences: Dependences,
    tree: Tree,
    sizes: dict[str, int],
    tolerance: float = 0.0,
    seed: int = 0,
) -> Verification:
    """Checks `tree` for all sizes, and `run` against the interpreted `nest` on random arrays of small sizes.

    `sizes` fixes some sizes; `tolerance` is relative, for floats. VerificationError names what differs, LaunchError
    sizes that the nest cannot be run with.
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
    for chosen in tried:
        _compare(nest, run, chosen, tolerance, rng)
    return Verification(len(dependences.pairs), tried)


_TRIED = (1, 2, 3, 7, 17, 33, 65)
_APART = 7  # here the sizes differ from each other, so that no two are mixed up unnoticed
_MOST_INSTANCES = 20_000  # the interpreter's speed is some 10**5 instances a second


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


def _is_valid(scop: Scop, sizes: dict[str, int]) -> bool:
    return not scop.valid_sizes.intersect(_point(scop, sizes)).is_empty()


def _instances(scop: Scop, sizes: dict[str, int]) -> int:
    point = _point(scop, sizes)
    return sum(s.domain.intersect_params(point).count_val().get_num_si() for s in scop.statements)


def _point(scop: Scop, sizes: dict[str, int]) -> isl.Set:
    point = isl.Set.universe(scop.valid_sizes.get_space())
    for k, name in enumerate(scop.function.sizes):
        point = point.fix_val(isl.dim_type.param, k, isl.Val(sizes[name]))
    return point


def _compare(
    nest: Function, run: Callable[..., None], sizes: dict[str, int], tolerance: float, rng: np.random.Generator
) -> None:
    bound = max(1, min(sizes.values(), default=1))  # so that subscripts from arrays and scalars stay in bounds
    arguments: dict[str, Any] = {**sizes, **{s.name: _values(s.dtype, (), rng, bound)[()] for s in nest.scalars}}
    for array in nest.arrays:
        shape = tuple(int(evaluate(extent, sizes)) for extent in array.shape)
        arguments[array.name] = _values(array.dtype, shape, rng, bound)
    expected = {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    try:
        interpret(nest, expected)
    except (IndexError, ZeroDivisionError) as error:
        raise LaunchError(f"the nest cannot run on random integers below {bound}, for {sizes}: {error}") from error
    run(**arguments)
    for array in nest.arrays:
        actual, wanted = arguments[array.name], expected[array.name]
        equal = _equal(actual, wanted, tolerance)
        if not equal.all():
            where = tuple(int(x) for x in np.argwhere(~equal)[0])
            raise VerificationError(
                f"'{array.name}{list(where)}' is {actual[where]}, but the interpreted nest says {wanted[where]}, "
                f"for {sizes}"
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
