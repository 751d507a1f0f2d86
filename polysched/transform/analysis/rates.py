"""Rows of one stage of a pipeline for those of another one.

    down[y] = across[2 y] + across[2 y + 1] + across[2 y + 2]         two rows for one, and one more: a halo
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import ceil

from polysched.config.heuristics.cpu import ROW_RATES, SAMPLE_OF_USES
from polysched.deps.dependences import Dependence
from polysched.model.scop import Scop
from polysched.support import isl
from polysched.transform.edits.base.loops import Loop


@dataclass(frozen=True)
class Rows:
    """What rows of the last stage need of another one: `rate` for each, and of `halo` more."""

    rate: Fraction
    halo: int


def rows_of_each(stages: Sequence[Loop], flow: Iterable[Dependence]) -> list[Rows] | None:
    """What the last stage needs of the others, for each; None if it takes some of a stage in all, or no constant is
    enough. Stages are loops over rows that follow one another, or, for columns, the loops along these rows."""
    number = {name: k for k, stage in enumerate(stages) for name in stage.statements}
    between = defaultdict[tuple[int, int], list[isl.UnionMap]](list)
    for each in flow:
        between[number[each.sink], number[each.source]].append(isl.UnionMap.from_map(each.relation))
    needed = {len(stages) - 1: isl.Map("{ [y] -> [y] }")}  # { [row of the last] -> [row] } for each stage
    for (other, one), pairs in sorted(between.items(), reverse=True):
        if one != other:
            if other not in needed:
                return None
            rows = reduce(isl.UnionMap.union, pairs).apply_domain(stages[one].member.schedule)
            used = isl.Map.from_union_map(rows.apply_range(stages[other].member.schedule)).reverse()
            used = needed[other].apply_range(_for_all_sizes(used))
            needed[one] = _for_all_sizes(needed[one].union(used) if one in needed else used)
    found = [each for each in map(_rows, needed.values()) if each is not None]
    return found if len(found) == len(needed) else None


def _for_all_sizes(rows: isl.Map) -> isl.Map:
    """Those of any sizes, and all between them."""
    rows = rows.project_out_all_params()
    return isl.Map.from_basic_map(rows.polyhedral_hull())


def _rows(needed: isl.Map) -> Rows | None:
    """The rate and the halo of { [row of the last] -> [row] }: the rate at which the halo is least."""
    found = [rows for rate in ROW_RATES if (rows := _at_rate(needed, rate)) is not None]
    return min(found, key=lambda rows: rows.halo, default=None)


def _at_rate(needed: isl.Map, rate: Fraction) -> Rows | None:
    """How far rows are from where the rate has them; None if no constant is enough."""
    away = isl.Map(f"{{ [[y] -> [row]] -> [{rate.denominator} row - {rate.numerator} y] }}")
    distances = needed.wrap().apply(away)
    first, last = distances.dim_min_val(0), distances.dim_max_val(0)
    if not (first.is_int() and last.is_int()):
        return None
    return Rows(rate, ceil(Fraction((last - first).to_python(), rate.numerator)))


def uses(array: str, scop: Scop, flow: Iterable[Dependence]) -> float | None:
    """How often an element is read, on the average, where one statement makes it and one reads it, at a sample of
    sizes; None if that is unknown."""
    own = [each for each in flow if each.array == array]
    if len({(each.source, each.sink) for each in own}) != 1 or not all(each.is_exact for each in own):
        return None
    pairs = reduce(isl.Map.union, (each.relation for each in own)).wrap()
    sizes = dict.fromkeys(scop.function.sizes, SAMPLE_OF_USES)
    made, read = (isl.at(each, sizes) for each in (scop.statement(own[0].source).domain, pairs))
    if made.is_empty() or not (made.is_bounded() and read.is_bounded()):
        return None
    return float(read.count_val().to_python() / made.count_val().to_python())
