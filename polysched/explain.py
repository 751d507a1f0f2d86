"""Why each loop of a schedule is or is not parallel, in words, with a pair of instances as the witness.

    2 loops, permutable: any order of them is legal, and so is tiling
      S[i, j] -> i
        carries flow on a, S[0, 1] -> S[1, 0] (stencil.py:6 -> stencil.py:6)
      S[i, j] -> i + j
        carries flow on a, S[0, 0] -> S[1, 0] (stencil.py:6 -> stencil.py:6); parallel inside the loops before it
      no loop is parallel here, but tiles are, along wavefronts
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from polysched import isl
from polysched.deps.coincidence import together
from polysched.deps.dependences import Dependence, Dependences
from polysched.errors import Loc
from polysched.model.scop import Scop
from polysched.model.tree import Band, Member, Sequence, Set, Tree, children
from polysched.model.tree_text import member_text
from polysched.model.witness import smallest


def explain(scop: Scop, dependences: Dependences, tree: Tree) -> str:
    """One paragraph for each band of `tree`, outermost first; the witnesses have the smallest sizes there are."""
    free = dependences.reorder_reductions
    active = (replace(d, reduction=d.reduction and free) for d in dependences.of("flow", "anti", "output"))
    return "\n".join(_lines(tree, tuple(active), scop, ""))


_Active = tuple[Dependence, ...]  # `reduction` only where the order of updates is free


def _lines(tree: Tree, active: _Active, scop: Scop, indent: str) -> Iterator[str]:
    match tree:
        case Band():
            yield from _band(tree, active, scop, indent)
            inside = _within(active, tree.members)
            yield from _lines(tree.child, inside, scop, indent + "  ")
        case Sequence(children=branches) | Set(children=branches):
            for k, branch in enumerate(branches):
                names = ", ".join(s.get_tuple_name() or "" for s in isl.sets_of(branch.filter))
                yield f"{indent}{'first' if k == 0 else 'then'} {names}"
                yield from _lines(branch.child, _among(active, branch.filter), scop, indent + "  ")
        case _:
            for child in children(tree):
                yield from _lines(child, active, scop, indent)


def _band(band: Band, active: _Active, scop: Scop, indent: str) -> Iterator[str]:
    count = len(band.members)
    note = ", permutable: any order of them is legal, and so is tiling" if band.permutable and count > 1 else ""
    yield f"{indent}{count} loop{'s' if count > 1 else ''}{note}"
    parallel = []
    for k, member in enumerate(band.members):
        yield indent + "  " + "; ".join(member_text(part) for part in isl.maps_of(member.schedule))
        carried = _between(active, member)
        is_free = all(d.reduction for d in carried)
        parallel.append(is_free)
        if not carried:
            yield f"{indent}    parallel"
        else:
            inner = not _between(_within(active, band.members[:k]), member)
            note = "; parallel inside the loops before it" if inner else ""
            note = "; runs in parallel as a reduction where no other loop is parallel" if is_free else note
            yield f"{indent}    carries {_witness(carried[0], scop)}{note}"
    if band.permutable and count > 1 and not any(parallel):
        yield f"{indent}  no loop is parallel here, but tiles are, along wavefronts"


def _between(active: _Active, member: Member) -> _Active:
    """The parts of the dependences that run between different iterations of the loop: it carries them."""
    same = together(member)
    return _parts(active, lambda pairs: pairs.subtract(same))


def _within(active: _Active, members: tuple[Member, ...]) -> _Active:
    """The parts of the dependences inside one iteration of all these loops."""
    for member in members:
        active = _parts(active, together(member).intersect)
    return active


def _among(active: _Active, instances: isl.UnionSet) -> _Active:
    """The parts of the dependences between these instances."""
    return _parts(active, lambda pairs: pairs.intersect_domain(instances).intersect_range(instances))


def _parts(active: _Active, part: Callable[[isl.UnionMap], isl.UnionMap]) -> _Active:
    """The dependences of which something is left."""
    kept = ((d, part(isl.UnionMap.from_map(d.relation))) for d in active)
    return tuple(replace(d, relation=isl.Map.from_union_map(pairs)) for d, pairs in kept if not pairs.is_empty())


def _witness(dependence: Dependence, scop: Scop) -> str:
    """The dependence with its first pair of instances at the smallest sizes, and their source lines."""
    _, point = smallest(dependence.relation.wrap())
    values = list(point)
    source, sink = scop.statement(dependence.source), scop.statement(dependence.sink)
    lines = " -> ".join(_line(s.loc) for s in (source, sink) if s.loc)
    pair = f"{source.name}{values[: source.depth]} -> {sink.name}{values[source.depth :]}"
    return f"{dependence.kind} on {dependence.array}, {pair}" + (f" ({lines})" if lines else "")


def _line(loc: Loc) -> str:
    return f"{loc.file.rsplit('/', 1)[-1]}:{loc.line}"
