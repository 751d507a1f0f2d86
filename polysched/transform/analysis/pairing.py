"""Which operand of an instruction is which of a statement: the access relations and the expressions tell.

    y[i] = y[i] + A[i, k] * x[k]        y: C[j], A: B[k, j], x: D[k]         A goes on by one in dimension 1 of B
    C[j] = C[j] + D[k] * B[k, j]                                             where i does, its second stride
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from polysched.ir.build import add, mul
from polysched.ir.effects import is_pure
from polysched.ir.node import children, variables, walk
from polysched.ir.nodes import Binary, Call, Cast, Const, Expr, Load, Select, Store, Unary, Var
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.model.instructions.layouts import Rows, layout
from polysched.model.instructions.own import OwnInstruction, show_strides
from polysched.support import isl

Moves = Callable[[tuple[Expr, ...]], Rows | None]  # of subscripts: rows are dimensions, columns the loops of a tile
Shapes = Mapping[str, tuple[Expr, ...]]
_Pairs = dict[str, Expr]
_TURNS = {"+", "*", "&", "|", "^", "==", "!=", "&&", "||"}  # whose operands may change places, bit for bit


@dataclass(frozen=True)
class Place:
    """Where an operand lies: its first element, and how many elements lie between neighbors in each dimension."""

    array: str
    index: tuple[Expr, ...]
    strides: tuple[Expr, ...]


@dataclass(frozen=True)
class Pairing:
    """What an instruction is given."""

    places: Mapping[str, Place]
    scalars: Mapping[str, Expr]
    reads: tuple[Load, ...]  # for all operands but the one that is changed


@dataclass(frozen=True)
class Misfit:
    """Why there is none, and what would be right."""

    why: str
    hint: str = ""


def pairing(own: OwnInstruction, store: Store, tile: Sequence[str], moves: Moves, shapes: Shapes) -> Pairing | Misfit:
    """What the instruction is given where loops of these names, in the order of its own, run the statement; where
    several would do, the first one in the order of its text."""
    refusals = []
    for pairs in _pairs(own.store, store):
        found = _placed(own, pairs, tile, moves, shapes)
        if isinstance(found, Pairing):
            return found
        refusals.append(found)
    return refusals[0] if refusals else _difference(own, store)


def _pairs(own: Store, store: Store) -> Iterator[_Pairs]:
    """All ways to have each operand stand for a part of the statement."""
    target = Load(store.array, store.index, store.value.dtype)
    if own.value.dtype == store.value.dtype:
        yield from _matched(own.value, store.value, {own.array: target})


def _matched(own: Expr, other: Expr, pairs: _Pairs) -> Iterator[_Pairs]:
    if own.dtype != other.dtype:
        return
    match own, other:
        case (Load(array=name), Load()) | (Var(name=name), Expr()):
            if pairs.get(name, other) == other:
                yield {**pairs, name: other}
        case Binary(op, left, right), Binary(same, one, two) if op == same:
            for a, b in ((one, two), (two, one))[: 2 if op in _TURNS else 1]:
                for found in _matched(left, a, pairs):
                    yield from _matched(right, b, found)
        case (Unary() | Cast() | Select() | Call(), _) if _head(own) == _head(other):
            yield from _all_matched(list(children(own)), list(children(other)), pairs)
        case Const(), _ if own == other:
            yield pairs


def _all_matched(own: list[Expr], others: list[Expr], pairs: _Pairs) -> Iterator[_Pairs]:
    if not own:
        yield pairs
    else:
        for found in _matched(own[0], others[0], pairs):
            yield from _all_matched(own[1:], others[1:], found)


def _head(expr: Expr) -> tuple[object, ...]:
    """What an expression does to its operands."""
    match expr:
        case Unary(op) | Binary(op):
            return op, expr.dtype
        case Call(fn, args, pure=pure):
            return fn, len(args), pure, expr.dtype
    return type(expr), expr.dtype


def _placed(
    own: OwnInstruction, pairs: _Pairs, tile: Sequence[str], moves: Moves, shapes: Shapes
) -> Pairing | Misfit:
    places, scalars = {}, {}
    for name, part in pairs.items():
        if name not in own.indices:
            if along := [each for each in tile if each in variables(part)]:
                return Misfit(f"{show(part)} changes along '{along[0]}', and {name} is one value")
            if not is_pure(part):
                return Misfit(f"{show(part)} may do anything, and {name} is one value")
            scalars[name] = part
            continue
        assert isinstance(part, Load)
        found = _place(own, name, part, tile, moves, shapes)
        if isinstance(found, Misfit):
            return found
        places[name] = found
    reads = (node for name, part in pairs.items() if name != own.store.array for node in walk(part))
    return Pairing(places, scalars, tuple(node for node in reads if isinstance(node, Load)))


def _place(
    own: OwnInstruction, name: str, part: Load, tile: Sequence[str], moves: Moves, shapes: Shapes
) -> Place | Misfit:
    element, theirs = show(part), show(Load(name, own.indices[name], part.dtype))
    moved, rows = moves(part.index), own.moves(name)
    if moved is None:
        return Misfit(f"{element} is not affine in {', '.join(tile)}", "its subscripts are sums of loops")
    for k, (loop, of) in enumerate(zip(tile, own.loops, strict=True)):
        if any(row[k] for row in moved) and not any(row[k] for row in rows):
            hint = "name the loops in the order of the instruction's, or split the statement"
            return Misfit(f"{element} moves along '{loop}', and {theirs} stands still along {of}", hint)
    found = _strides(rows, moved, shapes[part.array])
    if found is None:
        return Misfit(f"{element} does not move as {theirs}: {_said(tile, moved)}, and {_said(own.loops, rows)}")
    if name == own.store.array and not _are_apart(own, rows, moved):
        return Misfit(f"{element} is one element in several iterations of the tile, where {theirs} is several")
    for k, (has, needed) in enumerate(zip(found, own.needs(name), strict=True)):
        if needed is not None and any(rows[k]) and has != Const(needed):
            text = f"{element} has the stride {show(has)} along dimension {k} of {theirs}, not {needed}"
            hint = f"{name} has the strides {show_strides(own.needs(name))}; transform_layout turns an array"
            return Misfit(text, hint)
    return Place(part.array, part.index, found)


def _strides(operand: Rows, array: Rows, shape: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """How many elements lie between neighbors in each dimension of the operand; None if that is not one number."""
    units, rows = [Const(1)], [[0] * len(operand[0] if operand else array[0] if array else ())]
    for d, row in enumerate(array):
        unit = simplify(mul(1, *shape[d + 1 :]))
        if isinstance(unit, Const):
            rows[0] = [own + by * int(unit.value) for own, by in zip(rows[0], row, strict=True)]
        else:
            units.append(unit)
            rows.append(list(row))
    steps = layout(operand, tuple(map(tuple, rows)))
    if steps is None:
        return None
    columns = range(len(operand))
    return tuple(simplify(_sum(mul(u, row[k]) for u, row in zip(units, steps, strict=True) if row[k])) for k in columns)


def _are_apart(own: OwnInstruction, operand: Rows, array: Rows) -> bool:
    """Are different elements of the operand different elements of the array?"""
    theirs, ours = (_relation(own, rows) for rows in (operand, array))
    return bool(theirs.reverse().apply_range(ours).is_injective())


def _relation(own: OwnInstruction, rows: Rows) -> isl.Map:
    """{ iteration of the tile -> subscripts }"""
    sums = (" + ".join(f"{by} {name}" for by, name in zip(row, own.loops, strict=True)) for row in rows)
    box = " and ".join(f"0 <= {name} < {extent}" for name, extent in own.loops.items())
    return isl.Map(f"{{ [{', '.join(own.loops)}] -> [{', '.join(sums)}] : {box} }}")


def _said(loops: Sequence[str] | Mapping[str, int], rows: Rows) -> str:
    steps = (f"({', '.join(str(row[k]) for row in rows)}) along {loop}" for k, loop in enumerate(loops))
    return ", ".join(steps)


def _difference(own: OwnInstruction, store: Store) -> Misfit:
    """The first one between what both compute."""
    rest: list[tuple[Expr, Expr]] = [(own.store.value, store.value)]
    while rest:
        theirs, ours = rest.pop(0)
        if isinstance(theirs, Load) and isinstance(ours, Load) and theirs.dtype != ours.dtype:
            hint = f"an instruction for {ours.dtype} fits"
            return Misfit(f"{show(ours)} is {ours.dtype}, and {show(theirs)} is {theirs.dtype}", hint)
        if isinstance(theirs, Load | Var | Const) or _head(theirs) != _head(ours):
            if isinstance(theirs, Load) and isinstance(ours, Load):
                continue
            if _head(theirs)[:-1] == _head(ours)[:-1]:
                hint = f"an instruction for {ours.dtype} fits"
                return Misfit(f"it computes in {ours.dtype}, and {own.name} in {theirs.dtype}", hint)
            return Misfit(f"{_operation(ours)} stands where {_operation(theirs)} does: another operation")
        rest += zip(children(theirs), children(ours), strict=True)
    return Misfit("its operands are others than the instruction's")


def _operation(expr: Expr) -> str:
    match expr:
        case Binary(op):
            return f"'{op}' of {expr.dtype}"
        case Call(fn):
            return f"{fn} of {expr.dtype}"
    return f"{show(expr)} of {expr.dtype}"


def _sum(terms: Iterator[Expr]) -> Expr:
    found = list(terms)
    return add(*found) if found else Const(0)
