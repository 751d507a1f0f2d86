"""Whose is an element that a loop updates? Threads and blocks finish what they have added up, even if that is nothing.

    for b in ..: for k in 128 * b..128 * b + 128:       y[k] tells k, and k tells b: each pair has an element of its own
        for i in ..: y[k] += a[i]
    for b in ..: for k in ..:                           y[b] is the element of all k, of which the condition tells one:
        for i in ..:                                    the others have nothing to finish
            if k == 3 * b + 2: y[b] += a[i]
    for b in ..: for i in 0..b:                         the thread that stores y[0] again would race with those that
        y[b] += a[i] - y[2 * b + 1]                     read it: elements without terms are left alone
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polysched.codegen.lowered import is_flat
from polysched.codegen.memory.tile_nest import side_of
from polysched.codegen.parallel.updates import Update
from polysched.config.target import LIMITS
from polysched.ir.build import binary
from polysched.ir.effects import may_change
from polysched.ir.integers.linear import Linear, forms
from polysched.ir.integers.trips import most_trips
from polysched.ir.node import loads, statements, variables
from polysched.ir.nodes import Alloc, Binary, Expr, For, If, Var


def guards_of(loop: For, around: Sequence[For], updates: Sequence[Update]) -> tuple[tuple[Expr, ...], For] | None:
    """Conditions around all that the loop does, which say whose the elements that it updates are where their subscripts
    do not, and the loop without them; None if these leave that open. `around` are the loops of the kernel around it.
    Where the kernel reads other elements of the array, they say, too, that the loop has a term."""
    allocs = (node for node in statements(tuple(around)) if isinstance(node, Alloc))
    own = {alloc.array.name for alloc in allocs}  # of a block, or of a thread
    updates = [update for update in updates if update.array.name not in own]
    elements = [update.index for update in updates]
    used = ((update, load) for update in updates for load in loads(tuple(around), update.array.name))
    is_read = any(load.index != update.index for update, load in used)
    conditions: list[Expr] = []

    def is_told() -> bool:
        return all(_tell(index, conditions, around) for index in elements)

    while (is_read or not is_told()) and (guarded := _without_condition(loop)):
        condition, loop = guarded
        conditions.append(condition)
    if is_read:
        conditions.append(binary("<", loop.lo, loop.hi))
    has_terms = not is_read or is_flat(loop)
    return (tuple(conditions), loop) if is_told() and has_terms else None


def _without_condition(loop: For) -> tuple[Expr, For] | None:
    """A condition around all that the loop does, which is the same in each iteration, and the loop without it."""
    match loop.body:
        case (If(cond=cond, then=then, other=()),) if not may_change(cond) and loop.var not in variables(cond):
            return cond, replace(loop, body=then)
    return None


def _tell(index: Sequence[Expr], conditions: Sequence[Expr], around: Sequence[For]) -> bool:
    """Is there one iteration of the loops around for the element of this subscript, where the conditions hold?"""
    unknown = {each.var for each in around if most_trips(each.lo, each.hi, each.step) != 1}
    equations = [sides for condition in conditions for sides in _equations(condition)]
    for _ in around:
        for subscript in index:
            match forms(subscript, upper=True):
                case [form]:
                    unknown -= _of_form(form, 1, unknown)
        for variable, other in equations:
            if not unknown & variables(other):
                unknown.discard(variable)
        for each in around:
            if each.var not in unknown and (side := side_of(each, [each.var], LIMITS.block)):
                unknown -= _of_form(side.start, side.trips, unknown)
    return not unknown


def _of_form(form: Linear, least: int, unknown: set[str]) -> set[str]:
    """The one variable of which each value leads to values of the form that are `least` apart, if all others in it are
    known."""
    factors = {atom: factor for atom, factor in form.items() if atom is not None and factor}
    match [atom for atom in factors if unknown & variables(atom)]:
        case [Var(name) as atom] if abs(factors[atom]) >= least:
            return {name}
    return set()


def _equations(condition: Expr) -> Iterator[tuple[str, Expr]]:
    """Variables, and what they are where the condition holds."""
    match condition:
        case Binary("&&", left, right):
            yield from (*_equations(left), *_equations(right))
        case Binary("==", left, right):
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Var) and one.name not in variables(other):
                    yield one.name, other
