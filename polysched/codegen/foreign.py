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
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from polysched.codegen.full_loop import ends_of
from polysched.codegen.parallel.declined import decline
from polysched.ir.build import add, binary, conjunction, sub
from polysched.ir.dtypes import boolean
from polysched.ir.node import arrays_of, flattened, rewrite, statements, substitute, variables, walk
from polysched.ir.nodes import Call, Const, Expr, For, Function, If, Load, Stmt, Store
from polysched.ir.simplify import simplify
from polysched.model.instructions.layouts import Rows
from polysched.model.instructions.own import INSTRUCTIONS, OwnInstruction, coefficients
from polysched.transform.analysis.pairing import Misfit, Pairing, pairing

KIND = "foreign"


def has_foreign(fn: Function) -> bool:
    """Are there loops that instructions of the user's run?"""
    return any(isinstance(node, For) and node.kind == KIND for node in statements(fn.body))


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
    tile = _tile(loop, own)
    if tile is None:
        decline(loop, f"its tiles are no boxes of one statement, as {own.name} needs")
        return (plain,)
    names = [each.var for each in tile.loops]
    elements = [node for node in walk(tile.store) if isinstance(node, Load | Store)]
    is_plain = all(coefficients(part, names) is not None for node in elements for part in node.index)
    given = pairing(own, tile.store, names, partial(_moves, names), shapes) if is_plain else Misfit("it is in pieces")
    if isinstance(given, Misfit):
        decline(loop, f"{own.name} cannot run it: {given.why}")
        return (plain,)
    call = _call(own, tile.store, given, tile.first)
    return (If(conjunction(tile.full), (call,), (plain,)),) if tile.full else (call,)


def _moves(names: list[str], index: Sequence[Expr]) -> Rows:
    return tuple(tuple(coefficients(part, names) or ()) for part in index)


@dataclass(frozen=True)
class _Tile:
    """Loops around one statement."""

    loops: list[For]
    store: Store
    first: Mapping[str, Expr]  # where each loop begins in a tile that is full
    full: list[Expr]  # what then holds; nothing where it always does


def _tile(loop: For, own: OwnInstruction) -> _Tile | None:
    """None if there is more in the loops, or their bounds do not tell where a tile is full."""
    loops = [loop]
    while len(loops) < len(own.loops) and len(loops[-1].body) == 1 and isinstance(inner := loops[-1].body[0], For):
        loops.append(inner)
    body = loops[-1].body
    is_nest = len(loops) == len(own.loops) and len(body) == 1 and all(each.step == 1 for each in loops)
    if not is_nest or not isinstance(store := body[0], Store):
        return None
    names = {each.var for each in loops}
    first, least = dict[str, Expr](), list[Expr]()
    for each, extent in zip(loops, own.loops.values(), strict=True):
        lows = list(flattened(each.lo, "max"))
        still = [low for low in lows if not variables(low) & names]
        if not still:
            return None
        first[each.var] = binary("max", *still)
        least += [sub(first[each.var], low) for low in lows if low not in still]
        least += [sub(sub(high, first[each.var]), extent) for high in ends_of(each.hi)]
    extents = dict(zip(first, own.loops.values(), strict=True))
    corners = [_at_corner(form, first, extents) for form in least]
    tests = [simplify(binary(">=", simplify(form), 0)) for form in corners if form is not None]
    if None in corners or Const(False, boolean) in tests:
        return None
    return _Tile(loops, store, first, [test for test in dict.fromkeys(tests) if test != Const(True, boolean)])


def _at_corner(form: Expr, first: Mapping[str, Expr], extents: Mapping[str, int]) -> Expr | None:
    """The least value of the form in a full tile; None if it is not a sum of multiples of the loops."""
    by = coefficients(form, list(first))
    if by is None:
        return None
    corner = {
        name: add(first[name], extents[name] - 1) if factor < 0 else first[name]
        for name, factor in zip(first, by, strict=True)
    }
    return substitute(form, corner)


def _call(own: OwnInstruction, store: Store, given: Pairing, first: Mapping[str, Expr]) -> Store:
    """Store(y, i, Call(name, (y[i], A[j, k], scalars, strides))), where its arrays begin in a tile."""
    foreign = own.foreign
    begins, strides = [], list[Expr]()
    for array in foreign.arrays:
        place = given.places[array.name]
        index = tuple(simplify(substitute(part, dict(first))) for part in place.index)
        begins.append(Load(place.array, index, array.dtype))
        strides += place.strides
    scalars = [substitute(given.scalars[each.name], dict(first)) for each in foreign.scalars]
    call = Call(foreign.name, (*begins, *scalars, *strides), store.value.dtype, pure=False)
    return Store(begins[0].array, begins[0].index, call, store.loc)
