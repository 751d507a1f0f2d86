"""Copies to shared memory, by all threads of a block together.

    lane x = thread % 16, row y = thread / 16:                      16 lanes along the last dimension: whole sectors
    for r in 0..8:
        A_[x, y + 8 * r] = A[i0 + y + 8 * r, k0 + x]  if that is inside of A, else 0

What lies outside of the array is zero in the copy, so that threads of partial tiles may compute with it; they do not
store what they get.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from polysched.codegen.gpu.footprint import Box, in_locals
from polysched.codegen.lowered import from_start
from polysched.codegen.memory.tile_nest import Side
from polysched.config.target import LIMITS
from polysched.ir.build import binary, conjunction, zero
from polysched.ir.integers.apart import least_value
from polysched.ir.integers.linear import Linear, added, expression, forms
from polysched.ir.node import rewrite
from polysched.ir.nodes import Array, Binary, Const, Expr, For, If, Let, Load, Select, Stmt, Store, StoreLater, Var


@dataclass(frozen=True)
class Swizzle:
    """Lines of `line` elements trade places within a row of a copy: number x of row y is where number
    x ^ (y >> `shift` & `mask`) << `left` would be, so that what is read of several rows at once is in different banks.
    """

    line: int
    shift: int
    mask: int
    left: int = 0

    def placed(self, row: Expr, column: Expr) -> Expr:
        """Where the element is in the row."""
        turn = binary("&", binary(">>", row, self.shift) if self.shift else row, self.mask)
        turn = binary("*", turn, 1 << self.left) if self.left else turn
        number, rest = binary("floordiv", column, self.line), binary("floormod", column, self.line)
        return binary("+", binary("*", binary("^", number, turn), self.line), rest)


@dataclass(frozen=True)
class Staged:
    """An operand that a block copies: `value` of the one element that it loads, over a box of the array."""

    copy: Array
    value: Expr
    load: Load
    box: Box
    order: tuple[int, ...]  # the array's dimensions in the order of the copy's
    buffers: int = 1  # of which a chunk uses one; if there are more, the copy has them as a first dimension
    swizzle: Swizzle | None = None  # of its rows

    @property
    def is_turned(self) -> bool:
        """Is the copy's last dimension another one than the array's?"""
        moving = [k for k, size in enumerate(self.box.extents) if size > 1]
        return bool(moving) and moving[-1] != self.order[-1]


@dataclass
class Lanes:
    """The threads of a block, numbered anew for each width of rows."""

    thread: Expr
    count: int
    names: Iterator[str]
    lets: list[Stmt]
    _known: dict[int, tuple[Expr, Expr]] = field(default_factory=dict, init=False)

    def across(self, width: int) -> tuple[Expr, Expr]:
        """(lane, row) of this thread with `width` lanes a row."""
        if width not in self._known:
            lane, row = next(self.names), next(self.names)
            self.lets += [
                Let(lane, binary("floormod", self.thread, width)),
                Let(row, binary("floordiv", self.thread, width)),
            ]
            self._known[width] = Var(lane), Var(row)
        return self._known[width]


def copied(
    staged: Staged,
    extents: Sequence[Expr],
    lanes: Lanes,
    loops: dict[str, For],
    facts: Sequence[Linear],
    slot: Expr | None = None,
    line: int = 1,
) -> tuple[Stmt, ...]:
    """Loops that fill the copy from an array of these extents, inside of `loops`, where `facts` are never negative.

    Given the number of a buffer, `slot`, what they store may arrive later, up to the next barrier for arrivals; then by
    `line` elements at a time, if lines of so many are in the array, or out of it, as a whole.
    """
    sizes = staged.box.extents
    outer, inner = _dense(staged.box, extents)
    rows, columns = prod(sizes[k] for k in outer), prod(sizes[k] for k in inner) // line
    least = LIMITS.sector if staged.is_turned else LIMITS.banks * line
    width = _lanes(rows, columns, lanes.count, min(columns, least * 8 // max(8, line * staged.load.dtype.bits)))
    lane, row = lanes.across(width)
    counters = next(lanes.names), next(lanes.names)
    row, row_loop, row_fits = _strided(row, lanes.count // width, rows, counters[0])
    if lanes.count % width:  # threads left over: they have the first row after the last
        row_fits = [binary("<", lanes.thread, lanes.count // width * width), *row_fits]
    column, column_loop, column_fits = _strided(lane, width, columns, counters[1])
    if line > 1:
        column = binary("*", column, line)
    place = _unfolded(row, outer, sizes) | _unfolded(column, inner, sizes)
    body = _element(staged, place, extents, loops, facts, slot)
    if line > 1:
        assert isinstance(body, StoreLater)
        body = replace(body, count=line)
    if fits := [*row_fits, *column_fits]:
        body = If(conjunction(fits), (body,))
    for loop in (column_loop, row_loop):
        if loop is not None:
            body = For(loop.var, loop.lo, loop.hi, 1, (body,), "unrolled")
    return (body,)


def _dense(box: Box, extents: Sequence[Expr]) -> tuple[list[int], list[int]]:
    """The dimensions of the box with several elements: outer ones, and the last with those before it of which it holds
    whole rows, so that all of these elements are next to each other."""
    moving = [k for k, size in enumerate(box.extents) if size > 1] or [len(box.extents) - 1]
    first = moving[-1]
    whole = [extents[k] == Const(size) and not any(box.origin[k].values()) for k, size in enumerate(box.extents)]
    while first > 0 and all(whole[first:]):
        first -= 1
    inner = [k for k in moving if k >= first]
    return [k for k in moving if k not in inner], inner


def _unfolded(position: Expr, dimensions: list[int], sizes: Sequence[int]) -> dict[int, Expr]:
    """The subscript along each dimension of the element at this position in C order."""
    place: dict[int, Expr] = {}
    for k in reversed(dimensions):
        place[k] = position if k == dimensions[0] else binary("floormod", position, sizes[k])
        position = binary("floordiv", position, sizes[k])
    return place


def _lanes(rows: int, columns: int, threads: int, least: int) -> int:
    """The power of two of lanes a row with which the copy takes the fewest steps; of those, the one that takes the
    fewest rows, whose addresses have to be computed. Fewer than `least` would load parts of sectors, or store to the
    same banks."""
    widths = [1 << k for k in range(threads.bit_length()) if 1 << k <= threads and (1 << k) < 2 * columns]
    wide = [width for width in widths if width >= least] or widths[-1:]

    def steps(width: int) -> tuple[int, int]:
        height = -(-rows // (threads // width))
        return -(-columns // width) * height, height

    return min(wide, key=lambda width: (*steps(width), -width))


def _strided(first: Expr, step: int, end: int, counter: str) -> tuple[Expr, For | None, list[Expr]]:
    """From `first`, below `step`, in steps of `step` to `end`: the position, its loop, when it has to be tested."""
    trips = -(-end // step)
    position = first if trips == 1 else Binary("+", first, binary("*", Var(counter), step))
    loop = None if trips == 1 else For(counter, Const(0), Const(trips), 1, ())
    return position, loop, [] if trips * step == end else [binary("<", position, end)]


def place_of(staged: Staged, k: int, sides: Sequence[Side], counters: Mapping[str, Expr]) -> Linear:
    """Where the operand's element is in its box along the dimension k."""
    return added(in_locals(forms(staged.load.index[k], upper=True)[0], sides, counters), staged.box.origin[k], -1)


