"""Counts as formulas in the sizes, exact or marked, and their table.

    Figure(n * n)        "n**2"          Figure(m, at_most=True)        "at most m"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from math import gcd, lcm

from polysched.codegen.count import number
from polysched.ir.integers.polynomial import Polynomial
from polysched.support.brief import Brief

Count = Polynomial | None  # None: unknown
_NOTHING = Polynomial()


@dataclass(frozen=True)
class Figure:
    """A count, which is exact unless it says that it is not."""

    formula: Count = _NOTHING
    at_most: bool = False  # data decides
    fitted: bool = False  # a polynomial through counts at small sizes, not proven

    def __add__(self, other: Figure) -> Figure:
        known = self.formula is not None and other.formula is not None
        formula = self.formula + other.formula if known else None  # type: ignore[operator]
        return Figure(formula, self.at_most or other.at_most, self.fitted or other.fitted)

    def __mul__(self, times: int) -> Figure:
        return replace(self, formula=None if self.formula is None else self.formula * times)

    def __str__(self) -> str:
        marks = {"at most": self.at_most, "fitted": self.fitted and self.formula is not None}
        return _marked(number(self.formula), *(mark for mark, holds in marks.items() if holds))


@dataclass(frozen=True, kw_only=True)
class ArrayCounts:
    """How often a nest accesses an array, and how many elements of it."""

    name: str
    bytes: int  # of an element
    reads: Figure
    writes: Figure
    elements: Figure  # different ones

    @property
    def accesses(self) -> Figure:
        return self.reads + self.writes


@dataclass(frozen=True, kw_only=True, repr=False)
class NestCounts(Brief):
    """What the statements of one loop nest do, all in all."""

    title: str
    operations: dict[str, Figure]  # by kind, as in "f64 +"
    arrays: tuple[ArrayCounts, ...]

    @property
    def float_operations(self) -> Figure:
        return sum_of(figure for kind, figure in self.operations.items() if kind.startswith("f"))

    @property
    def bytes_read(self) -> Figure:
        return sum_of(array.reads * array.bytes for array in self.arrays)

    @property
    def bytes_written(self) -> Figure:
        return sum_of(array.writes * array.bytes for array in self.arrays)

    @property
    def bytes_touched(self) -> Figure:
        """The footprint: each element once."""
        return sum_of(array.elements * array.bytes for array in self.arrays)

    @property
    def figures(self) -> Iterator[Figure]:
        """All of its table."""
        yield from self.operations.values()
        for array in self.arrays:
            yield from (array.elements, array.reads, array.writes)

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind}: {figure}" for kind, figure in self.operations.items()) or "none"
        accesses = f"  bytes       {self.bytes_read} read, {self.bytes_written} written, {self.bytes_touched} touched"
        head = [self.title, f"  operations  {kinds}", accesses]
        if self.float_operations.formula != _NOTHING:
            each = f"{rate(self.float_operations, self.bytes_touched)} a byte touched"
            accessed = rate(self.float_operations, self.bytes_read + self.bytes_written)
            head.append(f"  intensity   {each}, {accessed} a byte accessed")
        rows = [("array", "elements", "reads", "writes", "reuse")]
        for array in self.arrays:
            reuse = rate(array.accesses, array.elements)
            rows.append((array.name, str(array.elements), str(array.reads), str(array.writes), reuse))
        widths = [max(len(row[k]) for row in rows) for k in range(5)]
        table = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join([*head, *(f"  {line.rstrip()}" for line in table)])


@dataclass(frozen=True, kw_only=True, repr=False)
class Counts(Brief):
    """What each loop nest of a function does; printed, a table for each."""

    name: str
    nests: tuple[NestCounts, ...]  # in source order; of several, all together at the end
    where: str  # for which sizes the formulas hold, as in "n >= 2"; "" for all

    @property
    def is_exact(self) -> bool:
        """Is no figure at most what it says?"""
        return not any(figure.at_most for nest in self.nests for figure in nest.figures)

    @property
    def is_fitted(self) -> bool:
        """Is one of them a polynomial through counts at small sizes, and not proven?"""
        return any(figure.fitted for nest in self.nests for figure in nest.figures)

    def __str__(self) -> str:
        at_most = [] if self.is_exact else ['"at most" where data decides']
        marks = [*at_most, *(['"fitted" to counts at small sizes'] if self.is_fitted else [])]
        legend = f"; {', '.join([*marks, 'all else exact'])}" if marks else ""
        head = f"{self.name}{f' where {self.where}' if self.where else ''}{legend}"
        return "\n".join([head, *(str(nest) for nest in self.nests)])


def sum_of(figures: Iterable[Figure]) -> Figure:
    return reduce(Figure.__add__, figures, Figure())


def rate(above: Figure, below: Figure) -> str:
    """One figure over another, as in "at least n / 12"; "about" if data makes both smaller."""
    bounds = {(True, False): ["at most"], (False, True): ["at least"], (True, True): ["about"], (False, False): []}
    fitted = ["fitted"] if above.fitted or below.fitted else []
    return _marked(ratio(above.formula, below.formula), *bounds[above.at_most, below.at_most], *fitted)


def _marked(text: str, *marks: str) -> str:
    return text if text in ("unknown", "none") else " ".join([*marks, text])


def ratio(above: Count, below: Count) -> str:
    """One count over another in lowest terms, as in "n / 12" or "(n - 1) / (n + 2)"; decimals of numbers alone."""
    if above is None or below is None or not below:
        return "unknown" if above is None or below is None else "none"
    if not above.names and not below.names:
        quotient = float(above.constant) / float(below.constant)
        return f"{quotient:.0f}" if quotient >= 100 else f"{quotient:.3g}"
    above, below = _lowest(above, below)
    whole, rest = above.divided(below)
    if not rest:
        return number(whole)
    one, other = (f"({number(p)})" if len(p.terms) > 1 else number(p) for p in (above, below))
    return f"{one} / ({other})" if " * " in other and other[0] != "(" else f"{one} / {other}"


def _lowest(above: Polynomial, below: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Without the names and numbers that are in all terms of both."""
    terms = [*above, *below]
    shared = reduce(Counter.__and__, (Counter(names) for names, _ in terms))
    whole = lcm(*(factor.denominator for _, factor in terms))
    by = Fraction(whole, gcd(*(int(factor * whole) for _, factor in terms)))

    def lowest(one: Polynomial) -> Polynomial:
        rest = ((tuple(sorted((Counter(names) - shared).elements())), int(factor * by)) for names, factor in one)
        return Polynomial.of(rest)

    return lowest(above), lowest(below)
