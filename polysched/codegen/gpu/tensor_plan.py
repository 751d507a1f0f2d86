"""Which kernels are products that tensor instructions make, and what goes where in them: a plan for `tensor.py`.

    for i (thread.z), j (thread.y): 64 x 64             rows i, columns j, terms k in chunks of 32
        for k0 in chunks of 32:                   ->    A: 128 x 32, lines swizzled by (row >> 1 & 3), 3 of them
            for k in 32 terms, i, j in 64 x 64          B: 32 x 128, lines swizzled by (row & 7), 3 of them
                C[i, j] += A[i, k] * B[k, j]

Needs: loops of the kind "tensor", as the mark `Tensor` gives; names are bound once; subscripts are not linearized yet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Any

from polysched.codegen.gpu.copies import Staged, Swizzle
from polysched.codegen.gpu.footprint import footprint, in_locals
from polysched.codegen.gpu.staging_plan import Plan, Surroundings, around_sums, have_own_elements, surroundings
from polysched.codegen.gpu.thread_nest import ThreadNest, thread_nest
from polysched.codegen.lowered import bytes_of, is_mapped, outermost
from polysched.codegen.memory.tile_nest import Side, side_of
from polysched.config.target import LIMITS
from polysched.ir.integers.linear import Linear, added, constant_of, forms
from polysched.ir.node import statements, substitute
from polysched.ir.nodes import Array, Const, Expr, For, Function, Let, Stmt, Var
from polysched.ir.rename import fresh_names
from polysched.model.instructions.instruction import LANES, LINE, Factor, Instruction, Subscripts
from polysched.model.instructions.mma import INSTRUCTIONS
from polysched.transform.analysis.unify import element, factors


@dataclass(frozen=True)
class Operand:
    """A factor: which loop goes along rows or columns of the sum, how it is copied, and how it is loaded from there."""

    factor: Factor
    value: Expr  # of which the copy has the element
    side: Side
    staged: Staged
    has_terms_in_rows: bool
    rows: Subscripts | None  # by which `ldmatrix` loads it; None: element by element


@dataclass(frozen=True)
class Products(Plan):
    """A plan for an instruction."""

    instruction: Instruction
    stages: int
    left: Operand
    right: Operand

    @property
    def terms(self) -> Side:
        return self.chunk[0]


def _plan(nest: ThreadNest, instruction: Instruction, stages: int, around: Surroundings) -> Products | None:
    """How to run the nest; None if it is no product that the instruction makes, or not of whole tiles of it."""
    *outer, last = nest.serial
    terms = side_of(last, [last.var], LIMITS.block)
    found = factors((nest.store,), instruction)
    first = around_sums(nest, outer)
    if terms is None or found is None or first is None:
        return None
    if len(nest.points) != 2 or not (nest.has_one_element and nest.is_uniform and have_own_elements(nest, (terms,))):
        return None
    if prod(side.trips for side in nest.threads) > LIMITS.block:
        return None
    rows, columns = nest.points
    wide = instruction.columns * instruction.right.together
    if rows.trips % instruction.rows or columns.trips % wide or terms.trips % (2 * instruction.terms):
        return None
    bare = Plan(nest, tuple(outer[:first]), tuple(outer[first:]), (terms,), {})
    for one, other in (found, found[::-1]):
        left = _operand(one, instruction, rows, bare, stages, around)
        right = _operand(other, instruction, columns, bare, stages, around)
        if left and right and bytes_of(left.staged.copy) + bytes_of(right.staged.copy) <= LIMITS.dynamic:
            staged: dict[Expr, Staged] = {each.staged.load: each.staged for each in (left, right)}
            return Products(nest, bare.outer, bare.between, bare.chunk, staged, instruction, stages, left, right)
    return None


def _operand(value: Expr, of: Instruction, side: Side, plan: Plan, stages: int, around: Surroundings) -> Operand | None:
    """The factor, if it has one element for each point of the side and each term, in rows of whole lines."""
    load, terms = element(value, of), plan.chunk[0]
    assert load is not None
    line = LINE * 8 // load.dtype.bits
    changed = {each.array for each in (*plan.nest.before, *plan.nest.after)}
    box = footprint(load.index, plan.sides) if load.array in around.extents.keys() - changed else None
    if box is None or len(moving := [k for k, size in enumerate(box.extents) if size > 1]) != 2:
        return None
    steps = [[forms(load.index[k], upper=True)[0].get(s.var, 0) for s in (side, terms)] for k in moving]
    if steps not in ([[1, 0], [0, 1]], [[0, 1], [1, 0]]) or moving[-1] != len(box.extents) - 1:
        return None
    if any(number % line for number in (*box.origin[-1].values(), box.extents[-1])):
        return None
    along = moving[steps[1][1] == 1]
    if not _is_all(terms, box.origin[along], around.extents[load.array][along]):
        return None
    has_terms_in_rows = steps[1] == [0, 1]
    tile = of.rows if side is plan.nest.points[0] else of.columns * of.right.together
    tiles = ((side, tile), (terms, of.terms))
    if not all(_starts_with_tiles(load.index[k], plan, own, size) for k in moving for own, size in tiles):
        return None
    extents = tuple(box.extents[k] for k in moving)
    name = next(fresh_names(f"{load.array}_", around.taken))
    copy = Array(name, load.dtype, tuple(map(Const, (stages, *extents))), "shared")
    order = tuple(range(len(box.extents)))
    factor = of.left if side is plan.nest.points[0] else of.right
    is_scaled = value != load and of.factor == of.sum
    rows = None if is_scaled else factor.rows_of(has_terms_in_rows=has_terms_in_rows)
    if rows is None and of.word != of.factor:
        return None
    staged = Staged(copy, load, load, box, order, stages, _swizzle(rows is not None, extents[1], line))
    return Operand(factor, value, side, staged, has_terms_in_rows, rows)


def _starts_with_tiles(subscript: Expr, plan: Plan, side: Side, tile: int) -> bool:
    """Does whatever else moves the subscript, if it is the side's, do so by whole tiles?"""
    form = forms(subscript, upper=True)[0]
    if not form.get(side.var, 0):
        return True
    counters: dict[str, Expr] = {each.loop.var: Var(f"{each.loop.var}'") for each in plan.sides}
    local = in_locals(form, plan.sides, counters)
    others = {counter for name, counter in counters.items() if name != side.loop.var}
    return all(local.get(other, 0) % tile == 0 for other in others)


