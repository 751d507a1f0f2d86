"""A loop whose guards become its bounds, its stride and conditions before it.

    for r in 0..R:                              lows 0, pad - y
        if y + r >= pad && c && r % 2 == 1:     highs R
            S                                   hoisted c
                                                residue r == 1 modulo 2

What a condition is tested after stays true of it: one that may trap is tested before the loop only if the loop runs,
and then after all that it was tested after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import replace
from typing import Any

from polysched.codegen.expr.rank import divisors
from polysched.codegen.loops.guards import Step, put_together
from polysched.codegen.loops.inequalities import Residue, Unknown, expression, is_total
from polysched.ir.build import add, binary, floordiv, floormod, mul, sub
from polysched.ir.effects import may_change
from polysched.ir.integers.facts import Facts
from polysched.ir.integers.linear import Linear, added, difference, forms
from polysched.ir.node import flattened, rewrite, substitute, variables, walk
from polysched.ir.nodes import Binary, Const, Expr, For, Let, Stmt, Var
from polysched.ir.rename import bound_names

_LARGEST_CONDITION = 60  # nodes, with names in it spelled out
_LARGEST_DISTANCE = 1 << 60  # of bounds that are compared: what is so near to one that does not wrap does not, either


class NarrowedLoop:
    """Takes conditions, left to right, from what leads to the guarded part of a loop's body."""

    def __init__(self, loop: For, facts: Facts, positions: Set[str], sizes: Set[str], *, is_fixed: bool):
        self.loop, self.positions, self.sizes, self.is_fixed = loop, positions, sizes, is_fixed
        self.before, self.inside = facts, facts.inside(loop)
        self.lows, self.highs = [*flattened(loop.lo, "max")], [*flattened(loop.hi, "min")]
        self.hoisted: list[Expr] = []  # conditions before the loop
        self.after_trap: list[Expr] = []  # those after the division by a stride that may be zero
        self.residue: Residue | None = None
        self.kept: list[Step] = []
        self.values: dict[str, Expr] = {}  # of the Lets passed
        self.hidden = frozenset((loop.var, *bound_names(loop.body)))
        self.is_changed = self.has_kept_condition = self.is_trapping = False

    @property
    def unknown(self) -> Unknown:
        return Unknown(self.loop.var, self.hidden, self.positions, self.sizes, self.before, self.inside)

    def take(self, steps: list[Step]) -> None:
        """Makes of the conditions among the steps what it can, and keeps the others."""
        for position, step in enumerate(steps):
            if not self.passes(step):
                self.kept += steps[position + 1 :]
                return

    def passes(self, step: Step) -> bool:
        """Deals with a step; may those that follow be tested whether or not it is?"""
        if isinstance(step, Let):
            self.kept.append(step)
            self.values[step.name] = substitute(step.value, self.values)
            may_pass = is_total(step.value, self.inside, loads=True)
            self.inside = self.inside.binding(step)
            return may_pass
        cond = substitute(self.with_exact_quotients(step), self.values)
        if sum(1 for _ in walk(cond)) > _LARGEST_CONDITION or not self.takes(cond):
            self.kept.append(step)
            self.has_kept_condition = True
            if not is_total(step, self.inside, loads=True):
                return False
        else:
            self.is_changed = True
        self.inside = self.inside.under(cond)
        return True

    def takes(self, cond: Expr) -> bool:
        """Can the loop run only where `cond` holds?"""
        if self.hidden.isdisjoint(variables(cond)):
            return self.takes_invariant(cond)
        if self.is_fixed:
            return False
        if found := self.unknown.interval(cond):
            for low in found.lows:
                _narrow(self.lows, low, -1)
            for high in found.highs:
                _narrow(self.highs, high, 1)
            return True
        return self.takes_residue(cond)

    def takes_invariant(self, cond: Expr) -> bool:
        if may_change(cond):
            return False
        if not is_total(cond, self.before) and not self.divides_before(divisors(cond), cond):
            return False
        (self.after_trap if self.is_trapping else self.hoisted).append(cond)
        self.before = self.before.under(cond)
        return True

    def takes_residue(self, cond: Expr) -> bool:
        loop = self.loop
        if self.residue or loop.step != 1 or loop.kind not in ("serial", "parallel", "dynamic"):
            return False
        residue = self.unknown.residue(cond)
        if residue is None or not self.unknown.is_exact(loop.lo, loop.hi):
            return False
        if not isinstance(residue.modulus, Const) and not self.before.is_nonzero(residue.modulus):
            if not self.divides_before((residue.modulus,), residue.modulus):
                return False
            self.is_trapping = True  # what is tested after it must not keep it from trapping
        self.residue = residue
        return True

    def with_exact_quotients(self, node: Any) -> Any:
        """`node` with the division of what is a multiple rounded down, so that it is linear."""
        if self.residue is None or not self.residue.is_multiple:
            return node
        multiple, divisor = self.residue.top, self.residue.modulus

        def rounded_down(node: Any) -> Any | None:
            match node:
                case Binary("truncdiv", top, by) if by == divisor:
                    distance = difference(substitute(top, self.values), multiple)
                    return replace(node, op="floordiv") if distance == {} else None
            return None

        return rewrite(node, rounded_down)

    def divides_before(self, by: Iterable[Expr], cond: Expr) -> bool:
        """Makes what follows run only if the loop does, where these are not zero, if `cond` is then safe to test."""
        known = self.before
        for divisor in by:
            known = known.under(Binary("!=", divisor, Const(0, divisor.dtype)))
        is_where_loop_runs = not (self.has_kept_condition or self.residue) and self.loop.step == 1
        if not is_where_loop_runs or not is_total(cond, known):
            return False
        runs = Binary("<", *self.bounds())
        if self.before.decides(runs) is not True:
            self.hoisted.append(runs)
        self.before = known
        return True

    def bounds(self) -> tuple[Expr, Expr]:
        """With the lower one not yet on a multiple of the loop's step."""
        return binary("max", *self.lows), binary("min", *self.highs)

    def statements(self, steps: list[Step], guarded: tuple[Stmt, ...], fresh: Callable[[str], str]) -> tuple[Stmt, ...]:
        """The loop as it is now, around these steps and what they lead to, and what stands before it."""
        body = self.with_exact_quotients(put_together(steps, guarded))
        loop = self.loop
        lo, hi = self.bounds()
        if lo != loop.lo and loop.step > 1:
            lo = add(loop.lo, mul(floordiv(add(_minus(lo, loop.lo), loop.step - 1), loop.step), loop.step))
        loop = replace(loop, lo=lo, hi=hi, body=body)
        lets: tuple[Stmt, ...] = ()
        if self.residue is not None:
            lets, loop = self.strided(loop, self.residue, fresh)
        return put_together(self.hoisted, (*lets, *put_together(self.after_trap, (loop,))))

    def strided(self, loop: For, residue: Residue, fresh: Callable[[str], str]) -> tuple[tuple[Stmt, ...], For]:
        """The loop over one residue class, and what is computed before it.

        It counts strides from the first value that the variable takes, and carries the quotients by the stride; with a
        constant stride and nothing to carry, the variable itself is enough.
        """
        stride = residue.modulus
        start = _first(residue.target, self.lows, stride, divides=self.is_trapping)
        first, count = Var(fresh("first")), Var(fresh("step"))
        carried: dict[Expr, Var] = {}
        unknown = self.unknown

        def with_carried(node: Any) -> Any | None:
            match node:
                case Binary("floordiv", top, divisor) if divisor == stride:
                    found = unknown.linear(substitute(top, self.values), stride)
                case _:
                    return None
            if found is None:
                return None
            factor, rest = found
            quotient = floordiv(expression(added(rest, {first: factor}, 1)), stride)
            if quotient not in carried:
                carried[quotient] = Var(fresh("quotient"))
            distance = count if abs(factor) == 1 else mul(count, abs(factor))
            return Binary("+" if factor > 0 else "-", carried[quotient], distance)

        body = rewrite(loop.body, with_carried)
        if isinstance(stride, Const) and not carried:
            return (), replace(loop, lo=start, step=int(stride.value))
        trips = floordiv(add(_minus(loop.hi, first), _minus(stride, Const(1))), stride)
        if loop.var in variables(body):
            body = (Let(loop.var, add(first, mul(count, stride)), loop.loc), *body)
        lets = (Let(name.name, value, loop.loc) for value, name in ((start, first), *carried.items()))
        return tuple(lets), replace(loop, var=count.name, lo=Const(0), hi=trips, body=body)


