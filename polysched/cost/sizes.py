"""Sizes to predict times at, where nobody gives any: so large that data do not fit into a core's caches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

from polysched.config.heuristics.cost import SECOND_CACHES
from polysched.config.machine import Machine
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Const, Function
from polysched.support import isl


def typical_sizes(
    nest: Function, known: isl.Set, machine: Machine, given: Mapping[str, int] = MappingProxyType({})
) -> dict[str, int] | None:
    """One power of two for all sizes that are not given; if `known`, { : conditions on the sizes }, asks for that, one
    more for each further one, or twice or half as much. The largest there is, if data fit a cache at all of them, or
    are as large at all; None if there is none."""
    ways: tuple[Callable[[int, int], int], ...] = (
        lambda size, _: size,
        lambda size, k: size + k,
        lambda size, k: size << k,
        lambda size, k: size >> k,
    )
    grows = not all(isinstance(extent, Const) for array in nest.arrays for extent in array.shape)
    for way in ways:
        best = None
        for power in _POWERS:
            sizes = {name: way(1 << power, k) for k, name in enumerate(nest.sizes)} | dict(given)
            if not isl.at(known, sizes).is_empty():
                best = sizes
                if grows and _bytes(nest, sizes) >= SECOND_CACHES * machine.l2:
                    break
        if best is not None:
            return best
    return None


_POWERS = range(25)


def _bytes(nest: Function, sizes: dict[str, int]) -> int:
    elements = (prod(int(evaluate(extent, sizes)) for extent in array.shape) for array in nest.arrays)
    return sum(count * array.dtype.bits // 8 for count, array in zip(elements, nest.arrays, strict=True))
