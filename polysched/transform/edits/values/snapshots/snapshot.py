"""Snapshots: what each iteration of a loop reads of an array that it also writes, in copies that later iterations leave
alone. Without them, a step that meets itself, as of Floyd and Warshall's algorithm, cannot wait for the next ones.

    for k: for i: for j:                         for k:
        p[i, j] = min(p[i, j],                       for i: a[k, i] = p[i, k]
                      p[i, k] + p[k, j])   ->        for j: b[k, j] = p[k, j]
                                                     for i: for j:
                                                         if i <= k and j <= k: p[i, j] = min(p[i, j], a[k, i] + b[k, j])
                                                         if i <= k and j > k:  p[i, j] = min(p[i, j], c[k, i] + b[k, j])
                                                         ...
                                                         if j == k: c[k, i] = p[i, k]

A place that is read and written in one iteration holds two values in it: the one from before, which is copied when the
iteration begins, and the one that it writes, which is copied right then. Who reads which is known exactly, by who
wrote last; a statement for each combination reads the copies. This is renaming (Feautrier, ICS 1988) of what is read
alone: the array itself stays as it is. That each read gets its value is shown, as for all copies (`same_values.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import reduce
from itertools import chain, product

from polysched.errors import InputError
from polysched.ir.node import rewrite
from polysched.ir.nodes import Load, Store, Var
from polysched.model.scop import Access, Statement
from polysched.model.tree.instances import copied
from polysched.model.tree.nodes import Domain, Filter, InOrder, Leaf, Tree
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.graft import grafted
from polysched.transform.edits.base.loops import changed_at, loop, nest
from polysched.transform.edits.base.registry import by_name, edit
from polysched.transform.edits.base.same_values import require_same_values
from polysched.transform.edits.values.snapshots.versions import Place, Step, Version


@edit("values", "k, i, j -> k, (A0; A1; i, j)")
def snapshot(draft: Draft, array: str, at: str, size: int = 0) -> Draft:
    """Copies of what each iteration of loop `at` reads of an array that it also writes, an element for each iteration.

    Other iterations may then overwrite what was read: with a `size`, those that many iterations later the copies, too.
    The loop runs one statement, in loops of its own, which updates an element a[f] by others of the array; the copies
    are arrays that belong to no loop. InputError where the loop is none of these; IllegalSchedule if something gets
    another value by that.

        for k:                        for k:
            for i: for j:                 for i: p_k[k, i] = p[i, k]
                p[i, j] += p[i, k]  ->    for i: for j:
                                              p[i, j] += p_k[k, i]             snapshot("p", at="k"), in part
    """
    place, what = loop(draft.nested, at), f"snapshot({array}, at={at})"
    if size < 0:
        raise InputError(f"copies of {size} iterations cannot be kept", hint="leave the size out to keep them all")
    wide = by_name("array", array, {each.name: each for each in draft.scop.arrays})
    step = Step(draft, place, wide, size, what)
    versions = step.versions
    if not versions:
        raise InputError(f"loop '{place.name}' reads no other elements of '{array}' than the one that it updates")
    return _with_copies(step, versions)


def _with_copies(step: Step, versions: Sequence[Sequence[Version]]) -> Draft:
    """The draft with the copies, and a statement for each combination of what is read."""
    scop, statement = step.scop, step.statement
    readers, every = list(_readers(step, versions)), [*chain(*versions)]
    copies = [[_copy(step, version.place, part) for part in _made(step, version, readers)] for version in every]
    own = (*readers, *chain(*copies))
    statements = tuple(part for s in scop.statements for part in (own if s is statement else (s,)))
    others = (s.domain.identity() for s in scop.statements if s is not statement)
    same = (_as(each.domain.identity(), statement.name) for each in readers)
    origin = isl.union_map((*others, *same))
    arrays = (*scop.arrays, *(version.place.array for version in every))
    kills = origin.apply_range(scop.kills).coalesce()
    edited = replace(scop, statements=statements, arrays=arrays, kills=kills)
    tree = _one_by_one(step, copied(step.draft.nested, origin), {each.name for each in readers})
    late, early = ([c for v, c in zip(every, copies, strict=True) if v.is_late is kind] for kind in (True, False))
    for copy in chain(*late):  # before the early ones, which move their place
        tree = _placed_late(step, tree, copy)
    for copy in chain(*early):
        tree = _placed_early(step, tree, copy)
    return require_same_values(step.draft, edited, tree, origin, step.what)


def _readers(step: Step, versions: Sequence[Sequence[Version]]) -> Iterator[Statement]:
    """The statement on the copies, for each combination of these that an instance reads."""
    s = step.statement
    names = iter([s.name])
    for chosen in product(*versions):
        domain = reduce(isl.Set.intersect, (each.readers for each in chosen), s.domain)
        if not domain.is_empty():
            name = next(names, "") or step.named(f"{s.name}_2")
            yield _reading(s, domain.coalesce(), chosen, name)


def _reading(statement: Statement, domain: isl.Set, chosen: Sequence[Version], name: str) -> Statement:
    """These instances of the statement, on the copies."""
    found = [(version, *version.read(statement)) for version in chosen]
    accesses = {version.access: access for version, access, _ in found}
    loads: Mapping[object, Load] = {old: new for version, _, new in found for old in version.loads}

    def of(old: tuple[Access, ...]) -> tuple[Access, ...]:
        now = (accesses.get(each, each) for each in old)
        return tuple(
            replace(a, relation=a.relation.intersect_domain(domain).set_tuple_name(isl.dim_type.in_, name)) for a in now
        )

    body = rewrite(statement.body, lambda node: loads.get(node) if isinstance(node, Load) else None)
    reads, writes = of(statement.reads), of(statement.writes)
    return replace(statement, name=name, domain=domain.set_tuple_name(name), reads=reads, writes=writes, body=body)


def _made(step: Step, version: Version, readers: Sequence[Statement]) -> list[isl.Set]:
    """What the version copies: if late, by the statements that write it."""
    made = version.makers.range().coalesce()
    if not version.is_late:
        return [made]
    parts = (made.intersect(each.domain.set_tuple_name(step.statement.name)) for each in readers)
    return [part for part in parts if not part.is_empty()]


def _copy(step: Step, place: Place, made: isl.Set) -> Statement:
    """A statement that copies what these instances write."""
    s, wide = step.statement, step.wide
    name = step.named(f"keep_{wide.name}")
    domain = made.coalesce().set_tuple_name(name)
    for k, iterator in enumerate(s.iterators):
        domain = domain.set_dim_name(isl.dim_type.set, k, iterator)
    here = _as(domain.identity(), s.name)
    target = place.load([Var(s.iterators[k]) for k in place.kept])
    return Statement(
        name=name,
        iterators=s.iterators,
        domain=domain,
        reads=(Access(array=wide.name, relation=here.apply_range(step.write.relation)),),
        writes=(place.access(here),),
        body=(Store(target.array, target.index, Load(wide.name, step.store.index, wide.dtype)),),
        loc=s.loc,
    )


def _one_by_one(step: Step, tree: Tree, readers: Set[str]) -> Tree:
    """The tree with the readers one after the other in the innermost loop."""
    assert isinstance(tree, Domain)
    parts = [isl.UnionSet.from_set(each) for each in isl.sets_of(tree.domain) if each.get_tuple_name() in readers]
    if len(parts) < 2:
        return tree
    return changed_at(tree, step.leaf, lambda node: InOrder(tuple(Filter(part, node) for part in parts)))


def _placed_late(step: Step, tree: Tree, copy: Statement) -> Tree:
    """The tree with the copy right after what it copies."""
    return grafted(tree, step.leaf, Domain(copy.instances, Leaf()), _rows(step, copy), before=False)


def _placed_early(step: Step, tree: Tree, copy: Statement) -> Tree:
    """The tree with the copy when an iteration begins, in those of the loops that it moves along."""
    rows, depth = _rows(step, copy), len(step.place.bands)
    members = [
        replace(band.members[0], schedule=row)
        for band, row in zip(step.inside[1:], rows[depth:], strict=True)
        if _moves(row, rows[:depth])
    ]
    begun = Domain(copy.instances, nest(members, Leaf()))
    return grafted(tree, (*step.place.path, 0), begun, rows[:depth], before=True)


def _rows(step: Step, copy: Statement) -> list[isl.UnionMap]:
    """When it runs: in each of the loops around and in the step, as what it copies."""
    as_s = isl.UnionMap.from_map(_as(copy.domain.identity(), step.statement.name))
    return [as_s.apply_range(band.members[0].schedule) for band in (*step.place.bands, *step.inside[1:])]


def _moves(row: isl.UnionMap, around: Sequence[isl.UnionMap]) -> bool:
    """Has a loop several values in one iteration of those around it?"""
    outer = reduce(isl.UnionMap.flat_range_product, around)
    return not outer.reverse().apply_range(row).is_single_valued()


def _as(instances: isl.Map, name: str) -> isl.Map:
    """{ T[i] -> S[i] } for the identity of T and the name S"""
    return instances.set_tuple_name(isl.dim_type.out, name)
