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

from polysched.codegen.constants.fixed import Fixed, loads
from polysched.codegen.constants.left import without
from polysched.codegen.constants.places import Place
from polysched.codegen.memory.linearize import linearize
from polysched.ir.build import binary, branch, floordiv, sub
from polysched.ir.node import loaded, rewrite, variables
from polysched.ir.nodes import Alloc, Array, Const, Expr, For, Function, If, Let, Load, Stmt, Store, Var
from polysched.ir.rename import fresh_names, rename_array, rename_bound, used_names
from polysched.ir.simplify import simplify

_MOST_NAMED = 2  # constants in the name of what is made of them


@dataclass(frozen=True)
class Split:
    """Both parts. `arrays`, which the first one fills, are parameters of both."""

    prepare: Function
    rest: Function
    arrays: tuple[Array, ...]


def split(fn: Function, constants: Set[str]) -> Split | None:
    """The parts of `fn`, some of whose parameters are constant; None if nothing is to be prepared."""
    return _Splitter(fn, constants).split()


class _Splitter(Fixed):
    def __init__(self, fn: Function, constants: Set[str]):
        super().__init__(fn, constants)
        self.taken = used_names(fn)

    def split(self) -> Split | None:
        if self.fn.foreign:
            return None
        rest = without(self.fn.body, self.fixed)
        read = loaded(rest) & self.fixed
        if not read:
            return None
        groups = self.groups()
        needed = self.closure(read, groups)
        groups = [group for group in groups if not needed.isdisjoint(group)]
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
                    out[:0] = branch(cond, then, other, stmt.loc)
        return tuple(out)

    def loop(self, loop: For, body: tuple[Stmt, ...], group: Sequence[str], home: Place) -> tuple[Stmt, ...]:
        around, gained = ({each.var for each in loops} for loops in (home.loops, self.found[group[0]]))
        if loop.var in around - gained:  # all of its iterations would store the same
            return body if _runs(loop) else (If(binary("<", loop.lo, loop.hi), body),)
        when = tuple(cond for cond in loop.when if self.is_fixed(cond) and not loads(cond))
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


def _params(fn: Function) -> tuple[str, ...]:
    return fn.params or (*fn.sizes, *(each.name for each in fn.scalars), *(each.name for each in fn.arrays))
