"""Loop distribution: a loop over several statements becomes a loop for each of them, or for each cycle of dependences
(Allen and Kennedy, 1987).

    band: j                  sequence
      sequence                 filter: S0
        filter: S0     ->        band: j
        filter: S1             filter: S1
                                 band: j

Statements that share tiles, apart where nothing in a tile ties them together.

    band: tiles                       band: tiles
      band: k, i, j                     sequence
        sequence             ->           filter: S, T where a tile orders them       band: k, i, j; sequence
          filter: S                       filter: S elsewhere                         band: k, i, j
          filter: T                       filter: T elsewhere                         band: k, i, j

In the factorizations that is most tiles: all but those on a diagonal. There the loops of each statement may be
reordered and unrolled for it alone. The tiles that tie statements are over-approximated by a convex set in the tiles'
coordinates, which keeps the sets small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from polysched.deps.components import strongly_connected
from polysched.model.scop import Statement
from polysched.model.tree.nodes import Band, Filter, InOrder, Tree
from polysched.support import isl


def distribute(band: Band, reaching: isl.UnionMap) -> InOrder | None:
    """The loops one after the other, in the order of what they compute for each other; None if `band` is not around a
    sequence, or all its children depend on each other. `reaching` are the dependences that nothing above the band
    orders.
    """
    sequence = band.child
    if not isinstance(sequence, InOrder):
        return None
    branches = {str(k): branch for k, branch in enumerate(sequence.children)}
    pairs: list[tuple[str, str]] = []
    for source, one in branches.items():
        instances = reaching.intersect_domain(one.filter).range()
        sinks = (name for name, other in branches.items() if name != source and not other.filter.is_disjoint(instances))
        pairs += [(source, sink) for sink in sinks]
    parts = strongly_connected(list(branches), pairs)
    if len(parts) == 1:
        return None
    return InOrder(tuple(loop_over(band, tuple(branches[name] for name in part)) for part in parts))


def loop_over(band: Band, branches: tuple[Filter, ...]) -> Filter:
    own = reduce(isl.UnionSet.union, (branch.filter for branch in branches))
    child = branches[0].child if len(branches) == 1 else InOrder(branches)
    return Filter(own, replace(band.within(own.universe()), child=child))


def apart(
    blocks: Band, statements: Sequence[Statement], chosen: Sequence[Statement], within: isl.UnionMap
) -> Band:
    """`blocks`, over tiles of a band of points, around all of the statements, with each of the chosen ones apart in the
    tiles where none of the dependences `within` tiles ties it to another; `blocks` itself if there is no such tile."""
    points = blocks.child
    assert isinstance(points, Band)
    parts: list[Filter] = []
    rest = isl.UnionSet("{ }")
    for statement in statements:
        own = statement.instances
        if statement in chosen:
            tile_of = _tile_of(statement, blocks)
            tied = _tied_tiles(own, tile_of, within)
            free = tile_of.subtract_range(tied).domain().coalesce()
            if not free.is_empty():
                parts.append(Filter(isl.UnionSet.from_set(free), _only(points, statement)))
                own = isl.UnionSet.from_set(tile_of.intersect_range(tied).domain().coalesce())
        rest = rest.union(own)
    if not parts:
        return blocks
    shared = () if rest.is_empty() else (Filter(rest, points),)
    return replace(blocks, child=InOrder((*shared, *parts)))


def _tile_of(statement: Statement, blocks: Band) -> isl.Map:
    """{ S[i, j] -> [tile coordinates] }"""
    values = [member.schedule.intersect_domain(statement.instances) for member in blocks.members]
    return isl.Map.from_union_map(reduce(isl.UnionMap.flat_range_product, values))


def _tied_tiles(own: isl.UnionSet, tile_of: isl.Map, within: isl.UnionMap) -> isl.Set:
    """The tiles in which a dependence, of those `within` tiles, leads from the statement to another or back."""
    out = within.intersect_domain(own).subtract_range(own).domain()
    back = within.intersect_range(own).subtract_domain(own).range()
    tied = out.union(back).apply(isl.UnionMap.from_map(tile_of))
    if tied.is_empty():
        return isl.Set.empty(tile_of.range().get_space())
    hull = isl.Set.from_basic_set(isl.Set.from_union_set(tied).remove_divs().simple_hull())
    # What tile coordinates say about each other, whatever the sizes: else slices at the domain's edges come apart.
    return hull.drop_constraints_involving_dims(isl.dim_type.param, 0, hull.dim(isl.dim_type.param))


def _only(points: Band, statement: Statement) -> Band:
    """The band of points, and what is below it, for one statement."""
    own = isl.UnionSet.from_set(isl.Set.universe(statement.domain.get_space()))
    return replace(points.within(own), child=_below(points.child, own))


def _below(tree: Tree, own: isl.UnionSet) -> Tree:
    """What one statement runs below: its branch alone if the tree is a sequence in which it has one."""
    branches = tree.children if isinstance(tree, InOrder) else ()
    its = [branch for branch in branches if not branch.filter.intersect(own).is_empty()]
    return its[0].child if len(its) == 1 else tree
