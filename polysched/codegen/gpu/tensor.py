"""Products of matrices by tensor instructions: warps have tiles of the block, and copies come some chunks ahead.

    for i (thread.z), j (thread.y): 64 x 64         acc[4, 8, 4] of each lane = C[i.., j..]
        for k0 in chunks of 32:                     copy chunks 0, 1 of A, B, 16 bytes at a time
            for k in 32 terms, i, j in 64 x 64  ->  for k0 in chunks of 32:
                C[i, j] += A[i, k] * B[k, j]            wait for this chunk; copy the one that is 2 further
                                                        for k in steps of 16: a = A_[.., k..]; b = B_[k.., ..]
                                                            acc += a * b, 4 x 8 instructions
                                                    C[i.., j..] = acc

Copies lie in rows that are swizzled, so that `ldmatrix` meets no bank twice. Where arrays do not lie as 16 bytes at a
time need, elements are copied one by one.

Needs: loops of the kind "tensor", as the mark `Tensor` gives; names are bound once; subscripts are not linearized yet.
Keeps: every product; sums are rounded as the hardware does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polysched.codegen.gpu.copies import Staged, place_of
from polysched.codegen.gpu.staging import StagedKernel
from polysched.codegen.gpu.staging_plan import Surroundings, surroundings
from polysched.codegen.gpu.tensor_plan import Operand, Products, planned, tensor_loop
from polysched.codegen.gpu.thread_nest import counted, each_kernel
from polysched.codegen.lowered import around
from polysched.ir.build import add, binary, conjunction, floordiv, floormod, mul
from polysched.ir.dtypes import boolean
from polysched.ir.integers.linear import Linear, expression, forms
from polysched.ir.node import rewrite, substitute
from polysched.ir.nodes import (
    ALIGNED,
    LDMATRIX,
    Alloc,
    Array,
    Barrier,
    Call,
    Const,
    Expr,
    For,
    Function,
    If,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Var,
)
from polysched.ir.rename import bound_names, fresh_names, rename_bound
from polysched.model.instructions.bits import Bits
from polysched.model.instructions.instruction import LINE, Subscripts


def tensor_products(fn: Function) -> Function:
    """`fn` with every kernel that has a loop of the kind "tensor" as above."""
    if not tensor_loop(fn.body):
        return fn
    known = surroundings(fn)
    return each_kernel(fn, lambda loop, host: _kernel(loop, known, host))


def _kernel(loop: For, known: Surroundings, host: dict[str, For]) -> Any:
    """The kernel, of which there are two where its arrays may lie in two ways."""
    if not tensor_loop(loop):
        return loop
    plans = planned(loop, known), planned(loop, known)  # each with names of its own
    made = [_TensorKernel(plan, known, host, by_lines=k == 0) for k, plan in enumerate(plans) if plan]
    assert made, f"no tensor instructions run the loops in {loop.var}"
    lines, elements = (kernel.statements() for kernel in made)
    taken = {*bound_names(lines)}
    elements = rename_bound(elements, lambda name: next(made[1].names) if name in taken else name)
    return If(conjunction(made[0].is_aligned()), lines, elements)


class _TensorKernel(StagedKernel):
    """Builds the kernel of products."""

    plan: Products

    def __init__(self, plan: Products, known: Surroundings, host: dict[str, For], *, by_lines: bool):
        self.lane = plan.nest.threads[-1].loop.var
        names = fresh_names("s", known.taken)
        self.tile = Var(next(names)), Var(next(names)), Var(next(names))  # along both sides; the sum's number in a lane
        swizzle = plan.left.staged.swizzle
        assert swizzle is not None
        self.line = swizzle.line if by_lines else 1
        super().__init__(plan, known, host)

    # --- sums

    def registers(self) -> tuple[int, ...]:
        of, (rows, columns) = self.plan.instruction, self.plan.nest.points
        return rows.trips // of.rows, columns.trips // of.columns, of.registers[2]

    def register(self) -> tuple[Var, ...]:
        return self.tile

    def over_points(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """All points that a lane has the sums of."""
        of, (i, j, r) = self.plan.instruction, self.tile
        row, column = (bits.expression({"lane": self.counters[self.lane], "r": r}) for bits in of.sums)
        rows, columns = self.plan.nest.points
        places = {
            rows.loop.var: counted(rows, add(mul(i, of.rows), row)),
            columns.loop.var: counted(columns, add(mul(j, of.columns), column)),
        }
        body = substitute(body, places)
        for counter, count in reversed(list(zip(self.tile, self.registers(), strict=True))):
            body = (For(counter.name, Const(0), Const(count), 1, body, "unrolled"),)
        return body

    # --- copies

    def chunks(self) -> tuple[Stmt, ...]:
        """By whole lines some chunks ahead, or each chunk by elements."""
        return super().chunks() if self.line > 1 else around(self.plan.between, self.chunk(None))

    def is_aligned(self) -> list[Expr]:
        """Do rows of the arrays begin and end with whole lines?"""
        found: list[Expr] = []
        for staged in self.plan.copies:
            extents = self.extents[staged.load.array]
            first = Load(staged.load.array, (Const(0),) * len(extents), staged.load.dtype)
            found += [
                binary("==", floormod(extents[-1], self.line), 0),
                Call(ALIGNED, (first, Const(LINE)), boolean),
            ]
        return list(dict.fromkeys(found))

    def fills(self, facts: list[Linear], slot: Expr | None) -> tuple[Stmt, ...]:
        return super().fills(facts, slot if self.line > 1 else None)

    def chunk(self, full: list[Linear] | None) -> tuple[Stmt, ...]:
        """One that is copied when it is its turn."""
        fills, updates = self.fills(full or [], Const(0)), self.updates(is_full=full is not None, slot=Const(0))
        return (Barrier(), *fills, Barrier(arrivals=self.line > 1), *updates)

    def full_chunks(self, loop: For, end: Expr, facts: list[Linear]) -> tuple[Stmt, ...]:
        """A ring of copies: while one chunk is computed with, others are on their way. The first fragments of the next
        chunk are loaded before the last products of this one."""
        if loop.step != 1:  # else chunks take turns
            return (replace(loop, hi=end, body=self.chunk(facts)),)
        stages, now = self.plan.stages, Var(loop.var)
        wait = Barrier(arrivals=True, ahead=stages - 2)

        def copies(chunk: Expr) -> tuple[Stmt, ...]:
            fills = substitute(self.fills(facts, floormod(now, stages)), {loop.var: chunk})
            return (If(binary("<", chunk, end), fills),)

        first, following = floormod(loop.lo, stages), floormod(add(now, 1), stages)
        fragments = self.fragments()
        steps = self.plan.terms.trips // self.plan.instruction.terms
        before = [stmt for k in range(stages - 1) for stmt in (*copies(add(loop.lo, k) if k else loop.lo), wait)]
        slot, step = Let(next(self.names), floormod(now, stages)), Var(next(self.names))
        ahead = If(binary("==", step, 0), copies(add(now, stages - 1)))
        inside = (*self.loads(fragments, add(step, 1), Var(slot.name)), ahead, self.products(fragments, step))
        last = (
            wait,
            If(binary("<", add(now, 1), end), self.loads(fragments, Const(0), following)),
            self.products(fragments, Const(steps - 1)),
        )
        body = (slot, self.each(step.name, steps - 1, *inside), *last)
        return (
            Barrier(),
            *before,
            *map(Alloc, fragments),
            If(binary("<", loop.lo, end), self.loads(fragments, Const(0), first)),
            replace(loop, hi=end, body=body),
        )

    # --- products

    def updates(self, *, is_full: bool, slot: Expr) -> tuple[Stmt, ...]:
        """The products of a chunk, where terms that are not in the array are zeros."""
        fragments, step = self.fragments(), Var(next(self.names))
        steps = self.plan.terms.trips // self.plan.instruction.terms
        body = (*self.loads(fragments, step, slot, has_all=False), self.products(fragments, step))
        return self.renamed((*map(Alloc, fragments), self.each(step.name, steps, *body)))

    def fragments(self) -> tuple[Array, Array]:
        """What holds the factors of two steps in turn."""
        of, (rows, columns, _) = self.plan.instruction, self.registers()
        together, (left, right, _) = of.right.together, of.registers
        shapes = (2, rows, left), (2, columns // together, together, right)
        a, b = (Array(next(self.names), of.word, tuple(map(Const, shape)), "private") for shape in shapes)
        return a, b

    def loads(
        self, fragments: tuple[Array, Array], step: Expr, slot: Expr, *, has_all: bool = True
    ) -> tuple[Stmt, ...]:
        """All fragments of a step, from copies that have all of its terms, or zeros in place of some."""
        operands = self.plan.left, self.plan.right
        return tuple(self.loaded(to, each, step, slot, has_all) for to, each in zip(fragments, operands, strict=True))

    def each(self, counter: str, count: int, *body: Stmt) -> For:
        return For(counter, Const(0), Const(count), 1, body, "unrolled")

    def products(self, fragments: tuple[Array, Array], step: Expr) -> Stmt:
        (a, b), turn = fragments, floormod(step, 2)
        of, rows, columns, together = self.plan.instruction, *self.registers()[:2], self.plan.instruction.right.together
        i, j, k = (Var(next(self.names)) for _ in range(3))
        left = Load(a.name, (turn, i, Const(0)), of.word)
        right = Load(b.name, (turn, j, k, Const(0)), of.word)
        product = Call(of.name, (left, right), of.sum, pure=False)
        update = Store(self.sums.name, (i, add(mul(j, together), k), Const(0)), product, self.plan.nest.store.loc)
        inside = self.each(j.name, columns // together, self.each(k.name, together, update))
        return self.each(i.name, rows, inside)

    def loaded(self, to: Array, operand: Operand, step: Expr, slot: Expr, has_all: bool) -> Stmt:
        """The fragments of a factor."""
        tile, copy, r = Var(next(self.names)), operand.staged.copy, Var(next(self.names))
        first, count = (floormod(step, 2), tile), int(to.shape[1].value)  # type: ignore[attr-defined]
        if operand.rows is None:
            many, registers = operand.factor.together, int(to.shape[-1].value)  # type: ignore[attr-defined]
            load = Load(copy.name, (slot, *self.place(operand, operand.factor.elements, tile, step, r)), copy.dtype)
            value = rewrite(operand.value, lambda node: load if node == operand.staged.load else None)
            if value != load and not has_all:  # a zero times infinity is none
                value = Select(self.is_term(operand, step, r), value, Const(0.0, value.dtype))
            which = (floordiv(r, registers) if many > 1 else Const(0),) * (len(to.shape) - 3)
            each = Store(to.name, (*first, *which, floormod(r, registers) if many > 1 else r), value)
            return self.each(tile.name, count, self.each(r.name, many * registers, each))
        load = Load(copy.name, (slot, *self.place(operand, operand.rows, tile, step, Const(0))), copy.dtype)
        name = LDMATRIX[not operand.has_terms_in_rows]
        zeros = (Const(0),) * (len(to.shape) - 2)
        return self.each(tile.name, count, Store(to.name, (*first, *zeros), Call(name, (load,), to.dtype, pure=False)))

    def is_term(self, operand: Operand, step: Expr, r: Expr) -> Expr:
        """Has the sum the term of a fragment's element?"""
        of, terms, load = self.plan.instruction, self.plan.terms, operand.staged.load
        own = operand.factor.elements[1 if operand is self.plan.left else 0]
        number = add(mul(step, of.terms), own.expression({"lane": self.counters[self.lane], "r": r}))
        along = next(k for k, part in enumerate(load.index) if forms(part, upper=True)[0].get(terms.var, 0))
        return binary("<", counted(terms, number), self.extents[load.array][along])

    def place(self, operand: Operand, subscripts: Subscripts, tile: Expr, step: Expr, r: Expr) -> tuple[Expr, Expr]:
        """Where in the copy an element is that has these subscripts in its tile: [side, terms], or turned."""
        of, plan, staged = self.plan.instruction, self.plan, operand.staged
        is_left = operand is plan.left
        own, terms = subscripts if is_left else subscripts[::-1]
        size = of.rows if is_left else of.columns * of.right.together
        inside = {operand.side.loop.var: (own, mul(tile, size)), plan.terms.loop.var: (terms, mul(step, of.terms))}
        marks = {name: Var(f"{name}'") for name in inside}
        counters = {**self.counters, **marks}
        moving = [k for k, extent in enumerate(staged.box.extents) if extent > 1]
        down, across = (_parts(place_of(staged, k, plan.sides, counters), inside, marks) for k in moving)
        return _placed(staged, down, across, {"lane": self.counters[self.lane], "r": r})


