"""Which temporaries of a kernel are computed from constants alone, by dataflow.

    a[j] = w[j] * s        fixed, if w and s are constant
    b[j] = a[j] + x[j]     not, if x is not
    for t: c = a[t]; c used; c changed ...      not: some of what loads c stands before some of what stores it

All temporaries are, until one of them is shown not to be, which may show others: the greatest fixpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from typing import Any

from polysched.codegen.constants.left import without
from polysched.codegen.constants.places import Place, Places
from polysched.codegen.constants.worth import is_worth
from polysched.deps.components import strongly_connected
from polysched.ir.build import binary, floordiv, sub
from polysched.ir.node import loaded, statements, variables, walk
from polysched.ir.nodes import Array, Call, Const, Expr, For, Function, Let, Load, Store, Var
from polysched.ir.simplify import simplify

_KEPT_KINDS = frozenset({"serial", "parallel", "dynamic", "unrolled"})


class Fixed:
    """The temporaries of a function that are computed from constants alone, and what they are made of."""

    def __init__(self, fn: Function, constants: Set[str]):
        self.fn = fn
        self.constants = frozenset(array.name for array in fn.arrays if array.name in constants)
        self.sizes = constant_sizes(fn, constants)
        self.scalars = frozenset(scalar.name for scalar in fn.scalars if scalar.name in constants)
        self.places = Places(fn.body)
        self.homes = self.places.homes
        self.lets = {node.name: node.value for node in statements(fn.body) if isinstance(node, Let)}
        loops = {node.var: (node.lo, node.hi) for node in statements(fn.body) if isinstance(node, For)}
        self.behind = loops | {name: (value,) for name, value in self.lets.items()}  # what decides a name's values
        self.fixed = frozenset(self.homes)  # temporaries that are computed from constants alone
        self.found: dict[str, tuple[For, ...]] = {}  # and the loops that each of them gains a dimension for
        while (fewer := self._fewer()) != self.fixed:
            self.fixed = fewer

    def _fewer(self) -> frozenset[str]:
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
        read = loaded(without(self.fn.body, self.fixed))
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
        return all(variables(end) <= self.sizes and not loads(end) for end in (loop.lo, loop.hi))

    def is_fixed(self, expr: Expr) -> bool:
        """Is its value computed from constants alone, wherever it stands?"""
        seen, ahead = set[str](), [expr]
        while ahead:
            for node in walk(ahead.pop()):
                match node:
                    case Var(name) if name in self.behind:
                        ahead += self.behind[name] if name not in seen else ()
                        seen.add(name)
                    case Var(name) if name not in self.sizes and name not in self.scalars:
                        return False
                    case Load(array) if array not in self.constants and array not in self.fixed:
                        return False
                    case Call(pure=False):
                        return False
        return True

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
        found, ahead = set[str](), [expr]
        while ahead:
            part = ahead.pop()
            new = variables(part) - found
            ahead += [self.lets[name] for name in new if name in self.lets]
            found |= new | {loop.var for array in loaded(part) & self.found.keys() for loop in self.found[array]}
        return found

    def sources(self, name: str) -> frozenset[str]:
        """The constant arrays that a temporary is made of."""
        seen, ahead = set[str](), [name]
        while ahead:
            read = self.read_for(ahead.pop())
            ahead += (read & self.fixed) - seen
            seen |= read
        return frozenset(seen & self.constants)

    def read_for(self, name: str) -> frozenset[str]:
        """The arrays that its stores load."""
        home, found = self.homes[name], set[str]()
        for place in self.places.stores(name):
            for part in self.parts(place, home):
                found |= loaded(part)
                for let in self.names(part) & self.lets.keys():
                    found |= loaded(self.lets[let])
        return frozenset(found)

    def closure(self, read: Set[str], groups: Iterable[Sequence[str]]) -> frozenset[str]:
        """These temporaries, and those that they are made of, or together with."""
        together = {name: group for group in groups for name in group}
        found, ahead = set[str](), list(read)
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                ahead += [*together[name], *(self.read_for(name) & self.fixed)]
        return frozenset(found)

    def expanded(self, name: str) -> Array:
        """The temporary with a dimension for each loop that it gains."""
        array = self.homes[name].stmt.array
        return replace(array, shape=(*map(_trips, self.found[name]), *array.shape))


def constant_sizes(fn: Function, constants: Set[str]) -> frozenset[str]:
    """The sizes that are constant: those named, and those of constant arrays."""
    shapes = tuple(array.shape for array in fn.arrays if array.name in constants)
    return (variables(shapes) | constants) & frozenset(fn.sizes)


def _trips(loop: For) -> Expr:
    """How often a loop runs."""
    span = sub(loop.hi, loop.lo)
    trips = simplify(span if loop.step == 1 else floordiv(binary("+", span, loop.step - 1), loop.step))
    return trips if isinstance(trips, Const | Var) else binary("max", 0, trips)


def loads(node: Any) -> bool:
    return any(isinstance(part, Load | Call) for part in walk(node))
