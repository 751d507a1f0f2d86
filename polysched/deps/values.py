"""Do two nests compute the same? Decided by who wrote what each read gets (translation validation).

    before   S[i] reads A[i], which W[i] wrote                     { S#0[i] -> W!0[i] }
    after    S[i] reads t[0], which L[i] copied from A[i]          { S#0[i] -> L!0[i] },  { L#0[i] -> W!0[i] }
             without the copy: the same

Copies are left out by composing what they get with who gets it from them; what was there before the nest is a source,
too, and all that it leaves in arrays of the user's is read at the end. Then each read must have the source that it had.
Verdoolaege, Janssens and Bruynooghe (TOPLAS 2012) treat the general problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from polysched.deps.dataflow import sources
from polysched.errors import IllegalSchedule
from polysched.ir.nodes import Load, Store
from polysched.ir.text import in_words
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Domain, Filter, InOrder, Leaf
from polysched.model.witness import smallest
from polysched.support import isl


@dataclass(frozen=True)
class WrongValue:
    """A read that would get another value than it should, with the reasons as text."""

    text: str
    sizes: dict[str, int]
    lines: tuple[str, ...] = ()  # where the statements stand in the source

    def __str__(self) -> str:
        sizes = f" ({in_words(self.sizes)})" if self.sizes else ""
        return "".join([self.text, sizes, *(f"\n  {line}" for line in self.lines)])


def first_wrong_value(before: Scop, after: Scop, origin: isl.UnionMap) -> WrongValue | None:
    """A read of `after` that gets another value than that of `before` which stands for it, or an element that is left
    with another value at the end; None if there is none.

    `origin` is { instance after -> instance before } for instances that make the same of what they read; statements
    that it leaves out on either side must be copies, that store what they load. In both, elements of arrays that belong
    to a loop have been told apart. IllegalSchedule where the values cannot be told.
    """
    before, after = _certain(before), _certain(after)
    require_exact(before)
    require_exact(after)
    old = _Values(with_ends(before, after), {m.get_tuple_name(isl.dim_type.out) for m in isl.maps_of(origin)})
    new = _Values(with_ends(after, before), {m.get_tuple_name(isl.dim_type.in_) for m in isl.maps_of(origin)})
    reads, writes = _standing_for(old, new, origin)
    found = new.got.intersect_domain(reads.domain())
    wanted = reads.apply_range(old.got)  # { read after -> source before }
    wrong = found.subtract(wanted.apply_range(writes.reverse()))
    for pairs in isl.maps_of(wrong):
        if not pairs.is_empty():
            return _witness(pairs, wanted, old, new)
    return None


def is_copy(statement: Statement) -> bool:
    """Does it do nothing but store an element that it loads?"""
    match statement.body:
        case (Store(value=Load()),):
            return len(statement.reads) == len(statement.writes) == 1
    return False


def require_exact(scop: Scop, array: str = "") -> None:
    """IllegalSchedule if an access, or one to the array, may touch several elements, or a write may not happen: then it
    is unknown who wrote what. A read that may not happen gets what it would get if it did."""
    for statement in scop.statements:
        for access in statement.accesses:
            if array in ("", access.array) and not access.relation.is_single_valued():
                raise IllegalSchedule(f"{_UNKNOWN}: {statement.name} may touch any element of '{access.array}'")
        for write in statement.writes:
            if array in ("", write.array) and not write.must:
                raise IllegalSchedule(f"{_UNKNOWN}: {statement.name} may leave '{write.array}' as it was")


_UNKNOWN = "which values are the same is unknown"


def _certain(scop: Scop) -> Scop:
    """With writes that happen in place of those that may: what is left as it was is read and stored again."""
    return replace(scop, statements=tuple(map(_rewriting, scop.statements)))


def _rewriting(statement: Statement) -> Statement:
    left = tuple(replace(write, must=True) for write in statement.writes if not write.must)
    writes = tuple(replace(write, must=True) for write in statement.writes)
    return replace(statement, reads=(*statement.reads, *left), writes=writes) if left else statement


# --- what is left at the end, as reads


def with_ends(scop: Scop, *others: Scop) -> Scop:
    """The nest with a read, at its end, of all elements of the user's arrays that it or the others write."""
    written = reduce(isl.UnionSet.union, (s.writes.intersect_params(s.context).range() for s in (scop, *others)))
    users = {array.name for array in scop.function.arrays}
    parts = [part.coalesce() for part in isl.sets_of(written) if part.get_tuple_name() in users]
    ends = tuple(_end(part.get_tuple_name() or "", part) for part in parts)
    if not ends:
        return scop
    assert isinstance(scop.tree, Domain)
    last = isl.union_set(end.domain for end in ends)
    order = InOrder((Filter(scop.tree.domain, scop.tree.child), Filter(last, Leaf())))
    return replace(scop, statements=(*scop.statements, *ends), tree=Domain(scop.tree.domain.union(last), order))


