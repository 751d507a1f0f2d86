"""A kernel in two parts: what it computes from constants alone, which runs once, and the rest, which each call runs.

    for b in 0..4 (parallel):                                   prepare:
        P: f32[8, 64]                                               for b in 0..4 (parallel):
        for k, j: P[k, j] = w[k, 64 * b + j]            ->              for k, j: P[b, k, j] = w[k, 64 * b + j]
        for i, k, j: y[i, 64 * b + j] += x[i, k] * P[k, j]      rest:
                                                                    for b in 0..4 (parallel):
                                                                        for i, k, j: ... += x[i, k] * P[b, k, j]

Which statements go is dataflow: those that make temporaries of which every element is computed from constants, or from
such temporaries, in loops and under guards that depend on nothing else. A temporary of a loop's body gains a dimension
for each loop around that its elements differ by; the other loops around fall away.

Needs: names are bound once; subscripts are not linearized yet; the nest does not write its constants.
Keeps: what every load of the rest gets. A temporary goes only if, where it is allocated, all that loads it stands
behind all that stores it; so it makes no difference that the stores come first.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from polysched.codegen.constants.places import Place, Places
from polysched.codegen.constants.worth import is_worth
from polysched.codegen.memory.linearize import linearize
from polysched.deps.components import strongly_connected
from polysched.ir.build import binary, floordiv, sub
from polysched.ir.effects import may_be_dropped
from polysched.ir.node import loaded, rewrite, variables, walk
from polysched.ir.nodes import Alloc, Array, Call, Const, Expr, For, Function, If, Let, Load, Stmt, Store, Unary, Var
from polysched.ir.rename import fresh_names, rename_array, rename_bound, used_names
from polysched.ir.simplify import simplify

_MOST_NAMED = 2  # constants in the name of what is made of them
_KEPT_KINDS = frozenset({"serial", "parallel", "dynamic", "unrolled"})


@dataclass(frozen=True)
class Split:
    """Both parts. `arrays`, which the first one fills, are parameters of both."""

    prepare: Function
    rest: Function
    arrays: tuple[Array, ...]


def split(fn: Function, constants: Set[str]) -> Split | None:
    """The parts of `fn`, some of whose parameters are constant; None if nothing is to be prepared."""
    return _Splitter(fn, constants).split()


def constant_sizes(fn: Function, constants: Set[str]) -> frozenset[str]:
    """The sizes that are constant: those named, and those of constant arrays."""
    shapes = tuple(array.shape for array in fn.arrays if array.name in constants)
    return (variables(shapes) | constants) & frozenset(fn.sizes)


class _Splitter:
    def __init__(self, fn: Function, constants: Set[str]):
        self.fn = fn
        self.constants = frozenset(array.name for array in fn.arrays if array.name in constants)
        self.sizes = constant_sizes(fn, constants)
        self.scalars = frozenset(scalar.name for scalar in fn.scalars if scalar.name in constants)
        self.places = Places(fn.body)
        self.homes = self.places.homes
        self.loops = {node.var: node for node in walk(fn.body) if isinstance(node, For)}
        self.lets = {node.name: node.value for node in walk(fn.body) if isinstance(node, Let)}
        self.fixed = frozenset(self.homes)  # temporaries that are computed from constants alone
        self.taken = used_names(fn)
        self.found: dict[str, tuple[For, ...]] = {}  # and the loops that each of them gains a dimension for

    def split(self) -> Split | None:
        if self.fn.foreign:
            return None
        while (fewer := self.fewer()) != self.fixed:
            self.fixed = fewer
        rest = _without(self.fn.body, self.fixed)
        read = loaded(rest) & self.fixed
        if not read:
            return None
        needed = self.closure(read)
        groups = [group for group in self.groups() if not needed.isdisjoint(group)]
        order = [name for group in groups for name in group]
        arrays = {name: self.expanded(name) for name in order}
        rest = self.moved(rest)
        body = tuple(stmt for group in groups for stmt in self.slice(group))
        local = tuple(Alloc(arrays[name]) for name in order if name not in read)
        prepared = []
        for name in (name for name in order if name in read):
            new = self.name_of(name)
            body, rest = (rename_array(part, name, new) for part in (body, rest))
            prepared.append(replace(arrays[name], name=new, space="global"))
        return Split(self.prepare((*local, *body), prepared), self.rest(rest, prepared), tuple(prepared))

    # --- what is fixed

    def fewer(self) -> frozenset[str]:
        """Those of the temporaries that are computed from constants alone, if all of them are."""
        alone = frozenset(name for name in self.fixed if self.may_go(name))
        if alone != self.fixed:
            return alone
        groups = self.groups()
        together = frozenset(name for group in groups if self.may_go_together(group) for name in group)
        if together != self.fixed:
            return together
        self.found = {}
        for group in groups:
            gained = self.gained(group)
            self.found |= dict.fromkeys(group, gained)
        read = loaded(_without(self.fn.body, self.fixed))
        return frozenset(name for name in together if name not in read or self.should_go(name))

    def may_go(self, name: str) -> bool:
        """Is each element computed from constants alone, before anything else loads it?"""
        home, stores = self.homes[name], self.places.stores(name)
        if not stores or not variables(home.stmt.array.shape) <= self.sizes or name in self.places.reduced:
            return False
        if not all(self.is_fixed(expr) for place in stores for expr in self.parts(place, home)):
            return False
        own = [place for place in self.places.users(name) if self.is_early(place, name)]
        return all(place.stmt.array in self.fixed if isinstance(place.stmt, Store) else False for place in own)

    def is_early(self, place: Place, name: str) -> bool:
        """Does it not stand behind all that stores the temporary, where that is at home?"""
        home = self.homes[name]
        return place.at[home.depth] <= max(store.at[home.depth] for store in self.places.stores(name))

    def groups(self) -> list[list[str]]:
        """The temporaries, each behind those that it is made of; those that are made in turns, together."""
        pairs = set[tuple[str, str]]()
        for name in self.fixed:
            for place in self.places.users(name):
                if isinstance(place.stmt, Store) and (other := place.stmt.array) in self.fixed:
                    pairs |= {(name, other), (other, name)} if self.is_early(place, name) else {(name, other)}
            pairs |= {(other, name) for other in self.read_for(name) & self.fixed}
        return strongly_connected([name for name in self.homes if name in self.fixed], pairs)

    def may_go_together(self, group: Sequence[str]) -> bool:
        """Are they at home in one block, whose loops can be kept around them, or left out?"""
        blocks = {(home.at[:-1]) for home in (self.homes[name] for name in group)}
        home = self.homes[group[0]]
        is_kept = all(loop.kind in _KEPT_KINDS for loop in home.loops)
        return len(blocks) == 1 and is_kept and all(loop.step > 0 and self.is_of_sizes(loop) for loop in home.loops)

    def should_go(self, name: str) -> bool:
        """Is it worth being kept, for what is left to load?"""
        sources = self.sources(name)
        made_of = [array for array in self.fn.arrays if array.name in sources]
        return is_worth(self.expanded(name), made_of, is_expanded=bool(self.found[name]))

    def is_of_sizes(self, loop: For) -> bool:
        """Do constant sizes alone decide how often it runs?"""
        return all(variables(end) <= self.sizes and not _loads(end) for end in (loop.lo, loop.hi))

    def is_fixed(self, expr: Expr) -> bool:
        """Is its value computed from constants alone, wherever it stands?"""
        for node in walk(expr):
            match node:
                case Var(name) if not self.is_fixed_name(name):
                    return False
                case Load(array) if array not in self.constants and array not in self.fixed:
                    return False
                case Call(pure=False):
                    return False
        return True

    def is_fixed_name(self, name: str) -> bool:
        if name in self.loops:
            return self.is_fixed(self.loops[name].lo) and self.is_fixed(self.loops[name].hi)
        if name in self.lets:
            return self.is_fixed(self.lets[name])
        return name in self.sizes or name in self.scalars

    def parts(self, place: Place, home: Place) -> list[Expr]:
        """The expressions that decide what a store stores, and whether it runs, in one arrival at the temporary's home;
        and the guards around that."""
        store = place.stmt
        parts = [store.value, *store.index, *home.guards]
        for stmt in place.around[home.depth :]:
            parts += [stmt.lo, stmt.hi] if isinstance(stmt, For) else [stmt.cond]
        return parts

    # --- loops around

    def gained(self, group: Sequence[str]) -> tuple[For, ...]:
        """The loops around the home of these temporaries by which their elements differ."""
        home, names = self.homes[group[0]], set[str]()
        for name in group:
            for place in self.places.stores(name):
                for part in self.parts(place, self.homes[name]):
                    names |= self.names(part)
        return tuple(loop for loop in home.loops if loop.var in names)

    def names(self, expr: Expr) -> set[str]:
        """The names that its value depends on."""
        found = set(variables(expr))
        for let in [name for name in found if name in self.lets]:
            found |= self.names(self.lets[let])
        for array in loaded(expr) & self.found.keys():
            found |= {loop.var for loop in self.found[array]}
        return found

    def sources(self, name: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
        """The constant arrays that a temporary is made of."""
        found = set[str]()
        for array in self.read_for(name):
            if array in self.constants:
                found.add(array)
            elif array in self.fixed and array not in seen and array != name:
                found |= self.sources(array, seen | {name})
        return frozenset(found)

    def read_for(self, name: str) -> frozenset[str]:
        """The arrays that its stores load."""
        home, found = self.homes[name], set[str]()
        for place in self.places.stores(name):
            for part in self.parts(place, home):
                found |= loaded(part)
                for let in self.names(part) & self.lets.keys():
                    found |= loaded(self.lets[let])
        return frozenset(found)

    def closure(self, read: Set[str]) -> frozenset[str]:
        """These temporaries, and those that they are made of, or together with."""
        together = {name: group for group in self.groups() for name in group}
        found, ahead = set[str](), list(read)
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                ahead += [*together[name], *(self.read_for(name) & self.fixed)]
        return frozenset(found)

    # --- the parts

    def expanded(self, name: str) -> Array:
        """The temporary with a dimension for each loop that it gains."""
        array = self.homes[name].stmt.array
        return replace(array, shape=(*map(_trips, self.found[name]), *array.shape))

    def moved(self, node: Any) -> Any:
        """`node` with loads and stores of expanded temporaries."""

        def rule(part: Any) -> Any:
            if isinstance(part, Load | Store) and part.array in self.fixed:
                return replace(part, index=(*map(_turn, self.found[part.array]), *part.index))
            return None

        return rewrite(node, rule)

    def slice(self, group: Sequence[str]) -> tuple[Stmt, ...]:
        """The statements that make these temporaries, with names of their own."""
        body = self.moved(self.cut(self.fn.body, group, self.homes[group[0]]))
        return rename_bound(body, self.fresh)

    def fresh(self, name: str) -> str:
        return next(fresh_names(f"{name}_", self.taken))

    def name_of(self, name: str) -> str:
        """What a temporary is called as a parameter."""
        sources = sorted(self.sources(name))
        wish = "_".join([*(sources if 0 < len(sources) <= _MOST_NAMED else ["constants"]), "prepared"])
        if wish in self.taken:
            return self.fresh(wish)
        self.taken.add(wish)
        return wish

    def cut(self, block: tuple[Stmt, ...], group: Sequence[str], home: Place) -> tuple[Stmt, ...]:
        """What is left of a block without all that does not make these temporaries."""
        out: list[Stmt] = []
        for stmt in reversed(block):
            match stmt:
                case Store(array) if array in group:
                    out.insert(0, stmt)
                case Let(bound) if bound in variables(tuple(out)):
                    out.insert(0, stmt)
                case For() if body := self.cut(stmt.body, group, home):
                    out[:0] = self.loop(stmt, body, group, home)
                case If(cond):
                    then, other = (self.cut(part, group, home) for part in (stmt.then, stmt.other))
                    out[:0] = _branch(cond, then, other, stmt)
        return tuple(out)

    def loop(self, loop: For, body: tuple[Stmt, ...], group: Sequence[str], home: Place) -> tuple[Stmt, ...]:
        around, gained = ({each.var for each in loops} for loops in (home.loops, self.found[group[0]]))
        if loop.var in around - gained:  # all of its iterations would store the same
            return body if _runs(loop) else (If(binary("<", loop.lo, loop.hi), body),)
        when = tuple(cond for cond in loop.when if self.is_fixed(cond) and not _loads(cond))
        return (replace(loop, body=body, when=when, reduces=(), prefetch=()),)

    def prepare(self, body: tuple[Stmt, ...], prepared: Sequence[Array]) -> Function:
        fn, read, used = self.fn, loaded(body), variables(body)
        arrays = tuple(array for array in fn.arrays if array.name in read)
        scalars = tuple(scalar for scalar in fn.scalars if scalar.name in used)
        sizes = tuple(size for size in fn.sizes if size in self.sizes)
        taken = {*sizes, *(scalar.name for scalar in scalars), *(array.name for array in arrays)}
        params = (*(each for each in _params(fn) if each in taken), *(array.name for array in prepared))
        return replace(
            fn,
            name=f"{fn.name}_prepare",
            sizes=sizes,
            arrays=(*arrays, *prepared),
            body=body,
            scalars=scalars,
            params=params,
            defaults=(),
        )

    def rest(self, body: tuple[Stmt, ...], prepared: Sequence[Array]) -> Function:
        """The kernel without constants that it no longer reads."""
        fn, read = self.fn, loaded(body)
        gone = (self.constants | self.scalars) - read - variables(body)
        arrays = (*(array for array in fn.arrays if array.name not in gone), *prepared)
        scalars = tuple(scalar for scalar in fn.scalars if scalar.name not in gone)
        params = (*(each for each in _params(fn) if each not in gone), *(array.name for array in prepared))
        return replace(fn, arrays=arrays, body=body, scalars=scalars, params=params, defaults=())


def joined(parts: Split, whole: Function) -> Function:
    """Both parts, whose subscripts are linearized, one after the other: as a function with the parameters of `whole`,
    which they are made of."""
    rest = parts.rest
    taken = used_names(rest) | used_names(parts.prepare) | used_names(whole)
    body = rename_bound(parts.prepare.body, lambda name: next(fresh_names(f"{name}_", taken)))
    arrays = {array.name: array for array in rest.arrays}
    local = tuple(Alloc(arrays[array.name]) for array in parts.arrays)
    return replace(linearize(replace(whole, body=())), body=(*local, *body, *rest.body))


def _without(body: tuple[Stmt, ...], names: Set[str]) -> tuple[Stmt, ...]:
    """The statements without what makes these temporaries, and without names that were for that alone."""

    def rule(node: Any) -> Any:
        match node:
            case Store(array) if array in names:
                return ()
            case Alloc(array) if array.name in names:
                return ()
            case For(body=()):
                return ()
            case If(cond, (), other):
                return _branch(cond, (), other, node)
            case Let(name, value) if name not in used and may_be_dropped(value):
                return ()
        return None

    used = variables(body)
    while (left := rewrite(body, rule)) != body:
        body, used = left, variables(left)
    return body


def _branch(cond: Expr, then: tuple[Stmt, ...], other: tuple[Stmt, ...], old: If) -> tuple[Stmt, ...]:
    if then:
        return (replace(old, then=then, other=other),)
    return (If(Unary("!", cond), other, (), old.loc),) if other else ()


def _trips(loop: For) -> Expr:
    """How often a loop runs."""
    span = sub(loop.hi, loop.lo)
    trips = simplify(span if loop.step == 1 else floordiv(binary("+", span, loop.step - 1), loop.step))
    return trips if isinstance(trips, Const | Var) else binary("max", 0, trips)


def _runs(loop: For) -> bool:
    """Is it known to run?"""
    match loop.lo, loop.hi:
        case Const(lo), Const(hi):
            return lo < hi
    return False


def _turn(loop: For) -> Expr:
    """Which iteration it is."""
    passed = sub(Var(loop.var), loop.lo)
    return simplify(passed if loop.step == 1 else floordiv(passed, loop.step))


def _loads(node: Any) -> bool:
    return any(isinstance(part, Load | Call) for part in walk(node))


def _params(fn: Function) -> tuple[str, ...]:
    return fn.params or (*fn.sizes, *(each.name for each in fn.scalars), *(each.name for each in fn.arrays))
