"""Whether two loops that follow one another can be one, and what that costs.

    for i: b[i] = a[i - 1] + a[i + 1]               b[i - 1] and b[i + 1] are read: distances -1 and 1. Legal if the
    for i: c[i] = b[i - 1] + b[i + 1]               second runs one iteration later, but then it waits for the first
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.deps.distance import distances
from polysched.deps.reaching import Reaching, between, parts
from polysched.explain.sample import sampled
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Member


def fusion(
    first: str, loops: tuple[Member, Member], crossing: Reaching, *, is_parallel: bool, scop: Scop, how: str = ""
) -> Iterator[str]:
    """What holds of a loop and the one before it, which is called `first`, with the dependences from that one to it.

    `is_parallel`: whether both are now; `how` is the edit.
    """
    if not crossing:
        yield f"could be fused with {first}{f', by {how}' if how else ''}: neither needs the other"
        return
    nearest = least_apart(loops, crossing)
    shift = max(0, -nearest)
    by = f", by {how}" if how else ""
    by += f", shifted by {shift}" if shift else ""
    if shift == float("inf"):
        yield f"not fused with {first}: illegal, whatever the shift, for {_reason(loops, crossing, scop)}"
    elif is_parallel and (shift or _moved(loops, crossing)):
        yield f"not fused with {first}: legal{by}, but not parallel, for {_reason(loops, crossing, scop)}"
    else:
        yield f"could be fused with {first}{by}"


def _reason(loops: tuple[Member, Member], crossing: Reaching, scop: Scop) -> str:
    """The dependence that needs the most distant iteration, and a pair of instances that the fused loop would part."""
    wrong = _early if least_apart(loops, crossing) < 0 else _moved
    worst = min(wrong(loops, crossing), key=lambda part: least_apart(loops, (part,)))
    key = worst.kind, worst.array, worst.source, worst.sink
    alike = tuple(d for d in crossing if (d.kind, d.array, d.source, d.sink) == key)
    return sampled(worst, str(distances((_both(loops),), alike)), scop)


def _early(loops: tuple[Member, Member], crossing: Reaching) -> Reaching:
    """The parts whose sink would come first."""
    one, other = loops
    return parts(crossing, one.schedule.lex_gt_union_map(other.schedule).intersect)


def _moved(loops: tuple[Member, Member], crossing: Reaching) -> Reaching:
    """The parts between different iterations."""
    return between(crossing, _both(loops))


def least_apart(loops: tuple[Member, Member], crossing: Reaching) -> float:
    """The least distance from one loop to the other."""
    return distances((_both(loops),), crossing).least([1])


def _both(loops: tuple[Member, Member]) -> Member:
    one, other = loops
    return Member(one.schedule.union(other.schedule))
