"""Statements of which some instances are to have another body than the others: two statements, where edits cut a loop.

    filter: S[i] : n <= 32                    filter: S[i] : n <= 32
      band: i    S                    ->        band: i    S
    filter: S[i] : n > 32                     filter: S_2[i] : n > 32
      band: i_2  S                              band: i_2  S_2

Nothing else changes: the same instances run in the same order, by other names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polysched.deps.dependences import Dependence, Dependences
from polysched.model.scop import Access, Statement
from polysched.model.tree.instances import copied
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.loops import free
from polysched.transform.edits.values.copies import names_in


def told_from_others(draft: Draft, inside: isl.UnionSet, array: str) -> Draft:
    """The draft in which statements that use the array have all their instances inside, or none; those inside keep
    their names."""
    inside = inside.intersect_params(draft.scop.context)
    cut = [each for each in draft.scop.statements if _is_cut(each, inside, array, draft.scop.context)]
    return _in_two(draft, inside, cut) if cut else draft


def _is_cut(statement: Statement, inside: isl.UnionSet, array: str, context: isl.Set) -> bool:
    own = statement.instances.intersect_params(context)
    uses = any(access.array == array for access in statement.accesses)
    return uses and not own.is_disjoint(inside) and not own.is_subset(inside)


def _in_two(draft: Draft, inside: isl.UnionSet, cut: list[Statement]) -> Draft:
    scop, taken = draft.scop, names_in(draft.scop)
    names = dict[str, str]()
    for statement in cut:
        names[statement.name] = free(f"{statement.name}_2", taken)
        taken.add(names[statement.name])
    origin = isl.union_map(m for s in scop.statements for m in _origins(s, inside, names))
    statements = tuple(part for s in scop.statements for part in (_parts(s, inside, names) if s in cut else (s,)))
    edited = replace(
        scop, statements=statements, tree=copied(scop.tree, origin), kills=origin.apply_range(scop.kills).coalesce()
    )
    unshown = draft.unshown and replace(draft.unshown, origin=origin.apply_range(draft.unshown.origin))
    return replace(
        draft,
        scop=edited,
        dependences=_between_parts(draft.dependences, origin),
        nested=copied(draft.nested, origin),
        unshown=unshown,
    )


def _origins(statement: Statement, inside: isl.UnionSet, names: dict[str, str]) -> Iterator[isl.Map]:
    """{ S_2[i] -> S[i] } for the instances outside, and { S[i] -> S[i] } for the others."""
    if statement.name not in names:
        yield statement.domain.identity()
        return
    for part, name in _halves(statement, inside, names):
        yield part.identity().set_tuple_name(isl.dim_type.in_, name)


def _halves(statement: Statement, inside: isl.UnionSet, names: dict[str, str]) -> list[tuple[isl.Set, str]]:
    """The instances inside, and outside, each with the name of their statement."""
    (own,) = isl.sets_of(statement.instances.intersect(inside))
    return [(own.coalesce(), statement.name), (statement.domain.subtract(own).coalesce(), names[statement.name])]


def _parts(statement: Statement, inside: isl.UnionSet, names: dict[str, str]) -> tuple[Statement, ...]:
    def part(domain: isl.Set, name: str) -> Statement:
        def of(accesses: tuple[Access, ...]) -> tuple[Access, ...]:
            return tuple(
                replace(each, relation=each.relation.set_tuple_name(isl.dim_type.in_, name)) for each in accesses
            )

        reads, writes = of(statement.reads), of(statement.writes)
        return replace(statement, name=name, domain=domain.set_tuple_name(name), reads=reads, writes=writes)

    return tuple(part(*half) for half in _halves(statement, inside, names))


def _between_parts(dependences: Dependences, origin: isl.UnionMap) -> Dependences:
    """The dependences, each between two of the statements that there are now."""

    def between(pair: Dependence) -> Iterator[Dependence]:
        own = isl.UnionMap.from_map(pair.relation)
        for relation in isl.maps_of(origin.apply_range(own).apply_range(origin.reverse())):
            source, sink = (relation.get_tuple_name(end) or "" for end in (isl.dim_type.in_, isl.dim_type.out))
            yield replace(pair, source=source, sink=sink, relation=relation)

    return replace(dependences, pairs=tuple(each for pair in dependences.pairs for each in between(pair)))
