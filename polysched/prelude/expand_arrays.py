"""Array expansion: an array that every iteration of outer loops fills and uses anew gets a copy for each of them
(Feautrier, ICS 1988).

    for r in 0..n:                                  t: f64[n, m]
        for p in 0..m:                              for r in 0..n:
            row[p] = a[r, p] * 2                        for p in 0..m:
        for p in 0..m:                      ->              t[r, p] = a[r, p] * 2
            a[r, p] = row[m - p - 1]                    for p in 0..m:
                                                            a[r, p] = t[r, m - p - 1]
                                                    if n >= 1:
                                                        for p in 0..m:
                                                            row[p] = t[n - 1, p]

Without it every iteration of r would wait for the one before. The copies take no more memory than another array of the
user's; the array itself gets what the last iteration left in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import cached_property, reduce

from polysched.deps.dataflow import are_fed, dependences
from polysched.deps.dependences import Dependences
from polysched.errors import BudgetExceeded, InputError
from polysched.ir.build import binary
from polysched.ir.dtypes import boolean
from polysched.ir.node import rewrite, stored, touches, uses, variables
from polysched.ir.nodes import Alloc, Array, Const, Expr, For, Function, If, Load, Stmt, Store, Var
from polysched.ir.rename import fresh_names, used_names
from polysched.model.affine import condition, value
from polysched.model.extents import extent, fits_an_array, sizes_that_run
from polysched.model.extract import extract
from polysched.model.scop import Scop, Statement
from polysched.prelude.uses import is_never_negative
from polysched.support import isl

_SECONDS = 5.0  # for the dependences by which that is right


def expand_arrays(fn: Function, *arrays: str, loops: int = 0, dead: tuple[str, ...] = ()) -> Function:
    """`fn` with these array parameters expanded by the loops around all that uses them, or by so many of these. What
    is left in those that are `dead` is nobody's.

    InputError for one that an iteration does not fill before it reads it; BudgetExceeded if that is not decided.
    """
    scop = extract(fn)
    found = dependences(scop, seconds=_SECONDS)
    names = fresh_names("t", used_names(fn))
    for name in arrays:
        expansion = _expansion(fn, name, scop, found, loops)
        if expansion is None or not expansion.is_legal():
            if any(guess.array == name for guess in found.guesses):
                raise BudgetExceeded(f"whether '{name}' may be expanded was not decided in {_SECONDS:g} s")
            message = f"'{name}' cannot have a copy for each iteration of the loops around all that uses it"
            raise InputError(message, hint="each of them has to fill what it reads, of an array that is a parameter")
        fn = expansion.function(fn, names, is_dead=name in dead)
    return fn


def arrays_to_expand(fn: Function, scop: Scop, dependences: Dependences) -> tuple[str, ...]:
    """The array parameters that alone keep the outermost of these loops from being parallel, but for those that would
    take more memory than another array."""
    expansions = (_expansion(fn, array.name, scop, dependences) for array in fn.arrays)
    return tuple(e.array.name for e in expansions if e and e.helps() and e.is_legal() and e.fits())


def arrays_for_threads(fn: Function) -> tuple[str, ...]:
    """The array parameters that alone keep the outermost loop around them from being parallel, none of which grows with
    the sizes: what each of its iterations works in."""
    scop = extract(fn)
    found = dependences(scop, seconds=_SECONDS)
    constant = [array.name for array in fn.arrays if array.shape and all(isinstance(e, Const) for e in array.shape)]
    expansions = [e for name in constant if (e := _expansion(fn, name, scop, found, 1)) and e.is_legal()]
    names = {e.array.name for e in expansions}
    return tuple(e.array.name for e in expansions if e.helps(names))


def _expansion(
    fn: Function, name: str, scop: Scop, dependences: Dependences, count: int = 0
) -> _Expansion | None:
    """What may be done about the array, if anything."""
    array = next((array for array in fn.arrays if array.name == name and array.shape), None)
    loops = tuple(_loops_around(fn.body, name))[: count or None] if array else ()
    if array is None or not loops or name not in stored(fn.body):
        return None
    users = tuple(s for s in scop.statements if s.iterators[: len(loops)] == tuple(loop.var for loop in loops))
    return _Expansion(array, loops, users, scop, dependences)


def _loops_around(body: tuple[Stmt, ...], name: str) -> Iterator[For]:
    """The loops around everything that uses the array, as far as its subscripts do not use them."""
    used = {var for use in uses(body, name) for var in variables(use.index)}
    while len(users := [stmt for stmt in body if touches(stmt, name)]) == 1 and isinstance(users[0], For):
        loop = users[0]
        if loop.var in used:
            return
        yield loop
        body = loop.body


@dataclass(frozen=True)
class _Expansion:
    array: Array
    loops: tuple[For, ...]  # around all that uses it
    users: tuple[Statement, ...]
    scop: Scop
    dependences: Dependences

    def function(self, fn: Function, names: Iterator[str], *, is_dead: bool) -> Function:
        """The function with a copy of the array for each iteration."""
        copy = replace(self.array, name=next(names), shape=self.extents + self.array.shape, space="private")
        own = tuple(Var(loop.var) for loop in self.loops)

        def rule(node: object) -> object:
            match node:
                case Load(array=name, index=index) | Store(array=name, index=index) if name == self.array.name:
                    return replace(node, array=copy.name, index=(*own, *index))
            return None

        after = () if is_dead else (self.copied_back(copy, names),)
        return replace(fn, body=(Alloc(copy), *rewrite(fn.body, rule), *after))

    def is_legal(self) -> bool:
        """Does every iteration fill what it reads, a box that is the same for all of them?"""
        if not self.has_own_values():
            return False
        iterations, elements = self.filled.domain(), self.filled.range()
        is_product = self.filled.is_equal(isl.Map.from_domain_and_range(iterations, elements))
        return is_product and _is_box(iterations) and _is_box(elements) and is_never_negative(iterations)

    @cached_property
    def extents(self) -> tuple[Expr, ...]:
        """How many copies there are, along each of the loops."""
        iterations = self.filled.domain()
        return tuple(extent(isl.along(iterations, k), self.scop.context) for k in range(len(self.loops)))

    def has_own_values(self) -> bool:
        """Does every read get what the same iteration of the loops has written?"""
        flow = [d for d in self.dependences.of("flow") if d.array == self.array.name]
        same = all(d.is_exact and d.relation.is_subset(self.together(d.relation, len(self.loops))) for d in flow)
        touching = (a for s in self.users for a in s.accesses if a.array == self.array.name)
        must = all(access.must for access in touching)
        return same and must and are_fed(self.users, self.array.name, flow, self.scop)

    def helps(self, others: Set[str] = frozenset()) -> bool:
        """Is the outermost of the loops parallel but for the order of accesses to the array, and to `others` that are
        expanded, too?"""
        expanded = {self.array.name, *others}
        inside = {statement.name for statement in self.users}
        carried = [
            d
            for d in self.dependences.of("flow", "anti", "output")
            if {d.source, d.sink} <= inside and not d.relation.is_subset(self.together(d.relation, 1))
        ]
        return bool(carried) and all(d.array in expanded and d.kind != "flow" for d in carried)

    def together(self, relation: isl.Map, count: int) -> isl.Map:
        """{ S[i, ...] -> T[i', ...] : i = i' } for the first `count` iterators."""
        return isl.agreeing(isl.Map.universe(relation.get_space()), count)

    @cached_property
    def filled(self) -> isl.Map:
        """{ [iteration of the loops] -> [element] } for all elements written."""
        found = None
        for statement in self.users:
            for access in statement.writes:
                if access.array == self.array.name:
                    relation = access.relation.intersect_domain(statement.domain.intersect_params(self.scop.context))
                    inner = relation.dim(isl.dim_type.in_) - len(self.loops)
                    relation = relation.project_out(isl.dim_type.in_, len(self.loops), inner)
                    relation = relation.reset_tuple_id(isl.dim_type.in_).reset_tuple_id(isl.dim_type.out)
                    found = relation if found is None else found.union(relation)
        assert found is not None
        return found.coalesce()

    def fits(self) -> bool:
        """Is there another array with all these dimensions, or larger ones?"""
        others = [array for array in self.scop.function.arrays if array.name != self.array.name]
        known = sizes_that_run(self.scop, self.array.name)
        return fits_an_array(self.extents + self.array.shape, others, known, self.scop.function.sizes)

    def copied_back(self, copy: Array, names: Iterator[str]) -> Stmt:
        """The elements as the last iteration of the loops left them."""
        iterations, elements = self.filled.domain(), self.filled.range()
        own = [next(names) for _ in self.array.shape]
        last = tuple(_last(loop, iterations, k) for k, loop in enumerate(self.loops))
        index = tuple(Var(name) for name in own)
        body: tuple[Stmt, ...] = (Store(self.array.name, index, Load(copy.name, (*last, *index), self.array.dtype)),)
        for k, name in reversed(list(enumerate(own))):
            body = (For(name, value(elements.dim_min(k)), _past_last(elements, k), 1, body),)
        ran = condition(self.filled.params())
        return body[0] if ran == Const(True, boolean) else If(ran, body)


def _last(loop: For, iterations: isl.Set, position: int) -> Expr:
    """The last value of the loop's variable."""
    if loop.step < 0:
        return value(iterations.dim_min(position))
    return binary("-", _past_last(iterations, position), 1)


def _past_last(values: isl.Set, position: int) -> Expr:
    """One more than the largest value of a dimension."""
    return value(values.dim_max(position).add_constant_val(isl.Val(1)))


def _is_box(values: isl.Set) -> bool:
    """Is it all the values between a least and a largest one along each dimension?"""
    kind, dims = isl.dim_type.set, range(values.dim(isl.dim_type.set))
    box = isl.Set.universe(values.get_space())
    for k in dims:
        along = reduce(lambda rest, other: rest.eliminate(kind, other, 1), (j for j in dims if j != k), values)
        box = box.intersect(isl.Set.from_basic_set(along.remove_divs().simple_hull()))
    return bool(box.is_equal(values))
