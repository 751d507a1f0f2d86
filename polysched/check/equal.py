"""Whether two arrays are equal: to the bit, or within bounds of rounding. Elements without a bound are counted: nothing
is known of these.

    s = exp(x) in another order        |s - s'| <= 2 gamma size        and inf where a product may overflow on its way
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from polysched.errors import VerificationError


@dataclass
class Tally:
    """How many elements were compared within bounds of rounding, and how many had none, by array."""

    bounded: dict[str, int] = field(default_factory=dict)
    unbounded: dict[str, int] = field(default_factory=dict)

    def add(self, array: str, bound: np.ndarray) -> None:
        without = int(np.isinf(bound).sum())
        self.unbounded[array] = self.unbounded.get(array, 0) + without
        self.bounded[array] = self.bounded.get(array, 0) + bound.size - without

    @property
    def has_nothing(self) -> bool:
        """Has no element of any array a bound, though there are elements?"""
        return any(self.unbounded.values()) and not any(self.bounded.values())

    def __str__(self) -> str:
        """What was not compared."""
        return "; ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        for array, without in self.unbounded.items():
            if without:
                count = without + self.bounded[array]
                yield f"{without} of {count} elements of '{array}' had no bound of rounding and were not compared"


def require_equal(
    name: str, actual: np.ndarray, wanted: np.ndarray, bound: np.ndarray | None, who: str, where: str
) -> None:
    """VerificationError names the first element that differs."""
    equal = _equal(actual, wanted, bound)
    if not equal.all():
        at = tuple(int(x) for x in np.argwhere(~equal)[0])
        much = f"; rounding makes a difference of {bound[at]:.2g} at most" if bound is not None and bound[at] else ""
        raise VerificationError(f"'{name}{list(at)}' is {actual[at]}, but {who} says {wanted[at]}, {where}{much}")


def _equal(actual: np.ndarray, wanted: np.ndarray, bound: np.ndarray | None) -> np.ndarray:
    """Where the elements are equal: to the bit but for NaNs, or within bounds of rounding, by which zeros have any
    sign. Where the bound is infinite, inf * 0 may come of another order."""
    if not np.issubdtype(wanted.dtype, np.floating):
        return actual == wanted
    are_nan = np.isnan(actual) & np.isnan(wanted)
    if bound is None:
        return ((actual == wanted) & (np.signbit(actual) == np.signbit(wanted))) | are_nan
    with np.errstate(all="ignore"):
        distance = np.abs(actual.astype(np.float64) - wanted.astype(np.float64))
    return (actual == wanted) | (distance <= bound) | np.isinf(bound) | are_nan
