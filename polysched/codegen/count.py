"""How much integer work a function does beside what its loops cost themselves.

    for i in 0..4:
        for j in 0..32:                     2 integer operations, 256 executed, 0 temporaries
            A[i * 32 + j] = 0.0             by loop: i 0, j 2 written and 256 executed

With sizes that are not given, what is executed is a polynomial in them where there is one: n * m * 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from polysched.codegen.lowered import own_expressions
from polysched.ir.arithmetic import UNBOUNDED
from polysched.ir.integers.polynomial import Polynomial, summed
from polysched.ir.interp import compiled
from polysched.ir.node import variables, walk
from polysched.ir.nodes import Binary, Const, Expr, For, Function, If, Let, Select, Stmt, Unary, Var
from polysched.model.loops import trip_count

Count = int | Polynomial | None  # None: unknown

_BLOCKS = 20_000  # visits to a block of statements, to count what it executes


@dataclass(frozen=True)
class IntegerOperations:
    """Operations on integers and booleans: arithmetic, divisions, comparisons, logic, min, max, selects."""

    written: int  # in the text
    executed: Count  # each as often as it runs
    temporaries: int = 0

    def __str__(self) -> str:
        return f"{self.written} integer operations, {number(self.executed)} executed, {self.temporaries} temporaries"


def integer_operations(
    fn: Function, sizes: Mapping[str, int] | None = None, *, most: int = _BLOCKS
) -> IntegerOperations:
    """The integer operations in the body of `fn`, at these sizes, short circuits taken as if all in them ran.

    Where data decides on a branch, both sides count. Executed is a polynomial in the sizes if some are missing, in
    which both sides of all branches count and no loop has less than zero iterations. At most so many blocks that
    differ are looked at.
    """
    return total(operations_by_loop(fn, sizes, most=most))


def total(loops: Mapping[str, IntegerOperations]) -> IntegerOperations:
    executed: Count = 0
    for loop in loops.values():
        executed = _plus(executed, loop.executed)
    temporaries = sum(loop.temporaries for loop in loops.values())
    return IntegerOperations(sum(loop.written for loop in loops.values()), executed, temporaries)


def operations_by_loop(
    fn: Function, sizes: Mapping[str, int] | None = None, *, most: int = _BLOCKS
) -> dict[str, IntegerOperations]:
    """The same of each loop without the loops in it, by loop variable, outermost first; "" is outside of all."""
    written: Counter[str] = Counter()
    temporaries: Counter[str] = Counter()
    _survey(fn.body, "", written, temporaries)
    try:
        executed: Mapping[str, Count] = _Run(fn.body, most).block(fn.body, "", dict(sizes or {}))
    except (_Unknown, KeyError):
        executed = dict.fromkeys(written) if sizes else _symbolic(fn)
    return {loop: IntegerOperations(n, executed.get(loop, 0), temporaries[loop]) for loop, n in written.items()}


def _symbolic(fn: Function) -> Mapping[str, Count]:
    symbols = _Symbols()
    symbols.block(fn.body, "", (), {size: Polynomial.name(size) for size in fn.sizes})
    return symbols.executed


def number(count: Count) -> str:
    """The count as people write it: 12, n**2 / 2 - n / 2, unknown."""
    if not isinstance(count, Polynomial):
        return "unknown" if count is None else str(count)
    text = ""
    for names, factor in count:
        above, below = abs(factor.numerator), factor.denominator
        powers = (f"{name}**{power}" if power > 1 else name for name, power in Counter(names).items())
        product = " * ".join([*([str(above)] if above > 1 or not names else []), *powers])
        sign = ("-" if factor < 0 else "") if not text else " - " if factor < 0 else " + "
        text += sign + product + (f" / {below}" if below > 1 else "")
    return text or "0"


def _survey(body: tuple[Stmt, ...], loop: str, written: Counter[str], temporaries: Counter[str]) -> None:
    written[loop] += sum(map(_own_operations, body))  # it has its row even without operations
    temporaries[loop] += sum(isinstance(stmt, Let) for stmt in body)
    for stmt in body:
        match stmt:
            case For(var, body=inner):
                _survey(inner, var, written, temporaries)
            case If(then=then, other=other):
                _survey((*then, *other), loop, written, temporaries)


def _own_operations(stmt: Stmt) -> int:
    """Those of the statement itself, without the statements in it."""
    return sum(map(_is_integer_operation, walk(tuple(own_expressions(stmt)))))


def _is_integer_operation(node: Expr) -> bool:
    match node:
        case Binary(_, operand) | Unary(_, operand) | Select(_, operand):
            return not operand.dtype.is_float
    return False


# --- in numbers


class _Unknown(Exception):
    """The bound of a loop is not known, or it would take too long to count."""


@dataclass
class _Run:
    """Runs a function without its stores; loops whose work does not change from iteration to iteration, once."""

    body: tuple[Stmt, ...]
    most: int  # visits
    deciding: dict[int, frozenset[str]] = field(default_factory=dict)  # names that decide what a block executes, by id
    code: dict[int, Callable[[dict[str, Any]], Any]] = field(default_factory=dict)
    known: dict[tuple[object, ...], Counter[str]] = field(default_factory=dict)
    visits: int = 0

    def block(self, body: tuple[Stmt, ...], loop: str, values: dict[str, Any]) -> Counter[str]:
        """What one execution of the block in that loop executes, by loop."""
        deciding = self.names(body)
        key = (id(body), *(values.get(name) for name in sorted(deciding)))
        if key not in self.known:
            self.visits += 1
            if self.visits > self.most:
                raise _Unknown
            self.known[key] = self.counted(body, loop, dict(values))
        return self.known[key]

    def counted(self, body: tuple[Stmt, ...], loop: str, values: dict[str, Any]) -> Counter[str]:
        total: Counter[str] = Counter()
        for stmt in body:
            total[loop] += _own_operations(stmt)
            match stmt:
                case Let(name, value):
                    values.pop(name, None)
                    with suppress(KeyError, ArithmeticError, ValueError):  # of data, or trapping
                        values[name] = self.value(value, values)
                case For(var, lo, hi, step, inner):
                    trips = range(self.value(lo, values), self.value(hi, values), step)
                    if var not in self.names(inner):
                        if trips:
                            for name, count in self.block(inner, var, values).items():
                                total[name] += count * len(trips)
                        continue
                    for iteration in trips:
                        total.update(self.block(inner, var, {**values, var: iteration}))
                case If(cond, then, other):
                    try:
                        sides = [then if self.value(cond, values) else other]
                    except KeyError:
                        sides = [then, other]
                    for side in sides:
                        total.update(self.block(side, loop, values))
        return total

    def value(self, expr: Expr, values: dict[str, Any]) -> Any:
        if id(expr) not in self.code:
            self.code[id(expr)] = compiled(expr)
        return self.code[id(expr)](values)

    def names(self, body: tuple[Stmt, ...]) -> frozenset[str]:
        if id(body) not in self.deciding:
            self.deciding[id(body)] = frozenset(self.found(body))
        return self.deciding[id(body)]

    def found(self, body: tuple[Stmt, ...]) -> set[str]:
        needed: set[str] = set()
        for stmt in reversed(body):
            match stmt:
                case Let(name, value) if name in needed:
                    needed = (needed - {name}) | variables(value)
                case For(var, lo, hi, _, inner):
                    needed |= (self.names(inner) - {var}) | variables(lo) | variables(hi)
                case If(cond, then, other):
                    needed |= self.names(then) | self.names(other) | variables(cond)
        return needed


# --- as polynomials in the sizes

_Range = tuple[str, Polynomial, Polynomial]  # a variable, its first value and the one after its last


@dataclass
class _Symbols:
    """Adds up what the blocks of a function execute; both sides of each branch, as if all loops ran forward."""

    executed: dict[str, Count] = field(default_factory=dict)

    def block(
        self,
        body: tuple[Stmt, ...],
        loop: str,
        around: tuple[_Range | None, ...],
        values: Mapping[str, Polynomial | None],
    ) -> None:
        own = sum(map(_own_operations, body))
        self.executed[loop] = _plus(self.executed.get(loop, 0), _repeated(own, around))
        values = dict(values)
        for stmt in body:
            match stmt:
                case Let(name, value):
                    values[name] = _polynomial(value, values)
                case For(var, first, end, step, inner):
                    lo, hi, trips = _polynomial(first, values), _polynomial(end, values), trip_count(stmt)
                    ends: _Range | None = None
                    values[var] = None
                    if step == 1 and lo is not None and hi is not None:
                        ends, values[var] = (var, lo, hi), Polynomial.name(var)
                    elif trips is not None and lo is not None:  # iterations count from zero
                        ends = var, Polynomial(), Polynomial.number(trips)
                        values[var] = Polynomial.name(var) * Polynomial.number(step) + lo
                    self.block(inner, var, (*around, ends), values)
                case If(then=then, other=other):
                    self.block(then, loop, around, values)
                    self.block(other, loop, around, values)


def _repeated(operations: int, around: tuple[_Range | None, ...]) -> Count:
    """What that many operations in the loops around amount to."""
    if operations == 0:
        return 0
    total = Polynomial.number(operations)
    for ends in reversed(around):
        if ends is None:
            return None
        total = summed(total, *ends)
    return int(total.constant) if not total.names else total


def _plus(one: Count, two: Count) -> Count:
    if one is None or two is None:
        return None
    if isinstance(one, int) and isinstance(two, int):
        return one + two
    return two + one if isinstance(two, Polynomial) else one + two


def _polynomial(expr: Expr, values: Mapping[str, Polynomial | None]) -> Polynomial | None:
    match expr:
        case Const(int(value)):
            return Polynomial.number(value)
        case Var(name):
            return values.get(name)
        case Binary("+" | "-" | "*" as op, left, right):
            one, two = _polynomial(left, values), _polynomial(right, values)
            return None if one is None or two is None else UNBOUNDED[op](one, two)
    return None
