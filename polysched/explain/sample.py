"""One dependence in words: its kind and array, how far apart its ends are, and one pair of them.

    flow on a, distance (1, -1..1), S[0, 1] -> S[1, 0] at N = 2, line 14
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polysched.deps.dependences import Dependence, Kind
from polysched.deps.distance import distances
from polysched.deps.reaching import Reaching, names_in
from polysched.ir.text import in_words
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, InOrder, Member, Set, Tree, children
from polysched.model.witness import smallest

_FIRST = ("flow", "anti", "output")  # what counts most
_MOST = 2  # dependences that are told, each on another array; the others are only named


def blockers(reaching: Reaching, members: Sequence[Member], inside: Tree, scop: Scop) -> Iterator[str]:
    """The dependences in words, with distances along `members`, the loops around, and those in `inside`, the rest."""
    groups: dict[tuple[Kind, str], Reaching] = {}
    for dependence in sorted(reaching, key=lambda d: (d.is_guess, not d.must, _FIRST.index(d.kind))):
        key = dependence.kind, dependence.array
        groups[key] = (*groups.get(key, ()), dependence)
    first = {array: (kind, array) for kind, array in reversed(groups)}  # of each array
    told = [key for key in groups if key in first.values()][:_MOST]
    for key in told:
        chosen, *_ = groups[key]
        ends = chosen.source, chosen.sink
        alike = tuple(d for d in groups[key] if (d.source, d.sink) == ends)
        common = (*members, *common_loops(inside, set(ends)))
        yield sampled(chosen, str(distances(common, alike)), scop)
    others = [f"{d.kind} on {d.array}{d.doubt}" for key, (d, *_) in groups.items() if key not in told]
    if others:
        yield f"also {', '.join(others)}"


def sampled(dependence: Dependence, distance: str, scop: Scop) -> str:
    """The dependence with its first pair of instances at the smallest sizes, and their source lines."""
    sizes, point = smallest(dependence.relation.wrap())
    source, sink = scop.statement(dependence.source), scop.statement(dependence.sink)
    pair = f"{source.name}{[*point[: source.depth]]} -> {sink.name}{[*point[source.depth :]]}"
    given = f" at {in_words(sizes)}" if sizes else ""
    lines = dict.fromkeys(str(s.loc.line) for s in (source, sink) if s.loc)
    at = f", line {' -> '.join(lines)}" if lines else ""
    return f"{dependence.kind} on {dependence.array}{dependence.doubt}, distance {distance}, {pair}{given}{at}"


def common_loops(tree: Tree, statements: set[str]) -> Iterator[Member]:
    """The loops from the node on that are around all of these statements."""
    match tree:
        case Band(members=members, child=child):
            yield from members
            yield from common_loops(child, statements)
        case InOrder(children=branches) | Set(children=branches):
            for branch in branches:
                if statements <= names_in(branch.filter):
                    yield from common_loops(branch.child, statements)
        case _:
            for child in children(tree):
                yield from common_loops(child, statements)

