"""Sizes on both sides of where the host changes from kernels that count in 32 bits to those that count in 64.

    n * m + 128 * m <= 2^31 - 1        {"n": 46276, "m": 46276} fits, {"n": 46277, "m": 46277} does not, ...
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence

from polysched.ir.interp import evaluate
from polysched.ir.nodes import Binary, Expr

_MOST = (1 << 31) - 1  # of an index of 32 bits
_LARGEST = 1 << 32


def borders(names: Sequence[str], fits: Sequence[Expr]) -> Iterator[tuple[dict[str, int], bool]]:
    """Sizes, and whether all of `fits` are within 32 bits for them: all sizes alike, and each alone."""
    groups = [tuple(names), *((name,) for name in names if len(names) > 1)]
    for group in groups:

        def sizes(value: int, group: tuple[str, ...] = group) -> dict[str, int]:
            return {name: value if name in group else 1 for name in names}

        if _fit(fits, sizes(1)) and not _fit(fits, sizes(_LARGEST)):
            least = bisect(range(_LARGEST), False, key=lambda value: not _fit(fits, sizes(value)))
            yield sizes(least - 1), True
            yield sizes(least), False


def _fit(fits: Sequence[Expr], sizes: dict[str, int]) -> bool:
    return all(_value(each, sizes) <= _MOST for each in fits)


def _value(expr: Expr, sizes: dict[str, int]) -> int:
    """The value of a sum of products, which does not wrap."""
    match expr:
        case Binary("+", left, right):
            return _value(left, sizes) + _value(right, sizes)
        case Binary("*", left, right):
            return _value(left, sizes) * _value(right, sizes)
    return evaluate(expr, sizes)
