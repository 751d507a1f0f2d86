"""Reductions in parts: each iteration of a loop sums up by itself, and the sums are added in the end (Suriana, Adams
and Kamil, CGO 2017).

    band: k_o                                  mark: storage:C_k_o             C_k_o: i32[(n + 31) / 32]
      band: k    S: C[] = C[] + a[k]             sequence
                                        ->         band: k_o
                                                     sequence
                                                       S_init: C_k_o[k_o] = 0
                                                       band: k    S: C_k_o[k_o] = C_k_o[k_o] + a[k]
                                                   band: k_o_2    S_fold: C[] = C[] + C_k_o[k_o_2]

                                               rfactor("k_o", "C")

The iterations of the loop then are parallel. Floats, whose sums depend on the order, need leave for that.

Why this is right. What an instance adds depends on C nowhere, and is computed when it was. It is added to C later: by
the instance of S_fold for its iteration and element. So the nest computes the same if all that S had to come before or
after because of C, when its updates may run in any order, that instance of S_fold comes before or after as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from polysched.deps.arrivals import told_apart
from polysched.deps.dataflow import dependences
from polysched.deps.dependences import Dependence, Dependences
from polysched.deps.legality import require_legal
from polysched.errors import IllegalSchedule, InputError
from polysched.ir.node import walk
from polysched.ir.nodes import Array, Binary, Expr, Load, Store, Var
from polysched.model.affine import everywhere, value_at
from polysched.model.reduction import identity
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Domain, Leaf, Member, Tree
from polysched.support import isl
from polysched.transform.edits.base.edit import Draft
from polysched.transform.edits.base.graft import grafted, varying
from polysched.transform.edits.base.loops import Loop, coordinates_of, free, nest, unmarked
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.base.same_values import redrafted
from polysched.transform.edits.values.copies import box, iterator_names, moved, names_in
from polysched.transform.edits.values.storage import Scope, with_storage


@edit("values", "k_o -> k_o; k_o_2")
def rfactor(draft: Draft, name: str, target: str, scope: Scope = "private") -> Draft:
    """A reduction into an array, or by a statement, summed up for each iteration of the loop and added after it.

    The sums are in an array of their own, in `scope`, as for `cache_read`. InputError if there is no such reduction in
    the loop; IllegalSchedule if sums of floats may not be reordered, or if something in the loop needs to see them.

        for k_o:                      for k_o: C_k_o[k_o] = 0
            for k: C += a[k]     ->       for k: C_k_o[k_o] += a[k]
                                      for k_o_2: C += C_k_o[k_o_2]   rfactor("k_o", "C")
    """
    tree, scop = draft.nested, draft.scop
    place = unmarked(tree, name)
    what = f"rfactor({place.name}, {target})"
    update = reduction_in(draft, place, target, what)
    sums = Parts(scop, place, update, scope)
    parts = (sums.first, sums.partial, sums.fold)
    statements = tuple(each for s in scop.statements for each in (parts if s is update else (s,)))
    edited = replace(scop, statements=statements, arrays=(*scop.arrays, sums.array))
    edited_tree = with_storage(with_parts(tree, place, sums), place.path, sums.array.name)
    kept = Dependences((*order_kept(draft, sums), *sums.order), reorder_reductions=True)
    require_legal(edited_tree, kept, edited, what=what)
    return redrafted(draft, edited, edited_tree, what, only={sums.wide.name, sums.array.name})


def reduction_in(draft: Draft, place: Loop, target: str, what: str) -> Statement:
    """The reduction that is meant."""
    inside = [s for s in draft.scop.statements if s.name in place.statements and s.reduction]
    found = [s for s in inside if s.name == target or any(write.array == target for write in s.writes)]
    if len(found) != 1:
        known = ", ".join(f"{s.name} of {s.writes[0].array}" for s in inside) or "none"
        what_is = "several statements reduce" if found else "no statement reduces"
        raise InputError(
            f"{what_is} '{target}' in loop '{place.name}'", hint=f"the reductions in the loop are: {known}"
        )
    (update,) = found
    (write,) = update.writes
    if not write.must or not write.relation.is_single_valued():
        raise InputError(f"{update.name} may update any element of '{write.array}'")
    if not update.instances.is_subset(place.instances):
        raise InputError(f"{update.name} runs outside of loop '{place.name}' too")
    own = write.relation.intersect_domain(update.domain)
    reads = [read for read in update.reads if read.array == write.array]
    if not all(read.relation.intersect_domain(update.domain).is_equal(own) for read in reads):
        raise InputError(f"{update.name} reads other elements of '{write.array}' than the one that it updates")
    dtype = next(each.dtype for each in draft.scop.arrays if each.name == write.array)
    if dtype.is_float and not draft.dependences.reorder_reductions:
        message = f"{what}: {update.name} would combine its floats in another order, which rounds them differently"
        raise IllegalSchedule(message, hint="allow it with Options(reorder_reductions=True)")
    return update


class Parts:
    """The sums of each iteration of a loop: { S_init[o, k, f] } for arrival o, iteration k and element f."""

    def __init__(self, scop: Scop, place: Loop, update: Statement, scope: str):
        (write,) = update.writes
        self.update, self.context = update, scop.context
        self.wide = next(each for each in scop.arrays if each.name == write.array)
        instances = update.domain.intersect_params(scop.context)
        union = isl.UnionSet.from_set(instances)
        self.arrival = isl.Map.from_union_map(coordinates_of(place.around, union))  # { S[i] -> [o] }
        self.step = isl.Map.from_union_map(place.member.schedule.intersect_domain(union))  # { S[i] -> [k] }
        element = write.relation.intersect_domain(instances).reset_tuple_id(isl.dim_type.out)
        self.place = self.step.flat_range_product(element)  # { S[i] -> [k, f] }
        self.box = box(self.arrival.reverse().apply_range(self.place), scop.context)

        names, self.depth = names_in(scop), len(place.around)
        stem = place.name if place.name.isidentifier() else "parts"
        self.array = Array(free(f"{self.wide.name}_{stem}", names), self.wide.dtype, self.box.shape, scope)
        elements = (f"{self.wide.name}{k}" for k in range(len(self.wide.shape)))
        self.loops = (*(band.members[0].name for band in place.around), place.name, *elements)
        self.iterators = iterator_names(self.loops, scop)
        self.names = [free(f"{update.name}_{role}", names) for role in ("init", "fold")]
        self.group = self.arrival.flat_range_product(self.place)  # { S[i] -> [o, k, f] }

    @property
    def first(self) -> Statement:
        """S_init, which begins a sum."""
        name = self.names[0]
        access, index = self._own(name)
        nothing = identity(self.update.reduction, self.wide.dtype)
        store = Store(self.array.name, index, nothing, self.update.loc)
        return self._statement(name, reads=(), writes=(access,), body=(store,))

    @property
    def partial(self) -> Statement:
        """The update, of a sum."""
        update, own = self.update, self.box.relation(self.place, self.arrival, self.array.name)
        (store,) = update.body
        assert isinstance(store, Store)
        step = value_at(everywhere(isl.PwMultiAff.from_map(self.step).get_pw_aff(0)), update.iterators)
        index = self.box.element((step, *store.index), self.arrival, update.iterators)
        return moved(update, store.array, lambda _: index, lambda _: own, self.array.name)

    @property
    def fold(self) -> Statement:
        """S_fold, which adds a sum to its element."""
        name = self.names[1]
        access, index = self._own(name)
        (store,) = self.update.body
        assert isinstance(store, Store) and isinstance(store.value, Binary)
        at = tuple(map(Var, self.iterators[self.depth + 1 :]))
        total, part = Load(self.wide.name, at, self.wide.dtype), Load(self.array.name, index, self.wide.dtype)
        is_left = any(isinstance(node, Load) and node.array == store.array for node in walk(store.value.left))
        both = (total, part) if is_left else (part, total)
        wide = Access(array=self.wide.name, relation=self._part(name, self.depth + 1, len(self.iterators)))
        wide = replace(wide, relation=wide.relation.set_tuple_name(isl.dim_type.out, self.wide.name))
        body = (Store(self.wide.name, at, Binary(self.update.reduction, *both), self.update.loc),)
        return self._statement(name, reads=(wide, access), writes=(wide,), body=body, reduction=self.update.reduction)

    @property
    def order(self) -> Iterator[Dependence]:
        """What the three must keep among themselves."""
        begin, end = (self.group.set_tuple_name(isl.dim_type.out, name) for name in self.names)
        pairs = ((self.names[0], self.update.name, begin.reverse()), (self.update.name, self.names[1], end))
        for source, sink, relation in pairs:
            yield Dependence(kind="flow", source=source, sink=sink, array=self.array.name, relation=relation)

    def loops_of(self, name: str, dimensions: Sequence[int]) -> Domain:
        """The instances of one of the statements, in loops over these dimensions, without those of one iteration."""
        node = nest([Member(self.coordinate(name, k), name=self.loops[k]) for k in dimensions], Leaf())
        arrivals = isl.UnionMap.from_map(self._part(name, 0, self.depth))
        tree = varying(Domain(isl.UnionSet.from_set(self._domain(name)), node), arrivals)
        assert isinstance(tree, Domain)
        return tree

    def coordinate(self, name: str, k: int) -> isl.UnionMap:
        """{ S_fold[o, k, f] -> [its k-th dimension] }"""
        return isl.UnionMap.from_map(self._part(name, k, k + 1))

    def _statement(self, name: str, **rest: Any) -> Statement:
        return Statement(name=name, iterators=self.iterators, domain=self._domain(name), loc=self.update.loc, **rest)

    def _domain(self, name: str) -> isl.Set:
        named = self.group.range().coalesce().set_tuple_name(name)
        for k, iterator in enumerate(self.iterators):
            named = named.set_dim_name(isl.dim_type.set, k, iterator)
        return named

    def _part(self, name: str, first: int, end: int) -> isl.Map:
        """{ S_fold[o, k, f] -> [its dimensions from the first on] }"""
        return isl.along(self._domain(name).identity().reset_tuple_id(isl.dim_type.out), first, end)

    def _own(self, name: str) -> tuple[Access, tuple[Expr, ...]]:
        """Where a sum is, as access and as subscript."""
        arrival = self._part(name, 0, self.depth)
        within = self._part(name, self.depth, len(self.iterators))
        access = Access(array=self.array.name, relation=self.box.relation(within, arrival, self.array.name))
        index = tuple(map(Var, self.iterators[self.depth :]))
        return access, self.box.element(index, arrival, self.iterators)


def with_parts(tree: Tree, place: Loop, sums: Parts) -> Tree:
    """The sums begun in the loop, and folded after it."""
    (first, fold), depth, rank = sums.names, sums.depth, len(sums.wide.shape)
    elements = range(depth + 1, depth + 1 + rank)
    around = [sums.coordinate(first, k) for k in range(depth + 1)]
    tree = grafted(tree, (*place.path, 0), sums.loops_of(first, elements), around, before=True)
    around = [sums.coordinate(fold, k) for k in range(depth)]
    return grafted(tree, place.path, sums.loops_of(fold, (*elements, depth)), around, before=False)


def order_kept(draft: Draft, sums: Parts, *others: str) -> Iterator[Dependence]:
    """What must stay in order when updates may run in any, with the folds for the updates of the array, and for those
    that use the other arrays, too. All that is left of the nest runs when it did."""
    name, fold = sums.update.name, sums.names[1]
    group = sums.group.set_tuple_name(isl.dim_type.out, fold)
    for d in _in_any_order(draft).of("flow", "anti", "output"):
        if d.array in (sums.wide.name, *others) and name in (d.source, d.sink) and not d.reduction:
            relation = group.reverse().apply_range(d.relation) if d.source == name else d.relation
            relation = relation.apply_range(group) if d.sink == name else relation
            source, sink = (fold if each == name else each for each in (d.source, d.sink))
            yield replace(d, source=source, sink=sink, relation=relation, is_exact=False)  # other updates come between


def _in_any_order(draft: Draft) -> Dependences:
    """The dependences of the nest if updates may run in any order."""
    if draft.dependences.reorder_reductions:
        return draft.dependences
    apart = told_apart(draft.scop, draft.nested)
    return dependences(apart, reorder_reductions=True).without(draft.claims)
