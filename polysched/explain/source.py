"""The loops of the source: what each is good for as it stands, and what would make it better.

    for i, stencil.py:12
      not parallel: flow on a, distance (1, -1..1), S[0, 1] -> S[1, 0] at N = 2, line 14
      i, j cannot be tiled: flow on a, distance (1, -1), S[0, 1] -> S[1, 0] at N = 2, line 14
        lifted by skew("j", by="i")
      for j, line 13
        parallel and SIMD
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.config.plain import called
from polysched.deps.dependences import union
from polysched.deps.distance import distances
from polysched.deps.reaching import Reaching, names_in, parts, within
from polysched.errors import Loc
from polysched.explain.fusion import fusion
from polysched.explain.lifts import parallel_lifts, removal
from polysched.explain.loops import Loop, Nest, loops
from polysched.explain.sample import blockers
from polysched.ir.node import walk
from polysched.ir.nodes import For, If, Stmt
from polysched.model.scop import Access
from polysched.model.tree.nodes import InOrder, Member, Set, Tree
from polysched.transform.analysis.roles import step, stride
from polysched.transform.edits.order.skew import skew_step
from polysched.transform.trees.distribute import distribute


def source_lines(tree: Tree, nest: Nest) -> Iterator[str]:
    """A heading for each loop of the tree, which is in source order, and what is true of it."""
    found = tuple(loop for loop in loops(tree, nest) if loop.statements)
    places = _places(found)
    for loop, place in zip(found, places, strict=True):
        if nest.tells(loop.instances):
            indent = "  " * len(loop.around)
            yield indent + _heading(loop, place)
            yield from (f"{indent}  {line}" for line in _verdicts(loop))


def _heading(loop: Loop, place: Loc | None) -> str:
    called = f" (called {loop.name})" if loop.name != loop.variable else ""
    if place is None:
        return f"for {loop.variable}{called}"
    at = f"line {place.line}" if loop.around else f"{place.file.rsplit('/', 1)[-1]}:{place.line}"
    return f"for {loop.variable}{called}, {at}"


def _verdicts(loop: Loop) -> Iterator[str]:
    yield from _parallel(loop)
    yield from _strides(loop)
    yield from _tiled(loop)
    yield from _fused(loop)


# --- parallel, SIMD


def _parallel(loop: Loop) -> Iterator[str]:
    both = " and SIMD" if loop.is_innermost else ""
    carried = loop.carried
    if not carried:
        yield f"parallel{both}"
    elif all(d.reduction for d in carried) and loop.nest.dependences.reorder_reductions:
        arrays = ", ".join(dict.fromkeys(d.array for d in carried))
        yield f"parallel{both} as a reduction of {arrays}"
    else:
        yield from _because(f"not parallel{' nor SIMD' if loop.is_innermost else ''}", loop, carried)
        yield from _lifted(parallel_lifts(loop))


def _because(verdict: str, loop: Loop, reaching: Reaching) -> Iterator[str]:
    """The verdict with the dependences that are the reason."""
    members = [outer.member for outer in loop.around]
    first, *others = blockers(reaching, members, loop.band, loop.nest.scop)
    yield f"{verdict}: {first}"
    yield from (f"  {other}" for other in others)


def _lifted(proposals: Iterator[str]) -> Iterator[str]:
    for k, proposal in enumerate(proposals):
        yield f"  {'lifted by' if k == 0 else '       or'} {proposal}"


def _strides(loop: Loop) -> Iterator[str]:
    """The accesses of an innermost parallel loop that SIMD must gather."""
    if not loop.is_innermost or loop.carried:
        return
    far = _far(loop, loop.member)
    if far:
        yield f"SIMD steps over more than one element of {', '.join(far)}"
        yield from _lifted(_nearer(loop))


def _far(loop: Loop, member: Member) -> list[str]:
    """The accesses that step by more than one element along that loop of those around."""
    members = [*(outer.member for outer in loop.around), loop.member]
    steps = ((s, step(s, tuple(members), members.index(member))) for s in loop.statements)
    moving = ((access, along) for s, along in steps if along is not None for access in (*s.writes, *s.reads))
    return list(dict.fromkeys(_text(access) for access, along in moving if stride(access, along) is None))


def _nearer(loop: Loop) -> Iterator[str]:
    """Another loop innermost, that has shorter strides and is parallel there."""
    chain = [loop]
    while chain[0].outer is not None:
        chain.insert(0, chain[0].outer)
    head, last = chain[0], len(chain) - 1
    for k in reversed(range(last)):
        order = [*(j for j in range(last + 1) if j != k), k]
        there = head.distances.reordered(order)
        if there.in_order and there.is_parallel(last) and not _far(loop, chain[k].member):
            swapped = called("reorder", *(chain[j].name for j in order[k:]))
            yield f"{swapped}: all strides along {chain[k].name} are 0 or 1"
            return


def _text(access: Access) -> str:
    """As in B[k, j]."""
    return str(access.relation).rpartition(" -> ")[2].partition("]")[0] + "]"


# --- tiles


def _tiled(loop: Loop) -> Iterator[str]:
    """Of the outermost of nested loops, whether all of them can be tiled."""
    names = ", ".join(member.name for member in loop.chain)
    if loop.outer is not None:
        return
    if len(loop.chain) == 1:
        yield from _between(loop)
    elif loop.distances.is_permutable:
        yield f"{names} can be tiled"
    else:
        worst = (_backwards(loop, member) for member in loop.chain)
        yield from _because(f"{names} cannot be tiled", loop, next(filter(None, worst)))
        yield from _lifted(_tile_lifts(loop))
        for k in range(1, len(loop.chain) - 1):
            if distances(loop.chain[k:], within(loop.reaching, loop.chain[:k])).is_permutable:
                yield f"  {', '.join(member.name for member in loop.chain[k:])} alone can"
                break


def _tile_lifts(loop: Loop) -> Iterator[str]:
    """What would make the loops of its chain permutable."""
    backwards = tuple(d for member in loop.chain for d in _backwards(loop, member))
    storage = removal(loop.last, backwards, before=loop)
    if storage:
        yield storage
    skews = loop.distances.skews
    if skews:
        names = [member.name for member in loop.chain]
        yield " and ".join(skew_step(names[k], names[by], factor).text for k, by, factor in skews)


def _backwards(loop: Loop, member: Member) -> Reaching:
    """The parts of the dependences along which a loop of the chain runs backwards."""
    later = member.schedule.lex_gt_union_map(member.schedule)
    return parts(loop.reaching, later.intersect)


def _between(loop: Loop) -> Iterator[str]:
    """Why a loop beside other statements is not tiled with the one around it."""
    if not loop.around or not isinstance(loop.around[-1].band.child, InOrder | Set):
        return
    outer = loop.around[-1]
    own = {statement.name for statement in loop.statements}
    others = (s for s in outer.statements if s.name not in own)
    lines = ", ".join(dict.fromkeys(str(s.loc.line) if s.loc else s.name for s in others))
    yield f"not tiled with {outer.name}: statements of line {lines} are in that loop too"
    parted = distribute(outer.band, union(outer.reaching))
    if parted is not None and any(names_in(part.filter) == own for part in parted.children):
        yield f"  lifted by {called('distribute', outer.name)}"


# --- fused


def _fused(loop: Loop) -> Iterator[str]:
    """Whether it could be one loop with the one before it."""
    first = loop.before
    if first is not None:
        free = not first.carried and not loop.carried
        how = called("fuse", first.name, loop.name)
        members = first.member, loop.member
        yield from fusion(first.name, members, loop.crossing, is_parallel=free, scop=loop.nest.scop, how=how)


# --- where they are in the source


def _places(found: tuple[Loop, ...]) -> list[Loc | None]:
    """The place of each loop in the source; None for those that are not in it."""
    if not found:
        return []
    known = list(_loops_of(found[0].nest.scop.function.body, ()))
    places: list[Loc | None] = []
    for loop in found:
        lines = {statement.loc for statement in loop.statements}
        fits = (k for k, (path, node) in enumerate(known) if path == loop.path and lines <= _places_in(node))
        k = next(fits, None)
        places.append(known[k][1].loc if k is not None else None)
        known = known if k is None else known[k + 1 :]
    return places


def _loops_of(body: tuple[Stmt, ...], around: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], For]]:
    for stmt in body:
        match stmt:
            case For(var=var, body=inner):
                yield (*around, var), stmt
                yield from _loops_of(inner, (*around, var))
            case If(then=then, other=other):
                yield from _loops_of((*then, *other), around)


def _places_in(loop: For) -> set[Loc | None]:
    return {node.loc for node in walk(loop.body) if isinstance(node, Stmt)}
