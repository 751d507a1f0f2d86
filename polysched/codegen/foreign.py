"""Loops that an instruction of the user's runs become a call of it, where the tile is full.

    for i in 0..min(4, n - 4 * t) (foreign):              if n - 4 * t >= 4:
        for k in 0..4:                              ->        matvec4(&y[4 * t], &A[4 * t, 4 * u], &x[4 * u], ...)
            y[4 * t + i] += A[..] * x[4 * u + k]          else:
                                                              the loops

Needs: loops of the kind "foreign", as the mark `Intrinsic` gives, of which the tree's check has shown that they do what
the instruction does; subscripts are not linearized yet. Loops that isl has taken apart stay as they are, which is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polysched.codegen.parallel.declined import decline
from polysched.instructions.layouts import Rows
from polysched.instructions.own import INSTRUCTIONS, OwnInstruction, coefficients
from polysched.ir.build import binary, conjunction, sub
from polysched.ir.node import arrays_of, flattened, rewrite, substitute, variables, walk
from polysched.ir.nodes import Call, Const, Expr, For, Function, If, Load, Stmt, Store
from polysched.ir.simplify import simplify
from polysched.transform.analysis.pairing import Misfit, Pairing, pairing

KIND = "foreign"


def has_foreign(fn: Function) -> bool:
    """Are there loops that instructions of the user's run?"""
    return any(isinstance(node, For) and node.kind == KIND for node in walk(fn.body))


def call_foreign(fn: Function) -> Function:
    """`fn` with calls in place of such loops."""
    shapes = {name: array.shape for name, array in arrays_of(fn).items()}
    used: dict[str, OwnInstruction] = {}

    def called(node: Any) -> tuple[Stmt, ...] | None:
        if not (isinstance(node, For) and node.kind == KIND):
            return None
        own = used[node.instruction] = INSTRUCTIONS[node.instruction]
        return _called(own, node, shapes)

    body = rewrite(fn.body, called)
    return replace(fn, body=body, foreign=tuple(own.foreign for own in used.values()))


def _called(own: OwnInstruction, loop: For, shapes: Mapping[str, tuple[Expr, ...]]) -> tuple[Stmt, ...]:
    """The call, and the loops for tiles that are not full; the loops alone where there is no such call."""
    plain = replace(loop, kind="serial", instruction="")
    found = _tile(loop, len(own.loops))
    if found is None:
        decline(loop, f"its tiles of {own.name} are in pieces")
        return (plain,)
    loops, store = found
    names = [each.var for each in loops]
    full = [test for each, extent in zip(loops, own.loops.values(), strict=True) for test in _is_full(each, extent)]
    if variables(tuple(full)) & set(names) or Const(False) in full:
        decline(loop, f"its tiles are no boxes, as {own.name} needs")
        return (plain,)

    def moves(index: Sequence[Expr]) -> Rows | None:
        rows = [coefficients(part, names) for part in index]
        return None if None in rows else tuple(tuple(row) for row in rows if row is not None)

    given = pairing(own, store, names, moves, shapes)
    assert not isinstance(given, Misfit), f"{own.name} does not run loop {loop.var}: {given.why}"
    call = _call(own, store, given, {each.var: each.lo for each in loops}, shapes)
    return (If(conjunction(full), (call,), (plain,)),) if full else (call,)


def _tile(loop: For, count: int) -> tuple[list[For], Store] | None:
    """The loops, and the one statement in them; None if there is more."""
    loops = [loop]
    while len(loops) < count:
        match loops[-1].body:
            case (For(kind="serial") as inner,):
                loops.append(inner)
            case _:
                return None
    match loops[-1].body:
        case (Store() as store,) if all(each.step == 1 for each in loops):
            return loops, store
    return None


def _is_full(loop: For, extent: int) -> list[Expr]:
    """What has to hold so that the loop has so many iterations; none if it always has."""
    pairs = ((low, high) for low in flattened(loop.lo, "max") for high in _ends(loop.hi))
    tests = [simplify(binary(">=", simplify(sub(high, low)), extent)) for low, high in pairs]
    return [test for test in dict.fromkeys(tests) if test != Const(True, test.dtype)]


def _ends(hi: Expr) -> list[Expr]:
    return list(flattened(hi, "min"))


def _call(
    own: OwnInstruction,
    store: Store,
    given: Pairing,
    first: Mapping[str, Expr],
    shapes: Mapping[str, tuple[Expr, ...]],
) -> Store:
    """Store(y, i, Call(name, (y[i], A[j, k], scalars, strides))), where its arrays begin in a tile."""
    foreign = own.foreign
    begins, strides = [], list[Expr]()
    for array in foreign.arrays:
        place = given.places[array.name]
        index = tuple(simplify(substitute(part, dict(first))) for part in place.index)
        begins.append(Load(place.array, index, array.dtype))
        strides += [simplify(each) for each in place.strides(shapes[place.array])]
    scalars = [substitute(given.scalars[each.name], dict(first)) for each in foreign.scalars]
    call = Call(foreign.name, (*begins, *scalars, *strides), store.value.dtype, pure=False)
    return Store(begins[0].array, begins[0].index, call, store.loc)