def _is_all(terms: Side, first: Linear, extent: Expr) -> bool:
    """Does the loop run over all of the array along its terms, so that what is beyond it is beyond the array, too?"""
    ends = [high for high in forms(terms.loop.hi, upper=True) if constant_of(added(high, terms.start, -1)) is None]
    lows = (low for low in forms(terms.loop.lo, upper=False) if constant_of(added(low, terms.start, -1)) is None)
    whole = forms(extent, upper=True)
    return (
        constant_of(added(first, terms.start, -1)) == 0
        and all(constant_of(low) == 0 for low in lows)
        and len(whole) == 1
        and all(constant_of(added(end, whole[0], -1)) == 0 for end in ends)
    )


def _swizzle(by_rows: bool, width: int, line: int) -> Swizzle:
    """How lines of rows of so many elements trade places: so that lines of one number in 8 rows that follow each other
    are in different banks, for `ldmatrix`, or two lines in each of 4 rows, for elements of a warp, or half of one."""
    wide = 0 if by_rows else 1
    lines, banks = (width // line) >> wide, (LIMITS.banks // LINE) >> wide  # or pairs of lines
    group = gcd(lines, banks)  # of lines that stay in the row, whichever trade places
    rows = banks // group  # that are in different banks by themselves
    return Swizzle(line, rows.bit_length() - 1, group - 1, wide)


def has_no_kernel(fn: Function) -> str:
    """The name of a loop that tensor instructions cannot run as it was lowered; "" if there is none."""
    around = surroundings(fn)
    kernels = outermost(fn.body, lambda loop: is_mapped(loop) or loop.kind == "tensor")
    found = ((tensor_loop(loop), loop) for loop in kernels)
    return next((tensor.origin for tensor, loop in found if tensor and not planned(loop, around)), "")


def planned(loop: For, around: Surroundings) -> Products | None:
    """How the kernel's products are made; None if they cannot be, or there are none."""
    tensor = tensor_loop(loop)
    if tensor is None:
        return None
    nest = thread_nest(_of_lanes(loop, next(fresh_names("s", around.taken))))
    return None if nest is None else _plan(nest, INSTRUCTIONS[tensor.instruction], tensor.stages, around)


def tensor_loop(body: Any) -> For | None:
    return next((node for node in statements(body) if isinstance(node, For) and node.kind == "tensor"), None)


def _of_lanes(loop: For, lane: str) -> For:
    """The loops of a warp as a thread's: over terms, and over points, inside of one over lanes."""
    let, *rest = loop.body
    if isinstance(let, Let):  # a loop of one iteration was around
        return _of_lanes(replace(loop, body=substitute(tuple(rest), {let.name: let.value})), lane)
    if loop.kind == "tensor":
        points = tuple(_unrolled(stmt) for stmt in loop.body)
        return replace(loop, kind="serial", body=points)
    body: tuple[Stmt, ...] = tuple(_of_lanes(s, lane) if isinstance(s, For) else s for s in loop.body)
    if is_mapped(loop, "thread") and not any(is_mapped(stmt, "thread") for stmt in loop.body):
        body = (For(lane, Const(0), Const(LANES), 1, body, "thread.x"),)
    return replace(loop, body=body)


def _unrolled(stmt: Stmt) -> Stmt:
    return replace(stmt, kind="unrolled", body=tuple(map(_unrolled, stmt.body))) if isinstance(stmt, For) else stmt
