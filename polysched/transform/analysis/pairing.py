"""Which operand of an instruction is which of a statement: the access relations and the expressions tell.

    y[i] = y[i] + A[i, k] * x[k]        y: C[j], A: B[k, j], x: D[k]         A goes on by one in dimension 1 of B
    C[j] = C[j] + D[k] * B[k, j]                                             where i does, its second stride
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from polysched.instructions.layouts import Rows, layout
from polysched.instructions.own import OwnInstruction, show_strides
from polysched.ir.build import add, mul
from polysched.ir.effects import is_pure
from polysched.ir.integers.linear import constant_of, forms
from polysched.ir.node import children, variables
from polysched.ir.nodes import Binary, Call, Cast, Const, Expr, Load, Select, Store, Unary, Var
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.support import isl

Moves = Callable[[tuple[Expr, ...]], Rows | None]  # of subscripts: rows are dimensions, columns the loops of a tile
Shapes = Mapping[str, tuple[Expr, ...]]
_Pairs = dict[str, Expr]
_TURNS = {"+", "*", "&", "|", "^", "==", "!=", "&&", "||"}  # whose operands may change places, bit for bit


@dataclass(frozen=True)
class Place:
    """Where an operand lies: its first element, and how far each of its dimensions goes on in those of the array."""

    array: str
    index: tuple[Expr, ...]
    steps: Rows  # rows are dimensions of the array, columns of the operand
    rank: int  # of the operand

    def strides(self, shape: tuple[Expr, ...]) -> list[Expr]:
        """How many elements lie between neighbors along each dimension of the operand."""
        far = [mul(*shape[d + 1 :]) if shape[d + 1 :] else Const(1) for d in range(len(shape))]
        return [_sum(mul(far[d], row[k]) for d, row in enumerate(self.steps) if row[k]) for k in range(self.rank)]


@dataclass(frozen=True)
class Pairing:
    """What an instruction is given."""

    places: Mapping[str, Place]
    scalars: Mapping[str, Expr]


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
    return Pairing(places, scalars)


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
    steps = layout(rows, moved)
    if steps is None:
        return Misfit(f"{element} does not move as {theirs}: {_said(tile, moved)}, and {_said(own.loops, rows)}")
    place = Place(part.array, part.index, steps, len(rows))
    for k, (has, needed) in enumerate(zip(place.strides(shapes[part.array]), own.needs(name), strict=True)):
        if needed is not None and any(rows[k]) and constant_of(forms(simplify(has), upper=True)[0]) != needed:
            text = f"{element} has the stride {show(simplify(has))} along dimension {k} of {theirs}, not {needed}"
            hint = f"{name} has the strides {show_strides(own.needs(name))}; transform_layout turns an array"
            return Misfit(text, hint)
    if name == own.store.array and not _keeps_apart(own, name, steps):
        return Misfit(f"{element} is one element in several iterations of the tile, where {theirs} is several")
    return place


def _keeps_apart(own: OwnInstruction, name: str, steps: Rows) -> bool:
    """Are different elements of the operand different elements of the array?"""
    ends = [sum(by * (n - 1) for by, n in zip(row, own.loops.values(), strict=True)) for row in own.moves(name)]
    names = [f"a{k}" for k in range(len(ends))]
    at = (" + ".join([f"{by} {each}" for by, each in zip(row, names, strict=True) if by] or ["0"]) for row in steps)
    box = " and ".join(f"0 <= {each} <= {end}" for each, end in zip(names, ends, strict=True)) or "true"
    return bool(isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(at)}] : {box} }}").is_injective())


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
