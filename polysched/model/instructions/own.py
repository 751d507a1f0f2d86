"""Instructions of the user's own, for CPUs: what one computes, as a small nest, and the C text that does it.

    def matvec4(y: f64[4], A: f64[4, 4], x: f64[4]):
        for i in 0..4:                                       y, A, x: pointers to y[0], A[0, 0], x[0]
            for k in 0..4:                                   A_0, A_1: how many elements A[i + 1, k] and A[i, k + 1]
                y[i] = y[i] + A[i, k] * x[k]                           lie behind A[i, k]; y_0 and x_0 likewise
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import product
from math import prod

from polysched.config.plain import Named
from polysched.errors import InputError
from polysched.ir.integers.linear import Linear, forms
from polysched.ir.interp import evaluate
from polysched.ir.node import variables, walk, without_subscripts
from polysched.ir.nodes import Binary, Call, Const, Expr, For, Foreign, Function, Load, Select, Stmt, Store
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.model.instructions.layouts import Rows, is_independent


@dataclass(frozen=True)
class OwnInstruction(Named):
    """An instruction of yours for CPUs, as `instruction` makes it; `Schedule.tensorize` takes it, or its name."""

    nest: Function
    body: str
    includes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    strides: tuple[tuple[str, tuple[int | None, ...]], ...] = ()  # of arrays, where they have to be so

    def __str__(self) -> str:
        text = "\n".join(f"    {line}".rstrip() for line in self.body.strip("\n").splitlines())
        needs = [f"    {name} has strides {show_strides(each)}" for name, each in self.strides]
        needs += [f"    compiled with {' '.join(self.flags)}"] if self.flags else []
        return "\n".join([show(self.nest), "by", text, *(["where", *needs] if needs else [])])

    __repr__ = __str__

    @property
    def name(self) -> str:
        return self.nest.name

    @property
    def version(self) -> str:
        """What differs if anything of it does."""
        parts = (show(self.nest), self.body, self.includes, self.flags, self.strides)
        return sha256(repr(parts).encode()).hexdigest()[:8]

    @property
    def foreign(self) -> Foreign:
        """Its function in C, with the array that it changes first."""
        arrays = sorted(self.nest.arrays, key=lambda array: array.name != self.store.array)
        name = f"polysched_{self.name}"
        return Foreign(name, tuple(arrays), self.nest.scalars, self.body, self.includes, self.flags)

    @cached_property
    def loops(self) -> dict[str, int]:
        """Its loops, outermost first, and how many iterations they have."""
        return _perfect(self.nest)[0]

    @cached_property
    def store(self) -> Store:
        """What it does in each iteration."""
        return _perfect(self.nest)[1]

    @cached_property
    def indices(self) -> dict[str, tuple[Expr, ...]]:
        """How each array is subscripted."""
        loads = [node for node in walk(self.store) if isinstance(node, Load | Store)]
        return {node.array: node.index for node in loads}

    def moves(self, array: str) -> Rows:
        """By how much each of its subscripts goes on with each loop."""
        return tuple(tuple(coefficients(part, list(self.loops)) or ()) for part in self.indices[array])

    def needs(self, array: str) -> tuple[int | None, ...]:
        """The strides that it has to have; None where any will do."""
        return dict(self.strides).get(array, (None,) * len(self.indices[array]))


INSTRUCTIONS: dict[str, OwnInstruction] = {}  # that this process has defined, by their names


def defined(name: str, version: str) -> OwnInstruction:
    """The instruction of that name; InputError unless it is defined here, and as it was."""
    found = INSTRUCTIONS.get(name)
    if found is None:
        what = f"the schedule has loops for the instruction '{name}', which is not defined here"
        raise InputError(what, hint="define it by ps.instruction first")
    if found.version != version:
        what = f"the schedule has loops for the instruction '{name}', which was defined anew since"
        raise InputError(what, hint="make the schedule again")
    return found


def show_strides(strides: tuple[int | None, ...]) -> str:
    return f"({', '.join('any' if each is None else str(each) for each in strides)})"


def coefficients(subscript: Expr, loops: list[str]) -> list[int] | None:
    """By how much the subscript goes on with each of the loops; None if that is no constant."""
    found: list[Linear] = forms(simplify(subscript), upper=True)
    if len(found) != 1:
        return None
    by = dict.fromkeys(loops, 0)
    for atom, factor in found[0].items():
        used = variables(atom) & by.keys() if atom is not None else frozenset()
        if used and show(atom) not in by:  # type: ignore[arg-type]
            return None
        for name in used:
            by[name] = factor
    return list(by.values())


def require_own(own: OwnInstruction) -> None:
    """InputError unless the nest is one that an instruction can be: loops from 0 to constants around one store, with
    each array at one place, in loops alone."""
    nest = own.nest
    if nest.sizes:
        hint = "its loops and arrays have constant extents, as in range(4)"
        raise InputError(f"'{nest.name}' has the size {nest.sizes[0]}, and an instruction has none", nest.loc, hint)
    loops, store = _perfect(nest)
    at: dict[str, tuple[Expr, ...]] = {}
    for node in walk(store):
        if isinstance(node, Load | Store) and at.setdefault(node.array, node.index) != node.index:
            what = f"'{nest.name}' has {node.array} at two places"
            raise InputError(what, store.loc, "give each an array of its own")
        if isinstance(node, Select) or (isinstance(node, Binary) and node.op in ("&&", "||")):
            hint = "compute in every case: what is under a condition may be nowhere otherwise"
            raise InputError(f"'{nest.name}' has a condition", store.loc, hint)
        if isinstance(node, Call) and not node.pure:
            raise InputError(f"'{nest.name}' calls {node.fn}, which may do anything", store.loc, "leave it out")
    for name, index in at.items():
        _require_plain(nest, name, index, list(loops))
        reached = {tuple(evaluate(part, at) for part in index) for at in _iterations(loops)}
        if len(reached) < prod(int(extent.value) for extent in nest.array(name).shape if isinstance(extent, Const)):
            hint = "give it the elements that are used, next to each other: strides say how far apart they lie"
            raise InputError(f"'{nest.name}' uses {len(reached)} elements of {name}, which has more", store.loc, hint)
    used = {*at, *variables(store.value)}
    names = [each.name for each in nest.arrays] + [each.name for each in nest.scalars]
    if unused := [name for name in names if name not in used]:
        raise InputError(f"'{nest.name}' does not use {', '.join(unused)}", nest.loc, "leave it out")
    if variables(without_subscripts(store.value)) & loops.keys():
        raise InputError(f"'{nest.name}' computes with a loop", store.loc, "loops are in subscripts alone")
    _require_strides(own, at)


def _iterations(loops: Mapping[str, int]) -> Iterator[dict[str, int]]:
    for values in product(*map(range, loops.values())):
        yield dict(zip(loops, values, strict=True))


def _perfect(nest: Function) -> tuple[dict[str, int], Store]:
    loops: dict[str, int] = {}
    body: tuple[Stmt, ...] = nest.body
    while len(body) == 1 and isinstance(loop := body[0], For):
        match simplify(loop.lo), simplify(loop.hi), loop.step:
            case Const(0), Const(int(extent)), 1 if extent > 1:
                loops[loop.var], body = extent, loop.body
            case _:
                hint = "as in range(4)"
                raise InputError(f"loop '{loop.var}' of '{nest.name}' is not from 0 to a constant", loop.loc, hint)
    match body:
        case (Store() as store,) if loops:
            return loops, store
    hint = "as in: for i in range(4): for k in range(4): y[i] += A[i, k] * x[k]"
    raise InputError(f"'{nest.name}' is no loops around one statement that changes an array", nest.loc, hint)


def _require_plain(nest: Function, name: str, index: tuple[Expr, ...], loops: list[str]) -> None:
    what = f"'{nest.name}' has {show(Load(name, index, nest.array(name).dtype))}"
    hint = "subscripts are sums of loops, as in x[4 * i + k]"
    rows = []
    for part in index:
        row = coefficients(part, loops)
        if row is None or min(row, default=0) < 0 or forms(simplify(part), upper=True)[0].get(None, 0):
            raise InputError(what, nest.loc, hint)
        rows.append(tuple(row))
    if not is_independent(tuple(rows)):
        raise InputError(f"{what}, where a subscript follows from others", nest.loc, "give the array fewer dimensions")


def _require_strides(own: OwnInstruction, at: Mapping[str, tuple[Expr, ...]]) -> None:
    for name, needed in own.strides:
        if name not in at:
            hint = f"its arrays are {', '.join(at)}"
            raise InputError(f"'{own.name}' has no array '{name}' to have strides", hint=hint)
        if len(needed) != len(at[name]):
            hint = "None is for one that may be anything"
            raise InputError(f"{name} of '{own.name}' has {len(at[name])} strides, not {len(needed)}", hint=hint)
    taken = [each.name for each in own.nest.arrays] + [each.name for each in own.nest.scalars]
    strides = [f"{name}_{k}" for name, index in at.items() for k in range(len(index))]
    if both := set(taken) & set(strides):
        raise InputError(f"{min(both)} of '{own.name}' is the name of a stride, too", hint="call it otherwise")