_END = "the end of "


def _end(name: str, elements: isl.Set) -> Statement:
    domain = elements.set_tuple_name(_END + name)
    relation = elements.identity()
    read = Access(array=name, relation=relation.set_tuple_name(isl.dim_type.in_, _END + name))
    iterators = tuple(f"x{k}" for k in range(elements.dim(isl.dim_type.set)))
    return Statement(name=_END + name, iterators=iterators, domain=domain, writes=(), reads=(read,), body=())


# --- what each read gets


class _Values:
    """{ S#k[i] -> T!w[j] }: what the k-th read of an instance gets is what the w-th write of another one stores; or
    { S#k[i] -> @A[x] }, what was in A[x] before the nest."""

    def __init__(self, scop: Scop, real: set[str]):
        self.scop = scop
        self.statements = {s.name: s for s in scop.statements}
        self.copies = [s for s in scop.statements if s.name not in real and is_copy(s)]
        self.direct = self._direct()
        self.got = self._without_copies()

    def _direct(self) -> isl.UnionMap:
        found = isl.UnionMap("{ }")
        for each in sources(self.scop):
            renamed = _renamed(each.instances, f"{each.reader}#{each.read}", f"{each.writer}!{each.write}")
            found = found.union(isl.UnionMap.from_map(renamed))
        for statement in self.scop.statements:
            for k, access in enumerate(statement.reads):
                relation = access.relation.intersect_domain(statement.domain.intersect_params(self.scop.context))
                first = isl.UnionMap.from_map(_renamed(relation, f"{statement.name}#{k}", f"@{access.array}"))
                found = found.union(first.subtract_domain(found.domain().coalesce()))
        return found

    def before_the_nest(self) -> tuple[isl.UnionSet, isl.UnionSet]:
        """Elements { @A[x] } of which a read gets what was there: of the user's arrays, and of others."""
        users = {f"@{array.name}" for array in self.scop.function.arrays}
        mine, others = isl.UnionSet("{ }"), isl.UnionSet("{ }")
        for each in isl.sets_of(self.got.range()):
            name = each.get_tuple_name() or ""
            if name in users:
                mine = mine.union(isl.UnionSet.from_set(each))
            elif name.startswith("@"):
                others = others.union(isl.UnionSet.from_set(each))
        return mine, others

    def _without_copies(self) -> isl.UnionMap:
        """One copy after the other is left out; a chain of as many as there are is the longest without a cycle."""
        loads = isl.union_map(
            _renamed(isl.Map.identity(s.domain.get_space().map_from_set()), f"{s.name}!0", f"{s.name}#0")
            for s in self.copies
        )
        found, stored = self.direct, loads.domain()
        for _ in self.copies:
            through = found.intersect_range(stored)
            if through.is_empty():
                return found
            found = found.subtract_range(stored).union(through.apply_range(loads).apply_range(self.direct))
        if not found.intersect_range(stored).is_empty():
            names = ", ".join(s.name for s in self.copies)
            raise IllegalSchedule(f"the copies {names} get what they copy from each other, as often as sizes say")
        return found


