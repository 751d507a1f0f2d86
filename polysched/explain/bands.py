"""The bands of a schedule: whether each loop is parallel, with a dependence that it carries if not.

    2 loops, permutable: any order of them is legal, and so is tiling
      S[i, j] -> i
        carries flow on a, distance (1, 0..2), S[0, 1] -> S[1, 0] at N = 2, line 14
      S[i, j] -> i + j
        carries flow on a, ...; parallel inside the loops before it
      no loop is parallel here, but tiles are, along wavefronts
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.deps.reaching import Reaching, across, below, between, within
from polysched.explain.fusion import fusion, least_apart
from polysched.explain.loops import Nest
from polysched.explain.sample import blockers
from polysched.model.tree.nodes import Band, Filter, InOrder, Mark, Member, Set, Tree, children, own_marks
from polysched.model.tree.text import member_text
from polysched.model.tree.to_isl import mark_text
from polysched.support import isl


def band_lines(tree: Tree, nest: Nest) -> Iterator[str]:
    """One paragraph for each band of the tree, outermost first."""
    yield from _lines(tree, nest, nest.reaching, (), "")


def _lines(tree: Tree, nest: Nest, reaching: Reaching, around: tuple[Member, ...], mark: str) -> Iterator[str]:
    """`mark` is that of the node above."""
    match tree:
        case Band(members=members, child=child):
            yield from _band(tree, nest, reaching, around, _mark(tree) or mark)
            inner = _lines(child, nest, within(reaching, members), (*around, *members), "")
            yield from (f"  {line}" for line in inner)
        case InOrder(children=branches) | Set(children=branches):
            told = [branch for branch in branches if nest.tells(branch.filter)]
            for k, branch in enumerate(told):
                names = ", ".join(s.get_tuple_name() or "" for s in isl.sets_of(branch.filter))
                yield f"{'first' if k == 0 else 'then'} {names}"
                if k > 0:
                    yield from (f"  {line}" for line in _apart(told[k - 1], branch, reaching, nest))
                inner = _lines(branch.child, nest, below(branch, reaching), around, "")
                yield from (f"  {line}" for line in inner)
        case Mark(child=child):
            yield from _lines(child, nest, reaching, around, _mark(tree))
        case _:
            for child in children(tree):
                yield from _lines(child, nest, reaching, around, mark)


def _mark(node: Tree) -> str:
    """The last one."""
    return mark_text(own_marks(node)[-1]) if own_marks(node) else ""


def _band(band: Band, nest: Nest, reaching: Reaching, around: tuple[Member, ...], mark: str) -> Iterator[str]:
    count = len(band.members)
    note = ", permutable: any order of them is legal, and so is tiling" if band.permutable and count > 1 else ""
    yield f"{count} loop{'s' if count > 1 else ''}{note}"
    free = nest.dependences.reorder_reductions
    verdicts = []
    for k, member in enumerate(band.members):
        name = f"{member.name}: " if member.name else ""
        marked = f" ({mark})" if mark and k == 0 else ""
        yield f"  {name}" + "; ".join(member_text(part) for part in isl.maps_of(member.schedule)) + marked
        carried = between(reaching, member)
        reduces = free and bool(carried) and all(d.reduction for d in carried)
        verdicts.append(not carried or reduces)
        if not carried:
            yield from [] if marked == " (parallel)" else ["    parallel"]
            continue
        inner = not between(within(reaching, band.members[:k]), member)
        note = "; parallel inside the loops before it" if inner else ""
        note = "; runs in parallel as a reduction where no other loop is parallel" if reduces else note
        first, *others = blockers(carried, (*around, *band.members), band.child, nest.scop)
        yield f"    carries {first}{note}"
        yield from (f"      {other}" for other in others)
    is_for_tiles = not any(member.rounds for member in around) and not any(map(_is_wavefront, band.members))
    if band.permutable and count > 1 and not any(verdicts) and is_for_tiles:
        yield "  no loop is parallel here, but tiles are, along wavefronts"


def _is_wavefront(member: Member) -> bool:
    """Does it count sums of tiles, so that the loops inside of it are parallel?"""
    return any(aff.dim(isl.dim_type.div) > 1 for aff in member.pieces)


def _apart(one: Filter, other: Filter, reaching: Reaching, nest: Nest) -> Iterator[str]:
    """Why two nests that follow one another are not one."""
    if not (isinstance(one.child, Band) and isinstance(other.child, Band)):
        return
    if own_marks(one.child) or own_marks(other.child):
        return
    crossing = across(reaching, one.filter, other.filter)
    depths = _depth(one), _depth(other)
    if not any(d.kind == "flow" for d in crossing):
        yield "not fused with the loops before: no value flows between them"
    elif depths[0] != depths[1]:
        yield f"not fused with the loops before: these are {depths[0]} deep, those here {depths[1]}"
    else:
        # of the branches alone: instances of one statement may be in both
        pairs = list(zip(one.child.within(one.filter).members, other.child.within(other.filter).members, strict=False))
        # the first of their loops that cannot be one whatever the shift, or else the outermost
        blocked = (k for k, pair in enumerate(pairs) if least_apart(pair, crossing) == -float("inf"))
        inner, depth = next(blocked, 0), len(pairs)
        pair = pairs[inner]
        free = not any(between(below(each, reaching), m) for each, m in zip((one, other), pair, strict=True))
        if inner:
            yield f"fused with the loops before, it would have {inner} of {depth} loops in common:"
        yield from fusion("the loops before", pair, crossing, is_parallel=free, scop=nest.scop)


def _depth(tree: Tree) -> int:
    """How many loops are in one another."""
    own = len(tree.members) if isinstance(tree, Band) else 0
    return own + max(map(_depth, children(tree)), default=0)