def _first(target: Expr, lows: list[Expr], period: Expr, *, divides: bool) -> Expr:
    """The least value that is `target` modulo the period and not below any of `lows`; it traps if the period is zero
    and it is to divide."""
    firsts = [_next(target, low, period) for low in lows]
    if divides and None not in firsts:
        firsts[0] = None
    others = [low for low, first in zip(lows, firsts, strict=True) if first is None]
    found = [first for first in firsts if first is not None]
    if others:
        low = binary("max", *others)
        distance = floormod(_minus(target, low), period)
        found.insert(0, distance if low == Const(0) else add(low, distance))
    return binary("max", *found)


def _next(target: Expr, low: Expr, period: Expr) -> Expr | None:
    """The same for one of `lows`, if no division is needed: target - low is a multiple of the period, or one less."""
    distance = difference(target, low)
    if distance is None:
        return None
    rest = distance.pop(None, 0)
    if isinstance(period, Const):
        if any(factor % period.value for factor in distance.values()):
            return None
        return _plus(low, {None: rest % int(period.value)})
    if rest not in (0, -1) or not all(_is_multiple(atom, period) for atom in distance):
        return None
    return _plus(low, {period: -rest, None: rest})


def _is_multiple(atom: Expr | None, period: Expr) -> bool:
    return atom == period or (isinstance(atom, Binary) and atom.op == "*" and period in (atom.left, atom.right))


def _minus(left: Expr, right: Expr) -> Expr:
    match left, right:
        case _, Const(value=0):
            return left
        case Const(value=int(one)), Const(value=int(other)):
            return Const(one - other)
    return sub(left, right)


def _plus(expr: Expr, form: Linear) -> Expr:
    return expression(added(forms(expr, True)[0], form, 1))


def _narrow(bounds: list[Expr], new: Expr, sign: int) -> None:
    """Adds a bound, unless one is known to be as narrow; a wider one goes. `sign` is that of wider - narrower."""
    for position, old in enumerate(bounds):
        distance = difference(old, new)
        if distance is None or not set(distance) <= {None} or abs(distance.get(None, 0)) > _LARGEST_DISTANCE:
            continue
        if distance.get(None, 0) * sign > 0:
            bounds[position] = new
        return
    bounds.append(new)
