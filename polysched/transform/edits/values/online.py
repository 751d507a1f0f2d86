"""Sums of what is relative to another value of the row, made before that value is known: online softmax and variances.

    for j: m = max(m, x[j])             for j: m = max(m, x[j])
    for k: s += exp(x[k] - m)     ->    for k_o: s_k_o[k_o] = 0; s_from_k_o[k_o] = lowest
                                            for k:
                                                s_k_o[k_o] = s_k_o[k_o] * exp(s_from_k_o[k_o] - greater)
                                                             + exp(x[k] - greater)
                                                s_from_k_o[k_o] = greater = max(s_from_k_o[k_o], x[k])
                                        for k_o_2: s += s_k_o[k_o_2] * exp(s_from_k_o[k_o_2] - m)

                                        online("k_o", "s"), after which k may be one loop with j

Each iteration of the loop sums up by itself, as by `rfactor`, relative to a value of its own, and is made relative to
what was asked for in the end. Why this is right, whatever m is:

    exp(x - m) = exp(x - r) exp(r - m)                    r, the greatest so far, keeps all powers from overflowing
                                                          (Milakov and Gimelshein, 2018)
    sum (x - m)^2 = sum (x - r)^2 + n (r - m)^2           r, the mean so far of n terms (Chan, Golub and LeVeque, 1983;
                                                          Welford, 1962)

So m is needed by the folds alone, and what orders S and m, orders them. Where infinite terms make the sum one that is
no number, it may be another such.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.errors import InputError
from polysched.ir.node import substitute, variables, walk
from polysched.ir.nodes import Array, Binary, Call, Const, Expr, Load, Store
from polysched.model.affine import everywhere, value_at
from polysched.model.reduction import identity
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Domain, Tree
from polysched.support import isl
from polysched.transform.edits.base.edit import Draft
from polysched.transform.edits.base.graft import flattened
from polysched.transform.edits.base.loops import Loop, below_context, free, loop, unmarked
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.base.same_values import redrafted
from polysched.transform.edits.values.copies import names_in
from polysched.transform.edits.values.rfactor import Parts, order_kept, reduction_in, with_parts
from polysched.transform.edits.values.storage import Scope, inside_storage, with_storage


@edit("values", "k_o -> k_o; k_o_2")
def online(draft: Draft, name: str, target: str, scope: Scope = "private") -> Draft:
    """A sum of powers or squares of differences from a value, summed up in the loop before that value is known.

    Each iteration sums up relative to a value of its own, in arrays in `scope`, as for `cache_read`; the value is
    needed where the sums are added, after the loop. InputError if there is no such sum into an array, or by a
    statement, in the loop; IllegalSchedule if sums of floats may not be reordered, or if something in the loop needs
    to see them.

        for k_o:                             for k_o: s_k_o[k_o] = 0; s_from_k_o[k_o] = lowest
            for k: s += exp(x[k] - m)    ->      for k: s_k_o[k_o] = s_k_o[k_o] * exp(...) + exp(...); ...
                                             for k_o_2: s += s_k_o[k_o_2] * exp(...)      online("k_o", "s")
    """
    tree, scop = draft.nested, draft.scop
    place = unmarked(tree, name)
    what = f"online({place.name}, {target})"
    update = reduction_in(draft, place, target, what)
    sums = _Relative(scop, place, update, scope)
    parts = (sums.first, sums.partial, sums.fold)
    statements = tuple(each for s in scop.statements for each in (parts if s is update else (s,)))
    edited = replace(scop, statements=statements, arrays=(*scop.arrays, *sums.arrays))
    edited_tree = _with_arrays(with_parts(tree, place, sums), place, sums)
    kept = Dependences((*order_kept(draft, sums, *sums.waits_for), *sums.order), reorder_reductions=True)
    require_legal(edited_tree, kept, edited, what=what)
    return redrafted(draft, edited, edited_tree, what, only={sums.wide.name, *sums.own, *sums.waits_for})


def _with_arrays(tree: Tree, place: Loop, sums: _Relative) -> Tree:
    """With its arrays in the loop around, so that nothing keeps the loop from one before it."""
    assert isinstance(tree, Domain)
    around = place.around[-1].members[0].name if place.around else ""
    path = (*loop(tree, around).path, 0) if around else below_context(tree)
    for name in sums.own:
        tree = with_storage(tree, path, name)
    return flattened(tree, inside_storage(tree, path))


# --- what is known of sums


@dataclass(frozen=True)
class _Rule:
    """How a sum is made relative to a value of its own: what its parts start from, by the role of their array, "" for
    the sum itself; what a term makes of them, in this order; and their share of the sum relative to `origin`."""

    starts: dict[str, float]
    step: Callable[[dict[str, Expr], _Term], list[tuple[str, Expr]]]
    share: Callable[[dict[str, Expr], Expr], Expr]


@dataclass(frozen=True)
class _Term:
    """factor * exp(value - origin), or (value - origin) * (value - origin)."""

    value: Expr
    origin: Expr
    factor: Expr | None
    rule: _Rule


def _exp(above: Expr, below: Expr) -> Expr:
    return Call("exp", (Binary("-", above, below),), above.dtype)


def _step_of_powers(part: dict[str, Expr], term: _Term) -> list[tuple[str, Expr]]:
    greater = Binary("max", part["from"], term.value)
    power = _exp(term.value, greater)
    added = power if term.factor is None else Binary("*", term.factor, power)
    return [("", Binary("+", Binary("*", part[""], _exp(part["from"], greater)), added)), ("from", greater)]


def _step_of_squares(part: dict[str, Expr], term: _Term) -> list[tuple[str, Expr]]:
    one = Const(1.0, term.value.dtype)
    count, apart = part["count"], Binary("-", term.value, part["from"])  # `count` is one more by then
    nearer = Binary("/", apart, count)  # by which the mean comes: all the way to the first term, which adds 0
    return [
        ("count", Binary("+", count, one)),
        ("", Binary("+", part[""], Binary("*", apart, Binary("-", apart, nearer)))),
        ("from", Binary("+", part["from"], nearer)),
    ]


def _share_of_squares(part: dict[str, Expr], origin: Expr) -> Expr:
    apart = Binary("-", part["from"], origin)
    return Binary("+", part[""], Binary("*", part["count"], Binary("*", apart, apart)))


_LOWEST = float("-inf")  # stands for the lowest finite float: exp(-inf - -inf) would be no number
_POWERS = _Rule(
    {"": 0.0, "from": _LOWEST}, _step_of_powers, lambda part, origin: Binary("*", part[""], _exp(part["from"], origin))
)
_SQUARES = _Rule({"": 0.0, "from": 0.0, "count": 0.0}, _step_of_squares, _share_of_squares)


def _term(update: Statement) -> _Term:
    """What the update adds."""
    (store,) = update.body
    assert isinstance(store, Store)
    own = Load(store.array, store.index, store.value.dtype)
    match store.value:
        case Binary("+", left, right) if own in (left, right):
            found = _apart(right if left == own else left)
            if found is not None and store.value.dtype.is_float:
                return found
    raise InputError(
        f"{update.name} is no sum of powers or squares of differences",
        hint="it is to be like s += exp(x[k] - m), times a factor, or like s += (x[k] - m) * (x[k] - m)",
    )


def _apart(term: Expr) -> _Term | None:
    match term:
        case Call(fn="exp", args=(Binary("-", value, origin),)):
            return _Term(value, origin, None, _POWERS)
        case Binary("*", Binary("-", value, origin) as one, other) if one == other:
            return _Term(value, origin, None, _SQUARES)
        case Binary("*", left, right):
            for part, rest in ((left, right), (right, left)):
                found = _apart(part)
                if found is not None and found.rule is _POWERS:
                    factor = rest if found.factor is None else Binary("*", found.factor, rest)
                    return replace(found, factor=factor)
    return None


# --- the statements


class _Relative(Parts):
    """The sums of each iteration of a loop, relative to values of their own."""

    def __init__(self, scop: Scop, place: Loop, update: Statement, scope: str):
        super().__init__(scop, place, update, scope)
        self.term = _term(update)
        names = names_in(scop) | {self.array.name}
        stem = place.name if place.name.isidentifier() else "parts"
        self.by_role = {"": self.array}
        for role in self.term.rule.starts:
            if role:
                name = free(f"{self.wide.name}_{role}_{stem}", names)
                names.add(name)
                self.by_role[role] = replace(self.array, name=name)
        self.waits_for = {node.array for node in walk(self.term.origin) if isinstance(node, Load)}
        self._require_fixed_origin()

    def _require_fixed_origin(self) -> None:
        rest = (self.term.value, self.term.factor or Const(0.0, self.wide.dtype))
        used = {node.array for each in rest for node in walk(each) if isinstance(node, Load)} | {self.wide.name}
        moving = variables(self.term.origin) & {*self.update.iterators} - {*self._values}
        reads = [read for read in self.update.reads if read.array in self.waits_for]
        is_known = all(read.must and self._of_fold(read.relation).is_single_valued() for read in reads)
        if is_known and not moving and not used & self.waits_for:
            return
        message = f"{self.update.name} adds distances from a value that is not the same for all terms of a sum"
        raise InputError(message, hint="sum up in a loop inside of which it does not change")

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(self.by_role.values())

    @property
    def own(self) -> tuple[str, ...]:
        return tuple(array.name for array in self.arrays)

    @property
    def first(self) -> Statement:
        name = self.names[0]
        access, index = self._own(name)
        lowest = float(np.finfo(self.wide.dtype.numpy).min)
        starts = {role: lowest if start == _LOWEST else start for role, start in self.term.rule.starts.items()}
        starts[""] = float(identity("+", self.wide.dtype).value)
        body = [
            Store(array.name, index, Const(starts[role], array.dtype), self.update.loc)
            for role, array in self.by_role.items()
        ]
        return self._statement(name, reads=(), writes=self._each(access), body=tuple(body))

    @property
    def partial(self) -> Statement:
        moved = super().partial
        (store,) = moved.body
        assert isinstance(store, Store)
        own = next(write for write in moved.writes if write.array == self.array.name)
        stores = self.term.rule.step(self._loads(store.index), self.term)
        body = tuple(Store(self.by_role[role].name, store.index, value, store.loc) for role, value in stores)
        left = (read for read in moved.reads if read.array not in {*self.waits_for, self.array.name})
        return replace(moved, reads=(*self._each(own), *left), writes=self._each(own), body=body, reduction="")

    @property
    def fold(self) -> Statement:
        fold = super().fold
        (last,) = fold.body
        assert isinstance(last, Store)
        _, index = self._own(fold.name)
        share = self.term.rule.share(self._loads(index), substitute(self.term.origin, self._values))
        total = Load(last.array, last.index, self.wide.dtype)
        wide, own = fold.reads
        waited = [
            replace(read, relation=self._of_fold(read.relation))
            for read in self.update.reads
            if read.array in self.waits_for
        ]
        body = (replace(last, value=Binary("+", total, share)),)
        return replace(fold, reads=(wide, *self._each(own), *waited), body=body)

    def _each(self, access: Access) -> tuple[Access, ...]:
        """The access to the sum, and the same to the others of its iteration."""
        names = self.own
        relations = (access.relation.set_tuple_name(isl.dim_type.out, name) for name in names)
        return tuple(replace(access, array=name, relation=r) for name, r in zip(names, relations, strict=True))

    def _loads(self, index: tuple[Expr, ...]) -> dict[str, Expr]:
        return {role: Load(array.name, index, array.dtype) for role, array in self.by_role.items()}

    def _of_fold(self, relation: isl.Map) -> isl.Map:
        """{ S_fold[o, k, f] -> m[x] } for { S[i] -> m[x] }"""
        return self._instances.apply_range(relation)

    @cached_property
    def _instances(self) -> isl.Map:
        """{ S_fold[o, k, f] -> S[i] }"""
        return self.group.set_tuple_name(isl.dim_type.out, self.names[1]).reverse()

    @cached_property
    def _values(self) -> dict[str, Expr]:
        """The iterators of the update that all terms of a sum share, by what the fold has for them."""
        found = {}
        for k, iterator in enumerate(self.update.iterators):
            value = isl.along(self._instances, k)
            if value.is_single_valued():
                function = everywhere(isl.PwMultiAff.from_map(value).get_pw_aff(0))
                found[iterator] = value_at(function, self.iterators)
        return found