def _parts(form: Linear, inside: dict[str, tuple[Bits, Expr]], marks: dict[str, Var]) -> tuple[Bits, Expr]:
    """Bits of a lane and of its elements, and what all share, of which they change no bit."""
    (name,) = (name for name, mark in marks.items() if form.get(mark, 0))
    bits, start = inside[name]
    shared = {atom: factor for atom, factor in form.items() if atom != marks[name] and factor}
    return bits, add(start, expression(shared)) if shared else start


def _placed(
    staged: Staged, down: tuple[Bits, Expr], across: tuple[Bits, Expr], values: dict[str, Expr]
) -> tuple[Expr, Expr]:
    """The row of the copy, and where in it the element is, as `Swizzle.placed`."""
    swizzle = staged.swizzle
    assert swizzle is not None
    own = swizzle.line.bit_length() - 1
    turn = Bits.zeros(swizzle.left) + down[0][swizzle.shift : swizzle.shift + swizzle.mask.bit_length()]
    number = binary("^", across[0][own:].expression(values), turn.expression(values))
    start = mul(binary("^", number, binary("floordiv", across[1], swizzle.line)), swizzle.line)
    rest = across[0][:own]
    column = add(start, rest.expression(values)) if rest.names else start
    return add(down[1], down[0].expression(values)), column
