"""Which products have rows in common with what is done along rows between them.

    s[i, l] += q[i, m] * k[l, m]       a product with rows i, columns l and terms m
    m[i] = max(m[i], s[i, l])          along rows
    e[i, l] = exp(s[i, l] - m[i])
    o[i, c] += e[i, l] * v[l, c]       a product with rows i, columns c and terms l

They follow one another, and every dependence between them stays within one row. The rows of a product share what they
read, so that a block of them is better than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from polysched.deps.coincidence import together
from polysched.deps.dependences import Dependences
from polysched.deps.reaching import names_in
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, InOrder, Member, Tree
from polysched.strategy.tiles import tile_rows
from polysched.support import isl
from polysched.transform.analysis.roles import Around, Loops
from polysched.transform.trees.fusion import Fused, Fusible, as_one, either_way, matching, sums_to_fuse


@dataclass(frozen=True)
class Part:
    """Nests with rows in common, one after the other; of a product, each with the columns, and one with the terms."""

    nests: tuple[Fusible, ...]
    is_product: bool = False

    @property
    def instances(self) -> isl.UnionSet:
        return reduce(isl.UnionSet.union, (nest.instances for nest in self.nests))

    @property
    def names(self) -> set[str]:
        """The statements."""
        return names_in(self.instances)


def row_block(found: Fused, tree: Tree, scop: Scop, dependences: Dependences) -> list[Part] | None:
    """What is done along these rows, and products with the same ones, in their order; None if it is not done between
    two products, or they are not all there is in a piece of the outermost sequence.

    A product alone has tiles of its own, of more rows and fewer columns.
    """
    if sum(len(s.iterators) >= len(found.members) + 2 for s in scop.statements) < 2:
        return None
    sequence, around = _outermost_sequence(tree, dependences)
    if sequence is None:
        return None
    sums = sums_to_fuse(tree, scop, dependences)
    products = [each for each in (_product(of, found, scop, around) for of in sums) if each is not None]
    own = set[str]().union(*(product.names for product in products))
    rows = [Part((nest,)) for nest in found.nests if not names_in(nest.instances) <= own]
    parts = _in_order([*products, *rows], sequence)
    if parts is None or any(len(nest.inner) > 1 for part in rows for nest in part.nests):
        return None
    places = [k for k, part in enumerate(parts) if part.is_product]
    is_between = any(not part.is_product for part in parts[min(places, default=0) : max(places, default=0)])
    return parts if is_between and _stays_in_rows(parts, dependences) else None


def _outermost_sequence(tree: Tree, dependences: Dependences) -> tuple[InOrder | None, Around]:
    for node, around in Around((), dependences.coincidence).walk(tree):
        if isinstance(node, InOrder) or around.members:
            return (node, around) if isinstance(node, InOrder) and not around.members else (None, around)
    return None, Around((), dependences.coincidence)


def _product(of: Fused, found: Fused, scop: Scop, around: Around) -> Part | None:
    """The sum, with what it starts from and ends in, as a product with these rows; None if it is no such."""
    pairs = either_way(found.instances, of.instances, around.reaching)
    if pairs.is_empty():
        return None
    own = matching(found.members, found.instances, of.members, of.instances, pairs, scop.domain, around)
    places = [of.members.index(member) for member in own or ()]
    rest = [k for k in range(len(of.members)) if k not in places]
    summing = [nest for nest in of.nests if nest.inner]
    if own is None or len(rest) != 1 or len(summing) != 1 or len(summing[0].inner) != 1:
        return None
    nests = tuple(
        replace(nest, members=tuple(nest.members[k] for k in places), inner=(nest.members[rest[0]], *nest.inner))
        for nest in of.nests
    )
    (summed,), names = summing, names_in(summing[0].instances)
    band = Band((*(summed.members[k] for k in (*places, *rest)), *summed.inner))
    if len(names) != 1:
        return None
    loops = Loops(scop.statement(*names), band, around)
    row, column = len(places) - 1, len(places)
    return Part(nests, is_product=True) if loops.move and tile_rows(loops, column, [row, column]) == row else None


def _in_order(parts: Sequence[Part], sequence: InOrder) -> list[Part] | None:
    """The parts as they stand in the sequence, neighbors along rows as one; None if something stands between, or in,
    them."""
    branches = [names_in(branch.filter) for branch in sequence.children]
    places = [[k for k, branch in enumerate(branches) if branch & part.names] for part in parts]
    every = sorted(k for of_part in places for k in of_part)
    are_whole = all(
        set[str]().union(*(branches[k] for k in of_part)) == part.names
        for of_part, part in zip(places, parts, strict=True)
    )
    are_apart = all(of_part == list(range(of_part[0], of_part[-1] + 1)) for of_part in places if of_part)
    if not are_whole or not are_apart or not every or every != list(range(every[0], every[-1] + 1)):
        return None
    found: list[Part] = []
    for _, part in sorted(zip(places, parts, strict=True), key=lambda each: each[0]):
        if found and not part.is_product and not found[-1].is_product:
            found[-1] = Part((*found[-1].nests, *part.nests))
        else:
            found.append(part)
    return found


def _stays_in_rows(parts: Iterable[Part], dependences: Dependences) -> bool:
    """Is every dependence between any of the nests within one row?"""
    nests = [nest for part in parts for nest in part.nests]
    every = reduce(isl.UnionSet.union, (nest.instances for nest in nests))
    pairs = dependences.coincidence.intersect_domain(every).intersect_range(every)
    return all(pairs.is_subset(together(_common(nests, k))) for k in range(len(nests[0].members)))


def _common(nests: Sequence[Fusible], k: int) -> Member:
    """The k-th loop over rows of all the nests."""
    member, one = nests[0].members[k], nests[0].instances
    for nest in nests[1:]:
        member, one = as_one(member, one, nest.members[k], nest.instances), one.union(nest.instances)
    return member
