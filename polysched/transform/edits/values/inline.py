"""Inlining: what an array holds is computed again where it is read, so that nothing waits for it.

The statement that computes it goes; if the array is a parameter, whose values are visible outside, it stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

from polysched.errors import InputError
from polysched.ir.effects import is_pure
from polysched.ir.node import rewrite, substitute, walk
from polysched.ir.nodes import Array, Expr, Load, Store
from polysched.model.accesses import accesses
from polysched.model.affine import AffineSpace, value_at
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Band, Domain, Filter, InOrder, Leaf, Mark, Storage, Tree, children, with_children
from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, Step, first_legal
from polysched.transform.edits.base.loops import free, loops
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.base.same_values import redrafted, require_values
from polysched.transform.edits.values.compute_at import compute_at
from polysched.transform.edits.values.copies import names_in
from polysched.transform.edits.values.producers import (
    instances_of,
    producers_of,
    require_computed,
    without_computed,
    without_statements,
)


@edit("values", "i; j -> j")
def inline(draft: Draft, array: str) -> Draft:
    """Every read of the array replaced by the expression that the one statement which writes it stores there.

    InputError if that is not one store of a pure expression that does not read the array itself, or if a read may get
    something else; IllegalSchedule if what the expression reads is not the same where it would be computed.

        for i: b[i] = a[i] + a[i + 1]      ->
        for j: c[j] = b[j - 1] * 2                for j: c[j] = (a[j - 1] + a[j]) * 2      inline("b")
    """
    scop, what = draft.scop, f"inline({array})"
    producer = _producer(draft, array)
    reading = (s for s in scop.statements if s is not producer and any(read.array == array for read in s.reads))
    users = [s for s in reading if not s.domain.intersect_params(scop.context).is_empty()]
    if not users:
        raise InputError(f"no other statement than {producer.name} reads '{array}'")
    for user in users:
        require_computed(draft, array, user)
    names = names_in(scop)
    reads = [_read(draft, producer, user, index, names) for user in users for index in _loads(user, array)]
    gone = () if array in {each.name for each in scop.function.arrays} else (producer,)
    left, tree = without_statements(scop, gone), without_computed(draft.nested, gone)
    moved = {array, *(read.array for read in producer.reads)}
    steps, order, origin = _in_steps(left, tree, array, reads)
    require_values(draft, steps, order, origin, what, only=moved | {read.scalar.name for read in reads})
    inlined = {user.name: _inlined(user, array, reads, scop) for user in users}
    after = replace(left, statements=tuple(inlined.get(s.name, s) for s in left.statements))
    return redrafted(draft, after, tree, what, only=moved)


def _producer(draft: Draft, array: str) -> Statement:
    """The statement whose expression may stand for the array's elements."""
    found = producers_of(draft.scop, array)
    if len(found) > 1:
        names = ", ".join(s.name for s in found)
        hint = first_legal(_moved(draft, array, found))
        raise InputError(f"several statements write '{array}': {names}", hint=hint)
    (producer,) = found
    match producer.body:
        case (Store(value=value),) if is_pure(value) and not any(read.array == array for read in producer.reads):
            return producer
    raise InputError(f"{producer.name} is more than one store of an expression that does not read '{array}'")


def _moved(draft: Draft, array: str, producers: Sequence[Statement]) -> Iterator[Alternative]:
    """All producers in a loop around what uses their values, the innermost first."""
    own = {s.name for s in producers}
    users = {s.name for s in draft.scop.statements if any(read.array == array for read in s.reads)} - own
    for place in reversed(loops(draft.nested)):
        if users and users <= set(place.statements):
            step = Step.of(compute_at, array, at=place.name)
            yield f"{step.text} computes it where it is used", partial(step.edit, draft)


@dataclass(frozen=True, kw_only=True)
class _Read:
    """A load of the array, and the statement that would compute its value just before, in a scalar."""

    user: Statement
    index: tuple[Expr, ...]
    element: isl.Map  # { S1[i] -> b[i - 1] }
    alone: Statement  # S0_in[i], for the instances of the user that read the element
    scalar: Array
    origin: isl.Map  # { S0_in[i] -> S0[i - 1] }
    same: isl.Map  # { S0_in[i] -> S1[i] }

    @property
    def value(self) -> Expr:
        (store,) = self.alone.body
        assert isinstance(store, Store)
        return store.value


def _loads(user: Statement, array: str) -> list[tuple[Expr, ...]]:
    """The subscripts under which the statement loads the array."""
    found = (node.index for node in walk(user.body) if isinstance(node, Load) and node.array == array)
    return list(dict.fromkeys(found))


