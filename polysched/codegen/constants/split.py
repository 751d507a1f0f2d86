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
from polysched.ir.build import binary, floordiv, sub
from polysched.ir.node import loaded, rewrite, variables, walk
from polysched.ir.nodes import Alloc, Array, Call, Const, Expr, For, Function, If, Let, Load, Stmt, Store, Unary, Var
from polysched.ir.rename import fresh_names, rename_array, rename_bound, used_names

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
        if self.fn.foreign or not self.constants:
            return None
        while (fewer := self.fewer()) != self.fixed:
            self.fixed = fewer
        rest = _without(self.fn.body, self.fixed)
        read = loaded(rest) & self.fixed
        if not read:
            return None
        order = [name for name in self.homes if name in self.closure(read)]
        arrays = {name: self.expanded(name) for name in order}
        rest = self.moved(rest)
        body = tuple(stmt for name in self.in_order(order) for stmt in self.slice(name))
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
        self.found = {}
        may = frozenset(name for name in self.fixed if self.may_go(name))
        if may != self.fixed:
            return may
        self.found = {name: self.gained(name) for name in may}
        return frozenset(name for name in may if self.should_go(name))

    def may_go(self, name: str) -> bool:
        """Is each element computed from constants alone, before anything else loads it?"""
        home, stores = self.homes[name], self.places.stores(name)
        if not stores or not variables(home.stmt.array.shape) <= self.sizes or name in self.places.reduced:
            return False
        if not all(self.is_fixed(expr) for place in stores for expr in self.parts(place, home)):
            return False
        last = max(place.at[home.depth] for place in stores)
        users = self.places.users(name)
        if any(place.at[home.depth] <= last for place in users):
            return False
        kinds = all(loop.kind in _KEPT_KINDS for loop in self.gained(name))
        return kinds and all(loop.step > 0 and self.is_of_sizes(loop) for loop in home.loops)

    def should_go(self, name: str) -> bool:
        home, sources = self.homes[name], self.sources(name)
        made_of = [array for array in self.fn.arrays if array.name in sources]
        shape = self.expanded(name).shape
        return is_worth(replace(home.stmt.array, shape=shape), made_of, is_expanded=bool(self.found[name]))

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

    def gained(self, name: str) -> tuple[For, ...]:
        """The loops around the home of a temporary by which its elements differ."""
        if name not in self.found:
            self.found[name] = ()  # for those that load each other, which do not stay
            home = self.homes[name]
            names = set[str]()
            for place in self.places.stores(name):
                for part in self.parts(place, home):
                    names |= self.names(part, name)
            self.found[name] = tuple(loop for loop in home.loops if loop.var in names)
        return self.found[name]

    def names(self, expr: Expr, of: str) -> set[str]:
        """The names that its value depends on."""
        found = set(variables(expr))
        for let in [name for name in found if name in self.lets]:
            found |= self.names(self.lets[let], of)
        for array in loaded(expr) & self.fixed - {of}:
            found |= {loop.var for loop in self.gained(array)}
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
                for let in self.names(part, name) & self.lets.keys():
                    found |= loaded(self.lets[let])
        return frozenset(found)

    def closure(self, read: Set[str]) -> frozenset[str]:
        """These temporaries, and those that they are made of."""
        found, ahead = set[str](), list(read)
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                ahead += self.read_for(name) & self.fixed
        return frozenset(found)

    # --- the parts

    def expanded(self, name: str) -> Array:
        """The temporary with a dimension for each loop that it gains."""
        array = self.homes[name].stmt.array
        return replace(array, shape=(*map(_trips, self.gained(name)), *array.shape))

    def moved(self, node: Any) -> Any:
        """`node` with loads and stores of expanded temporaries."""

        def rule(part: Any) -> Any:
            if isinstance(part, Load | Store) and part.array in self.fixed:
                return replace(part, index=(*map(_turn, self.found[part.array]), *part.index))
            return None

        return rewrite(node, rule)

    def in_order(self, names: list[str]) -> list[str]:
        """Each behind those that it is made of: what loads a temporary stands behind all that stores it."""
        return sorted(names, key=lambda name: min(place.at for place in self.places.stores(name)))

    def slice(self, name: str) -> tuple[Stmt, ...]:
        """The statements that make one temporary, with names of their own."""
        body = self.moved(self.cut(self.fn.body, name, self.homes[name]))
        return rename_bound(body, self.fresh)

    def fresh(self, name: str) -> str:
        return next(fresh_names(f"{name}_", self.taken))

    def name_of(self, name: str) -> str:
        """What a temporary is called as a parameter."""
        wish = "_".join([*sorted(self.sources(name)), "prepared"])
        if wish in self.taken:
            return self.fresh(wish)
        self.taken.add(wish)
        return wish

    def cut(self, block: tuple[Stmt, ...], name: str, home: Place) -> tuple[Stmt, ...]:
        """What is left of a block without all that does not make the temporary."""
        out: list[Stmt] = []
        for stmt in reversed(block):
            match stmt:
                case Store(array) if array == name:
                    out.insert(0, stmt)
                case Let(bound) if bound in variables(tuple(out)):
                    out.insert(0, stmt)
                case For() if body := self.cut(stmt.body, name, home):
                    out[:0] = self.loop(stmt, body, name, home)
                case If(cond):
                    then, other = (self.cut(part, name, home) for part in (stmt.then, stmt.other))
                    out[:0] = _branch(cond, then, other, stmt)
        return tuple(out)

    def loop(self, loop: For, body: tuple[Stmt, ...], name: str, home: Place) -> tuple[Stmt, ...]:
        around, gained = ({each.var for each in loops} for loops in (home.loops, self.found[name]))
        if loop.var in around - gained:  # all of its iterations would store the same
            return body if _runs(loop) else (If(binary("<", loop.lo, loop.hi), body),)
        when = tuple(cond for cond in loop.when if self.is_fixed(cond) and not _loads(cond))
        return (replace(loop, body=body, when=when, prefetch=()),)

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
        gone = {name for name in self.constants if name not in read}
        arrays = (*(array for array in fn.arrays if array.name not in gone), *prepared)
        params = (*(each for each in _params(fn) if each not in gone), *(array.name for array in prepared))
        return replace(fn, arrays=arrays, body=body, params=params, defaults=())


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
    """The statements without what makes these temporaries."""

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
        return None

    return rewrite(body, rule)


def _branch(cond: Expr, then: tuple[Stmt, ...], other: tuple[Stmt, ...], old: If) -> tuple[Stmt, ...]:
    if then:
        return (replace(old, then=then, other=other),)
    return (If(Unary("!", cond), other, (), old.loc),) if other else ()


def _trips(loop: For) -> Expr:
    """How often a loop runs, if it does."""
    span = sub(loop.hi, loop.lo)
    return span if loop.step == 1 else floordiv(binary("+", span, loop.step - 1), loop.step)


def _runs(loop: For) -> bool:
    """Is it known to run?"""
    match loop.lo, loop.hi:
        case Const(lo), Const(hi):
            return lo < hi
    return False


def _turn(loop: For) -> Expr:
    """Which iteration it is."""
    passed = sub(Var(loop.var), loop.lo)
    return passed if loop.step == 1 else floordiv(passed, loop.step)


def _loads(node: Any) -> bool:
    return any(isinstance(part, Load | Call) for part in walk(node))


def _params(fn: Function) -> tuple[str, ...]:
    return fn.params or (*fn.sizes, *(each.name for each in fn.scalars), *(each.name for each in fn.arrays))
