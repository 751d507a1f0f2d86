"""Terms of narrow integers two or four at a time, as parts of a word, which one instruction multiplies and adds.

    for k in 0..5:                                        for k in 0..3:
        C[i, j] += i32(A[i, k]) * i32(B[k, j])     ->         C[i, j] += dot.i16(word(A, k), word(B, k))

    word(A, k) = A[i, k] & 0xffff | A[i, k + 3] << 16     with zero for what is beyond the last term

Exact: the parts hold what fits into them, and sums of i32 wrap, so that their order does not matter. Where both
factors are signed bytes, and one is to be unsigned, rows are stored shifted: the sum of (a + 128) b is 128 times the
sum of b too large, which is taken off the start of each column's sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polysched.config.machine import Machine
from polysched.ir.build import add, binary, const, mul
from polysched.ir.dtypes import DType, i32
from polysched.ir.integers.intervals import Interval, holds, interval, whole
from polysched.ir.node import substitute
from polysched.ir.nodes import Binary, Call, Cast, Const, Expr, Select, Var
from polysched.ir.simplify import simplify
from polysched.model.instructions.dots import DOTS, VECTOR_BYTES, Dot
from polysched.transform.analysis.products import Axes, SumOfProducts


@dataclass(frozen=True)
class Words:
    """How terms share a word: by which instruction, and what is added to those of rows."""

    dot: Dot
    row_first: bool  # is a row's word the first operand?
    shift: int = 0

    @property
    def bits(self) -> int:
        """Of a term."""
        return self.dot.first.bits

    @property
    def types(self) -> tuple[DType, DType]:
        """Of a row's terms, and of a column's."""
        first, second = self.dot.first, self.dot.second
        return (first, second) if self.row_first else (second, first)

    def product(self, row: Expr, column: Expr) -> Expr:
        """The products of the terms of two words, added."""
        return Call(self.dot.function, (row, column) if self.row_first else (column, row), i32)

    @property
    def shifts(self) -> Expr:
        """The word that has the shift for each term."""
        return simplify(_joined([const(self.shift, i32)] * self.dot.terms, self.bits))


def words_of(found: SumOfProducts, machine: Machine) -> Words | None:
    """By which instruction of the machine's the sums are made; None if there is none, or its parts are too narrow."""
    if machine.vector_bytes < VECTOR_BYTES or found.row.dtype != i32 or found.column.dtype != i32:
        return None
    row, column = _range(found.row), _range(found.column)

    def fits(words: Words) -> bool:
        own, other = words.types
        return holds(own, (row[0] + words.shift, row[1] + words.shift)) and holds(other, column)

    own = (dot for dot in DOTS if not dot.is_named or dot.name in machine.instructions)
    return next((words for dot in own for words in _ways(dot) if fits(words)), None)


def _ways(dot: Dot) -> Iterator[Words]:
    """How the instruction may be used, what shifts no factor first."""
    yield from (as_they_are := (Words(dot, True), Words(dot, False)))
    for words in as_they_are:
        own, other = words.types
        yield replace(words, shift=whole(own)[0] - whole(other)[0])


def in_words(found: SumOfProducts, words: Words) -> SumOfProducts:
    """The same sums, with words of terms as factors: a loop over terms is shorter by as much as a word holds, the one
    of which fewest parts stay empty, the longest of these."""
    count = words.dot.terms
    name, extent = min(found.terms.extents.items(), key=lambda loop: (-(-loop[1] // count) * count / loop[1], -loop[1]))
    words_long = -(-extent // count)

    def word(factor: Expr, shift: int) -> Expr:
        return _word([term(factor, shift, part * words_long) for part in range(count)], words.bits)

    def term(factor: Expr, shift: int, distance: int) -> Expr:
        after = add(Var(name), distance) if distance else Var(name)
        own = guard_outside(substitute(factor, {name: after}))
        own = _shifted(own, shift) if shift else own
        return Select(binary("<", after, extent), own, Const(0, i32)) if distance + words_long > extent else own

    terms = Axes({**found.terms.extents, name: words_long})
    return replace(found, row=word(found.row, words.shift), column=word(found.column, 0), terms=terms)


def first_term(value: Expr) -> Expr:
    """The first of the terms of a word, without what is added to it; the value itself if it is none."""
    first = value
    while isinstance(first, Binary) and first.op == "|":
        first = first.left
    match first:
        case Binary("&", Binary("+", low, Const()) | low, Const()) if first != value:
            return low
    return value


def guard_outside(value: Expr) -> Expr:
    """Padded data that is cast, as a choice between the data and zero, each cast."""
    match value:
        case Cast(Select(cond, then, Const() as other)):
            return Select(cond, replace(value, arg=then), simplify(replace(value, arg=other)))
    return value


def _shifted(value: Expr, shift: int) -> Expr:
    match value:
        case Select(cond, then, Const() as other):
            return Select(cond, add(then, const(shift, i32)), simplify(add(other, const(shift, i32))))
    return add(value, const(shift, i32))


def _word(terms: Sequence[Expr], bits: int) -> Expr:
    match terms[0]:
        case Select(cond, _, Const()) if all(isinstance(term, Select) and term.cond == cond for term in terms):
            chosen = [term for term in terms if isinstance(term, Select)]
            if all(isinstance(term.other, Const) for term in chosen):
                other = simplify(_joined([term.other for term in chosen], bits))
                return Select(cond, _word([term.then for term in chosen], bits), other)
    return _joined(terms, bits)


def _joined(terms: Sequence[Expr], bits: int) -> Expr:
    """Terms next to each other in a word: products, since to shift what is negative is undefined in C."""
    *lower, last = terms
    masked = [binary("&", term, const((1 << bits) - 1, i32)) for term in lower]
    return binary("|", *(mul(term, 1 << k * bits) if k else term for k, term in enumerate([*masked, last])))


def _range(expr: Expr) -> Interval:
    """Numbers between which the integer lies."""
    found = interval(expr, _range)
    return found if holds(expr.dtype, found) else whole(expr.dtype)