def _standing_for(old: _Values, new: _Values, origin: isl.UnionMap) -> tuple[isl.UnionMap, isl.UnionMap]:
    """{ S#k[i] after -> before } and { S!w[i] after -> before }"""
    reads, writes = [], []
    for pairs in isl.maps_of(origin):
        after, before = pairs.get_tuple_name(isl.dim_type.in_), pairs.get_tuple_name(isl.dim_type.out)
        one, other = new.statements[after], old.statements[before]
        assert len(one.writes) == len(other.writes), f"{after} is not {before}"
        if len(one.reads) != len(other.reads):
            raise IllegalSchedule(f"{_UNKNOWN}: {after} may leave an element as it was, where {before} does not")
        reads += [_renamed(pairs, f"{after}#{k}", f"{before}#{k}") for k in range(len(one.reads))]
        writes += [_renamed(pairs, f"{after}!{k}", f"{before}!{k}") for k in range(len(one.writes))]
    for end in old.scop.statements:
        if end.name.startswith(_END):
            read = f"{end.name}#0"
            reads.append(_renamed(isl.Map.identity(end.domain.get_space().map_from_set()), read, read))
    (given, was_unwritten), (_, unwritten) = old.before_the_nest(), new.before_the_nest()
    alike = isl.UnionMap.from_domain_and_range(unwritten, was_unwritten)  # wherever they stand
    return isl.union_map(reads), isl.union_map(writes).union(given.identity()).union(alike)


def _renamed(relation: isl.Map, source: str, target: str) -> isl.Map:
    return relation.set_tuple_name(isl.dim_type.in_, source).set_tuple_name(isl.dim_type.out, target)


# --- a case of a wrong value


def _witness(wrong: isl.Map, wanted: isl.UnionMap, old: _Values, new: _Values) -> WrongValue:
    sizes, point = smallest(wrong.wrap())
    reader, source = wrong.get_tuple_name(isl.dim_type.in_) or "", wrong.get_tuple_name(isl.dim_type.out) or ""
    depth = wrong.dim(isl.dim_type.in_)
    at = _point(wrong.domain().get_space(), sizes, point[:depth])
    (right,) = (m for m in isl.maps_of(wanted.intersect_domain(at)) if not m.is_empty())
    _, pair = smallest(right.wrap())
    found = _source(source, point[depth:], new)
    writer = right.get_tuple_name(isl.dim_type.out) or ""
    expected = _source(writer, pair[depth:], old)
    name, _, k = reader.partition("#")
    lines = _lines([(name, new), (source.partition("!")[0], new), (writer.partition("!")[0], old)])
    if name.startswith(_END):
        element = f"{name.removeprefix(_END)}{list(point[:depth])}"
        return WrongValue(f"at the end, {element} would be {found}, not {expected}", sizes, lines)
    array = new.statements[name].reads[int(k)].array
    who = new.statements[name].instance(point[:depth])
    return WrongValue(f"{who} would get from {array}: {found}, not {expected}", sizes, lines)


def _point(space: isl.Space, sizes: dict[str, int], values: tuple[int, ...]) -> isl.UnionSet:
    points = isl.at(isl.Set.universe(space), sizes)
    for k, value in enumerate(values):
        points = points.fix_val(isl.dim_type.set, k, isl.Val(value))
    return isl.UnionSet.from_set(points)


def _source(name: str, values: tuple[int, ...], where: _Values) -> str:
    if not name.startswith("@"):
        return f"what {where.statements[name.partition('!')[0]].instance(values)} writes"
    if name[1:] in {array.name for array in where.scop.function.arrays}:
        return f"{name[1:]}{list(values)} as it was before the nest"
    return f"an element of {name[1:]} that nothing has written"


def _lines(statements: list[tuple[str, _Values]]) -> tuple[str, ...]:
    known = (where.statements[name] for name, where in statements if name in where.statements)
    return tuple(dict.fromkeys(line for statement in known for line in statement.place))
