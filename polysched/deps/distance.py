"""How far apart the two ends of dependences are along loops, and what that forbids.

    S[i, j] -> S[i + 1, j - 1], S[i + 1, j], S[i + 1, j + 1]        loops i, j:          (1, -1..1)
                                                                   loops i, i + j:      (1, 0..2)

All that can be asked of nested loops, whether they may be interchanged, tiled, skewed, run in parallel, follows from
the set of their distances (Wolfe, 1989).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product

from polysched.deps.dependences import union
from polysched.deps.reaching import Reaching
from polysched.model.tree.nodes import Member
from polysched.support import isl

MOST_SKEW = 4  # times another loop: skews that are tried


@dataclass(frozen=True)
class Distances:
    """The distances of dependences along nested loops, for all sizes."""

    vectors: isl.Set  # { [d0, d1, ...] }

    def __str__(self) -> str:
        """As in "(1, -1..1)", "(0, 1..)" where there is no bound for all sizes, "(0, *)" where all are met."""
        return f"({', '.join(map(self._range, range(self.depth)))})"

    def _range(self, k: int) -> str:
        ends = self.vectors.dim_min_val(k), self.vectors.dim_max_val(k)
        least, most = (end if end.is_int() else None for end in ends)
        if least is None and most is None:
            return "*"
        if least is not None and most is not None and least.eq(most):
            return str(least)
        return f"{'' if least is None else least}..{'' if most is None else most}"

    @property
    def depth(self) -> int:
        return int(self.vectors.dim(isl.dim_type.set))

    @property
    def in_order(self) -> bool:
        """Does the source never run after the sink?"""
        return bool(self.vectors.is_disjoint(_later(self.depth)))

    @property
    def is_permutable(self) -> bool:
        """Is no distance negative along any loop? Then every order of the loops is legal, and tiles are."""
        return all(self.least([int(k == j) for j in range(self.depth)]) >= 0 for k in range(self.depth))

    def is_parallel(self, k: int) -> bool:
        """Is no dependence left between iterations of loop k inside of those before it?"""
        same = self.vectors
        for j in range(k):
            same = same.fix_val(isl.dim_type.set, j, isl.Val(0))
        return bool(same.is_subset(same.fix_val(isl.dim_type.set, k, isl.Val(0))))

    def least(self, factors: Sequence[int]) -> float:
        """The least value of that combination of distances; 0 if there are none, and -infinity if there is no least."""
        if self.vectors.is_empty():
            return 0
        terms = " + ".join(f"{factor}*d{k}" for k, factor in enumerate(factors))
        value = self.vectors.min_val(isl.Aff(f"{{ [{_names(self.depth)}] -> [{terms}] }}"))
        return value.to_python() if value.is_int() else -float("inf")

    def reordered(self, order: Sequence[int]) -> Distances:
        """With the loops at these positions outermost first."""
        return self._mapped(", ".join(f"d{k}" for k in order))

    def skewed(self, k: int, by: int, factor: int) -> Distances:
        """With `factor` times loop `by` added to loop k."""
        values = [f"d{j} + {factor}*d{by}" if j == k else f"d{j}" for j in range(self.depth)]
        return self._mapped(", ".join(values))

    def _mapped(self, values: str) -> Distances:
        return Distances(self.vectors.apply(isl.Map(f"{{ [{_names(self.depth)}] -> [{values}] }}")))

    @cached_property
    def skews(self) -> tuple[tuple[int, int, int], ...] | None:
        """The least skews (loop, by, factor) that make the loops permutable; None if none do."""
        found: list[tuple[int, int, int]] = []
        now = self
        for k in range(self.depth):
            own = [int(j == k) for j in range(k, self.depth)]
            if now.least([*[MOST_SKEW] * k, *own]) < 0:  # more is never worse: no distance around is negative by now
                return None
            choices = sorted(product(range(MOST_SKEW + 1), repeat=k), key=lambda factors: (sum(factors), factors[::-1]))
            factors = next(factors for factors in choices if now.least([*factors, *own]) >= 0)
            for by, factor in enumerate(factors):
                if factor:
                    found.append((k, by, factor))
                    now = now.skewed(k, by, factor)
        return tuple(found)

    def needed(self, works: Callable[[Distances], bool]) -> tuple[tuple[int, int, int], ...] | None:
        """Those of the skews that `works` needs, which holds of permutable loops; None if there are none."""
        skews = self.skews
        for skew in skews or ():
            fewer = tuple(each for each in skews or () if each != skew)
            if works(reduce(lambda now, each: now.skewed(*each), fewer, self)):
                skews = fewer
        return skews


def distances(members: Sequence[Member], reaching: Reaching) -> Distances:
    """The distances of the dependences along the loops."""
    return distances_of(members, union(reaching))


def distances_of(members: Sequence[Member], pairs: isl.UnionMap) -> Distances:
    """The distances of { source -> sink } along the loops."""
    times = reduce(isl.UnionMap.flat_range_product, (member.schedule for member in members))
    apart = pairs.apply_domain(times).apply_range(times).deltas()
    if apart.is_empty():
        return Distances(isl.Set(f"{{ [{_names(len(members))}] : false }}"))
    vectors = isl.Set.from_union_set(apart)
    return Distances(vectors.project_out_all_params().coalesce())


def _names(depth: int) -> str:
    return ", ".join(f"d{k}" for k in range(depth))


def _later(depth: int) -> isl.Set:
    """The distances of a source that runs after its sink."""
    cases = (" and ".join([*(f"d{j} = 0" for j in range(k)), f"d{k} < 0"]) for k in range(depth))
    return isl.Set(f"{{ [{_names(depth)}] : {' or '.join(cases)} }}")
