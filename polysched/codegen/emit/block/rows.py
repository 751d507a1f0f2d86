"""How far rows of pointers are apart, found in front of a kernel; -1 where not all are as far from each other.

    __typeof__(*R[0]) *R_first = 0;
    long long R_row = -1;
    if (n >= 0 && n > 0 && m > 0) {
        R_row = n - 0 > 1 ? (R[1] - R[0] in elements) : m;
        R_first = R[0];
        for (long long r = 0; r < n; r++)
            if (R[r] != R_first + r * R_row)
                R_first = 0;
        if (!R_first)
            R_row = -1;
    }

Pointers to different arrays are compared as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from polysched.frontend.c.region import Rows

_NUMBER = "(__UINTPTR_TYPE__)"


def declared_rows(rows: Rows, tests: Sequence[str], fresh: Callable[[str], str]) -> Iterator[str]:
    """The lines that declare the distances and the pointer to the first element; the pointers are read if the tests,
    which are C, hold."""
    levels, last = len(rows.ranges), rows.distances[len(rows.ranges)]
    lows = [low for low, _ in rows.ranges]
    begin, size = _at(rows, lows), f"sizeof(*{_at(rows, ['0'] * levels)})"
    yield f"__typeof__(*{_at(rows, ['0'] * levels)}) *{rows.first} = 0;"
    for distance in rows.distances.values():
        yield f"long long {distance} = -1;"
    yield f"if ({' && '.join([*tests, rows.is_used])}) {{"
    for dimension in sorted(rows.distances, reverse=True):
        low, high = rows.ranges[dimension - 1]
        following = [*lows[: dimension - 1], f"{low} + 1", *lows[dimension:]]
        between = f"(long long)({_NUMBER}{_at(rows, following)} - {_NUMBER}{begin}) / (long long){size}"
        only = rows.least if dimension == levels else rows.ranges[dimension][1]
        if inner := _stride(rows, dimension):
            between = f"({inner} > 0 ? {between} / ({inner}) : -1)"
        yield f"    {rows.distances[dimension]} = {high} - {low} > 1 ? {between} : {only};"
    indices = [fresh("r") for _ in range(levels)]
    first = _offset(rows, lows, ["0"] * levels)
    yield f"    {rows.first} = (__typeof__({rows.first}))({_NUMBER}{begin} - {first} * {size});"
    for k, (index, (low, high)) in enumerate(zip(indices, rows.ranges, strict=True)):
        yield f"    {'    ' * k}for (long long {index} = {low}; {index} < {high}; {index}++)"
    deep = "    " * (levels + 1)
    yield f"{deep}if ({_NUMBER}{_at(rows, indices)} - {_NUMBER}{begin} != {_offset(rows, indices, lows)} * {size})"
    yield f"{deep}    {rows.first} = 0;"
    yield f"    if (!{rows.first})"
    yield f"        {last} = -1;"
    yield "}"


def _at(rows: Rows, subscripts: Sequence[str]) -> str:
    return rows.pointers + "".join(f"[{subscript}]" for subscript in subscripts)


def _stride(rows: Rows, dimension: int) -> str:
    """How many elements one step in a dimension of pointers is, without its own distance; "" for the last one."""
    return " * ".join(rows.extents[dimension:])


def _offset(rows: Rows, subscripts: Sequence[str], origin: Sequence[str]) -> str:
    """How many elements a row begins behind another one, unsigned."""
    terms = []
    for k, (subscript, zero) in enumerate(zip(subscripts, origin, strict=True)):
        steps = f"{_NUMBER}({subscript} - {zero})" if zero != "0" else f"{_NUMBER}({subscript})"
        terms.append(" * ".join([steps, *(f"{_NUMBER}({extent})" for extent in rows.extents[k:])]))
    return f"({' + '.join(terms)})"