def element_of(staged: Staged, sides: Sequence[Side], counters: Mapping[str, Expr], slot: Expr) -> Load:
    """The operand's element of the copy, in buffer `slot`, where `sides` are counted by `counters`."""
    place = [expression(place_of(staged, k, sides, counters)) for k in staged.order if staged.box.extents[k] > 1]
    return Load(staged.copy.name, _in_buffer(staged, place, slot), staged.copy.dtype)


def _in_buffer(staged: Staged, place: Sequence[Expr], slot: Expr) -> tuple[Expr, ...]:
    index = tuple(place) or (Const(0),)
    if staged.swizzle:
        index = (*index[:-1], staged.swizzle.placed(index[-2], index[-1]))
    return (slot, *index) if staged.buffers > 1 else index


def _element(
    staged: Staged,
    place: dict[int, Expr],
    extents: Sequence[Expr],
    loops: dict[str, For],
    facts: Sequence[Linear],
    slot: Expr | None,
) -> Stmt:
    starts = map(expression, staged.box.origin)
    index = [from_start(start, place[k]) if k in place else start for k, start in enumerate(starts)]
    conditions = [
        binary(">=", index[k], 0) if extent is None else binary("<", index[k], extent)
        for k, extent, form in _edges(staged.box, extents)
        if form is None or not _is_known(form, loops, facts)
    ]
    load = Load(staged.load.array, tuple(index), staged.load.dtype)
    value = rewrite(staged.value, lambda node: load if node == staged.load else None)
    if conditions:
        value = Select(conjunction(conditions), value, zero(value.dtype))
    target = _in_buffer(staged, [place[k] for k in staged.order if k in place], slot or Const(0))
    return (StoreLater if slot else Store)(staged.copy.name, target, value)


def fits_when(
    staged: Staged, extents: Sequence[Expr], loops: dict[str, For], facts: Sequence[Linear]
) -> Iterator[Linear]:
    """Forms that are zero or more where all of the box is inside of the array, without those known to be so."""
    for _, _, form in _edges(staged.box, extents):
        if form is not None and not _is_known(form, loops, facts):
            yield {atom: factor for atom, factor in form.items() if factor}


def _edges(box: Box, extents: Sequence[Expr]) -> Iterator[tuple[int, Expr | None, Linear | None]]:
    """The edges of an array that a box might reach over: the dimension, the extent at an upper edge, and a form that is
    never negative where the box does not, None if there is no such form."""
    for k, (origin, size, extent) in enumerate(zip(box.origin, box.extents, extents, strict=True)):
        yield k, None, origin
        ends = forms(extent, upper=False)
        yield k, extent, added(ends[0], added(origin, {None: size}, 1), -1) if len(ends) == 1 else None


def _is_known(form: Linear, loops: dict[str, For], facts: Sequence[Linear]) -> bool:
    """Is the form never negative here?"""
    leasts = (least_value(rest, loops, facts) for rest in (form, *(added(form, fact, -1) for fact in facts)))
    return any(least is not None and least >= 0 for least in leasts)
