"""What of a kernel's nest goes where: which serial loops run around the sums, which around chunks of constant size, and
what a chunk reads from copies in shared memory.

    C[i, j] += A[i, k] * B[k, j]      between: chunks of 16 k     chunk: k     copies: A 64 x 16, turned; B 16 x 128
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from polysched.codegen.gpu.copies import Staged
from polysched.codegen.gpu.footprint import Box, footprint, in_locals, union
from polysched.codegen.gpu.kept import is_box_kept
from polysched.codegen.gpu.thread_nest import ThreadNest
from polysched.codegen.lowered import bytes_of
from polysched.codegen.memory.tile_nest import Side, moved, side_of
from polysched.config.heuristics.code import TILE_LOOP
from polysched.config.heuristics.gpu import CHUNK_BYTES, READ_OFTEN, WORTH_A_COPY
from polysched.config.target import LIMITS
from polysched.ir.effects import is_total, is_total_operation
from polysched.ir.integers.linear import Linear, forms
from polysched.ir.node import children, rewrite, variables, walk, without_subscripts
from polysched.ir.nodes import Alloc, Array, Binary, Cast, Const, Expr, For, Function, Load, Unary, Var
from polysched.ir.rename import fresh_names, used_names


@dataclass(frozen=True)
class Plan:
    """Where the loops of a nest go, and the copies, by the operands that are read from them."""

    nest: ThreadNest
    outer: tuple[For, ...]  # serial loops around the sums
    between: tuple[For, ...]  # serial loops around the chunks
    chunk: tuple[Side, ...]
    staged: dict[Expr, Staged]

    @property
    def sides(self) -> tuple[Side, ...]:
        """All that a chunk of a block runs over, outer loops first."""
        return (*self.nest.threads, *self.chunk, *self.nest.points)

    @property
    def copies(self) -> list[Staged]:
        """One operand of each copy."""
        return list({staged.copy.name: staged for staged in self.staged.values()}.values())

    @property
    def shared_bytes(self) -> int:
        """Of all copies."""
        return sum(bytes_of(staged.copy) for staged in self.copies)

    @property
    def runs_anywhere(self) -> bool:
        """May an update be computed where the nest has none, from anything in copies and registers?"""
        return self.is_total_with(())

    def is_total_with(self, shared: Collection[str]) -> bool:
        """May an update be computed from anything in copies, registers and these arrays?"""
        store = self.nest.store
        known = {*self.staged, Load(store.array, store.index, store.value.dtype)}

        def rule(node: Any) -> Any:
            is_known = node in known or (isinstance(node, Load) and node.array in shared)
            return Var("_", node.dtype) if is_known else None

        return is_total(rewrite(store.value, rule))


@dataclass(frozen=True)
class Surroundings:
    """What is known around the kernels of a function."""

    extents: Mapping[str, tuple[Expr, ...]]  # of the arrays that can be copied
    constants: Collection[str]  # names that have one value in a launch, whatever the launch
    taken: set[str]  # names in use
    buffers: int = 1  # of each copy, used in turn; where there are several, elements are copied as they are
    shared: Collection[str] = ()  # arrays that the threads of a block share already
    room: int = LIMITS.shared  # bytes for copies
    host: Mapping[str, For] = field(default_factory=dict)  # loops around the kernels


def surroundings(fn: Function, buffers: int = 1) -> Surroundings:
    temporaries = (stmt.array for stmt in fn.body if isinstance(stmt, Alloc))
    extents = {array.name: array.shape for array in (*fn.arrays, *temporaries) if array.shape}
    constants = {*fn.sizes, *(scalar.name for scalar in fn.scalars)}
    return Surroundings(extents, constants, used_names(fn), buffers)


class NoCopies(Exception):
    """Why nothing is copied for a nest."""


def plan_of(nest: ThreadNest | None, around: Surroundings) -> Plan:
    """How to run the nest; NoCopies if there is none, if its serial loops differ between threads or have no chunks, if
    points add to the same element, or if nothing is copied."""
    if nest is None:
        raise NoCopies("its kernel is more than one nest of full loops around one store")
    store = nest.store
    if not nest.is_uniform:
        raise NoCopies("the loops of its threads differ from one to the other")
    if not nest.has_one_element:
        raise NoCopies(f"a point uses several elements of {store.array}, which it adds to")
    if not nest.serial:
        return _turned(Plan(nest, (), (), (), {}), around)
    outer = around_sums(nest, nest.serial)
    if outer is None:
        raise NoCopies("what runs before or after the sum is inside of its loops")
    return _in_chunks(nest, outer, around)


def _in_chunks(nest: ThreadNest, outer: int, around: Surroundings) -> Plan:
    """With as many loops in a chunk as have copies that leave room for other blocks, or the fewest that have any."""
    found, reasons = None, list[NoCopies]()
    for split in range(outer, len(nest.serial)):
        inner = nest.serial[split:]
        chunk = tuple(filter(None, (side_of(loop, [each.var for each in inner]) for loop in inner)))
        if len(chunk) < len(inner) or (found and found.shared_bytes <= CHUNK_BYTES):
            continue
        taken = {*around.taken}
        plan = Plan(nest, nest.serial[:outer], nest.serial[outer:split], chunk, {})
        try:
            found, names = _with_copies(plan, replace(around, taken=taken)), taken
        except NoCopies as why:
            reasons.append(why)
    if found is None:
        raise reasons[0] if reasons else NoCopies(f"it has no chunks of constant length, of at most {TILE_LOOP}")
    around.taken.update(names)
    return found


def around_sums(nest: ThreadNest, loops: Sequence[For]) -> int | None:
    """How many of the serial loops are around all of a sum; None if what runs before or after it is inside of others
    that its element moves with."""
    moves = [k for k, loop in enumerate(loops) if loop.var in variables(nest.store.index)]
    outer = moves[-1] + 1 if moves else 0
    if not (nest.before or nest.after):
        return outer
    return nest.shared if outer <= nest.shared else None


def _with_copies(plan: Plan, around: Surroundings) -> Plan:
    store = plan.nest.store
    points = prod(side.trips for side in plan.nest.points)
    if not have_own_elements(plan.nest, plan.chunk):
        raise NoCopies(f"points of a thread may add to one element of {store.array}")
    found: dict[Expr, tuple[Load, Box]] = {}
    changed = {each.array for each in (*plan.nest.before, *plan.nest.after)}
    for value, load in _operands(store.value, plan.nest, around):
        box = footprint(load.index, plan.sides) if load.array in around.extents.keys() - changed else None
        if box is None or not _is_kept(load, box, plan.nest, around):
            continue
        is_read_often = prod(side.trips for side in plan.sides) >= READ_OFTEN * box.volume
        if points > 1 or is_read_often or not _is_coalesced(load, plan):
            found[value] = (load, box)
    if not found:
        raise NoCopies("a block reads nothing often enough, or not in boxes of constant size")
    buffers = around.buffers if plan.between and all(load.dtype.bits >= 32 for load, _ in found.values()) else 1
    for count in dict.fromkeys((buffers, 1)):
        done = replace(plan, staged=_copies(found, plan, around, count))
        if points > 1 and not done.is_total_with(around.shared):
            raise NoCopies("points beyond the ends of the nest would read what is in no copy, or trap")
        if (size := done.shared_bytes) <= around.room:
            return done
    raise NoCopies(f"copies would take {size} bytes, and a block has {around.room} of shared memory")


def have_own_elements(nest: ThreadNest, chunk: Sequence[Side] = ()) -> bool:
    """Do subscripts, linear where a chunk runs, tell the points of a thread apart, as 64 * r + s does where s is less
    than 64?"""
    points, index = nest.points, nest.store.index
    if any(footprint((part,), (*nest.threads, *chunk, *points)) is None for part in index):
        return False
    counters = {side.loop.var: side.var for side in points}
    told: set[str] = set()
    for part in index:
        form, reach = in_locals(forms(part, upper=True)[0], points, counters), 0
        moving = sorted((abs(form.get(side.var, 0)), side.trips, side.loop.var) for side in points)
        for factor, trips, name in moving:
            if factor > reach:
                told.add(name)
            elif factor:
                return False
            reach += factor * (trips - 1)
    return all(side.loop.var in told or side.trips == 1 for side in points)


def _turned(plan: Plan, around: Surroundings) -> Plan:
    """Copies of what a nest without sums reads across rows, so that whole sectors are read; NoCopies if it has none."""
    store = plan.nest.store
    points = prod(side.trips for side in plan.sides)
    found: dict[Expr, tuple[Load, Box]] = {}
    for value, load in _operands(store.value, plan.nest, replace(around, buffers=1)):
        box = footprint(load.index, plan.sides) if load.array in around.extents else None
        if box is not None and not _is_kept(load, box, plan.nest, around):
            continue
        is_dense = box is not None and box.extents[-1] >= WORTH_A_COPY and box.volume <= 2 * points
        if box is not None and is_dense and not _is_coalesced(load, plan):
            found[value] = (load, box)
    done = replace(plan, staged=_copies(found, plan, around, 1))
    if not done.staged or done.shared_bytes > around.room:
        raise NoCopies("it has no sums, and reads whole sectors")
    return done


def _is_kept(load: Load, box: Box, nest: ThreadNest, around: Surroundings) -> bool:
    """Does the kernel store to nothing of the box?"""
    return load.array != nest.store.array or is_box_kept(box, nest, around.host)


def _operands(expr: Expr, nest: ThreadNest, around: Surroundings) -> Iterator[tuple[Expr, Load]]:
    """The largest parts of the value that load one element and are computed from it and launch-time constants."""
    loads = [node for node in walk(expr) if isinstance(node, Load) and _is_operand(node, nest)]
    if len(loads) == 1 and (expr is loads[0] or (around.buffers == 1 and _is_fixed(expr, nest, around))):
        yield expr, loads[0]
    elif loads:
        for child in children(expr):
            yield from _operands(child, nest, around)


def _is_operand(load: Load, nest: ThreadNest) -> bool:
    """Is it no element that the nest makes?"""
    return load.array != nest.store.array or load in nest.kept


def _is_fixed(expr: Expr, nest: ThreadNest, around: Surroundings) -> bool:
    match expr:
        case Load():
            return _is_operand(expr, nest)
        case Const():
            return True
        case Var(name):
            return name in around.constants
        case Binary() | Unary() | Cast():
            return is_total_operation(expr) and all(_is_fixed(child, nest, around) for child in children(expr))
    return False


def _copies(found: dict[Expr, tuple[Load, Box]], plan: Plan, around: Surroundings, buffers: int) -> dict[Expr, Staged]:
    """A copy for each group of operands that differ by a constant distance in one array alone."""
    groups: list[tuple[list[Expr], Box]] = []
    for value, (load, box) in found.items():
        for k, (members, hull) in enumerate(groups):
            first = found[members[0]][0]
            are_alike = first.array == load.array and without_subscripts(members[0]) == without_subscripts(value)
            joined = union(hull, box) if are_alike else None
            if joined is not None:
                groups[k] = ([*members, value], joined)
                break
        else:
            groups.append(([value], box))
    staged: dict[Expr, Staged] = {}
    for members, box in groups:
        load = found[members[0]][0]
        order, padding = _layout(load, box, plan)
        shape = [box.extents[k] + padding.get(k, 0) for k in order if box.extents[k] > 1] or [1]
        name = next(fresh_names(f"{load.array}_", around.taken))
        slots = [buffers] if buffers > 1 else []
        copy = Array(name, members[0].dtype, tuple(map(Const, (*slots, *shape))), "shared")
        staged |= {value: Staged(copy, value, found[value][0], box, order, buffers) for value in members}
    return staged


def _is_coalesced(load: Load, plan: Plan) -> bool:
    """Do neighboring threads read the same element, or elements next to each other, in either direction?"""
    x = plan.nest.threads[-1]
    strides = [_along(forms(part, upper=True)[0], x, plan) for part in load.index]
    return not any(strides[:-1]) and strides[-1] in (-1, 0, 1)


def _along(form: Linear, side: Side, plan: Plan) -> int:
    """By how much the form grows from one thread along the side to the next."""
    for inner in reversed(plan.nest.points):
        if form.get(inner.var, 0):
            form = moved(form, inner, {})
    return form.get(side.var, 0)


def _layout(load: Load, box: Box, plan: Plan) -> tuple[tuple[int, ...], dict[int, int]]:
    """The dimension along which a thread has several points goes last, so that they are loaded together; else the one
    that threads step along goes before the last. How many elements lie between rows, so that the threads of a warp meet
    different banks."""
    dims = list(range(len(box.extents)))
    moving = [k for k in dims if box.extents[k] > 1]
    place = [forms(part, upper=True)[0] for part in load.index]
    per_point = [k for k in dims if any(place[k].get(side.var, 0) for side in plan.nest.points)]
    if len(per_point) == 1:
        (last,) = per_point
        order = (*(k for k in dims if k != last), last)
        is_turned = bool(moving) and moving[-1] != last
        return order, {last: max(4, LIMITS.load // (load.dtype.bits // 8))} if is_turned else {}
    across = [k for k in moving[:-1] if _along(place[k], plan.nest.threads[-1], plan)]
    if not across:
        return tuple(dims), {}
    row, last = across[-1], moving[-1]
    order = (*(k for k in dims if k < last and k != row), row, *range(last, len(dims)))
    apart = {last: _up_to_odd(box.extents[last], load.dtype.bits)}
    return order, apart | ({row: 1 - box.extents[row] % 2} if len(moving) > 2 else {})


def _up_to_odd(elements: int, bits: int) -> int:
    """How many elements more are an odd number of words of the banks; of double words, which half a warp reads."""
    per_word = max(1, LIMITS.banks // LIMITS.warp * 8 // bits)
    return (per_word - elements) % (2 * per_word)