def _read(draft: Draft, producer: Statement, user: Statement, index: tuple[Expr, ...], names: set[str]) -> _Read:
    (write,) = producer.writes
    element = _element(draft.scop, user, write.array, index)
    flow = [d for d in draft.dependences.of("flow") if (d.source, d.sink) == (producer.name, user.name)]
    pairs = (d.relation.reverse() for d in flow if d.array == write.array)
    computed = element.apply_range(write.relation.reverse())  # { S1[i] -> S0[j] }, which write that element
    source = reduce(isl.Map.union, pairs, computed.subtract(computed)).intersect(computed)
    assert element.domain().is_subset(source.domain()) and source.is_single_valued()

    name, scalar = (free(f"{each}_in", names) for each in (producer.name, write.array))
    names |= {name, scalar}
    dtype = next(each.dtype for each in draft.scop.arrays if each.name == write.array)
    function = isl.PwMultiAff.from_map(source).coalesce()
    values = {it: value_at(function.get_pw_aff(k), user.iterators) for k, it in enumerate(producer.iterators)}
    (store,) = producer.body
    assert isinstance(store, Store)
    origin = source.set_tuple_name(isl.dim_type.in_, name)
    same = source.domain().identity()
    alone = Statement(
        name=name,
        iterators=user.iterators,
        domain=source.domain().set_tuple_name(name),
        reads=tuple(replace(read, relation=origin.apply_range(read.relation)) for read in producer.reads),
        writes=(_scalar(source.domain().set_tuple_name(name), scalar),),
        body=(Store(scalar, (), substitute(store.value, values), store.loc),),
        loc=producer.loc,
    )
    return _Read(
        user=user,
        index=index,
        element=element,
        alone=alone,
        scalar=Array(scalar, dtype, (), "private"),
        origin=origin,
        same=same.set_tuple_name(isl.dim_type.in_, name),
    )


def _element(scop: Scop, user: Statement, array: str, index: tuple[Expr, ...]) -> isl.Map:
    """{ S1[i] -> b[i - 1] } for the instances that read it."""
    space = AffineSpace(user.name, user.iterators, scop.function.sizes)
    read = [access for access in user.reads if access.array == array]
    if not space.has(*index):
        raise InputError(f"which elements of '{array}' {user.name} reads is not known exactly")
    subscripts = (isl.Map.from_pw_aff(space.function(subscript)) for subscript in index)
    point = isl.Map.from_domain_and_range(user.domain.intersect_params(scop.context), isl.Set("{ [] }"))
    element = reduce(isl.Map.flat_range_product, subscripts, point).set_tuple_name(isl.dim_type.out, array)
    return element.intersect(reduce(isl.Map.union, (access.relation for access in read)))


def _scalar(instances: isl.Set, name: str) -> Access:
    return Access(array=name, relation=isl.Map.from_domain_and_range(instances, isl.Set(f"{{ {name}[] }}")))


# --- the same in steps: each value is computed in a scalar, right before the statement that uses it


def _in_steps(scop: Scop, tree: Tree, array: str, reads: Sequence[_Read]) -> tuple[Scop, Tree, isl.UnionMap]:
    """A nest, its order, and where its instances come from."""
    users = {read.user.name: [r for r in reads if r.user is read.user] for read in reads}
    statements = tuple(_on_scalars(s, array, users[s.name]) if s.name in users else s for s in scop.statements)
    origin = isl.union_map(read.origin for read in reads).union(instances_of(statements).identity())
    scalars = tuple(read.scalar for read in reads)
    steps = replace(scop, statements=(*(r.alone for r in reads), *statements), arrays=(*scop.arrays, *scalars))
    for of_user in users.values():
        tree = _preceded(tree, of_user)
    return steps, tree, origin


def _on_scalars(user: Statement, array: str, reads: Sequence[_Read]) -> Statement:
    """The user with what it reads of the array taken from the scalars."""

    def access(each: Access) -> Access:
        if each.array != array:
            return each
        where = each.relation.intersect_domain(user.domain)
        read = next(r for r in reads if where.intersect_params(r.element.params()).is_subset(r.element))
        return _scalar(where.domain(), read.scalar.name)

    return replace(user, reads=tuple(map(access, user.reads)))


def _preceded(tree: Tree, reads: Sequence[_Read]) -> Tree:
    """The tree with the statements of the reads right before each instance of their user."""
    user = reads[0].user.instances
    same = isl.union_map(read.same for read in reads)
    storage = Storage(tuple(read.scalar.name for read in reads))

    def visit(node: Tree, reaching: isl.UnionSet) -> Tree:
        match node:
            case Leaf() if not (here := reaching.intersect(user)).is_empty():
                before = [Filter(isl.union_map([r.same]).intersect_range(here).domain()) for r in reads]
                return Mark(storage, InOrder((*before, Filter(reaching))))
            case Domain(domain=domain, child=child):
                return Domain(domain.union(same.domain()), visit(child, domain))
            case Filter(filter=filter, child=child):
                added = same.intersect_range(filter).domain()
                return Filter(filter.union(added), visit(child, reaching.intersect(filter)))
            case Band(members=members, child=child):
                rows = (replace(m, schedule=m.schedule.union(same.apply_range(m.schedule))) for m in members)
                return replace(node, members=tuple(rows), child=visit(child, reaching))
        return with_children(node, tuple(visit(child, reaching) for child in children(node)))

    return visit(tree, isl.UnionSet("{ }"))


# --- the same in one


def _inlined(user: Statement, array: str, reads: Sequence[_Read], scop: Scop) -> Statement:
    """The user with the expressions in place of the loads."""
    values = {read.index: read.value for read in reads if read.user is user}

    def rule(node: Any) -> Any:
        return values.get(node.index) if isinstance(node, Load) and node.array == array else None

    body = rewrite(user.body, rule)
    space = AffineSpace(user.name, user.iterators, scop.function.sizes)
    read, written = accesses(body, space, {each.name: each for each in scop.arrays})
    own = {write.array for write in written}
    reads_own = any(isinstance(node, Load) and node.array in own for node in walk(tuple(values.values())))
    return replace(user, body=body, reads=read, writes=written, reduction="" if reads_own else user.reduction)
