"""The head of a C loop as the range of a loop of the IR.

    for (i = lo; i < hi; i++)           lo .. hi            for (i = hi - 1; i >= lo; i -= 2)    hi - 1 .. lo - 1, -2
    for (i = lo; i <= a && i <= b; i++) lo .. min(a, b) + 1     for (i = lo; i != hi; i++)       lo .. hi

C tests the condition again for each iteration: nothing in the body may change it, which `flow/iterations.py` sees to.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce

from polysched.errors import InputError
from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import (
    Node,
    bare,
    children,
    constant,
    operator,
    stripped,
    unary_operator,
    walk,
)
from polysched.frontend.c.file.heads import Head, starts_of
from polysched.frontend.c.file.names import Member, key, variable
from polysched.frontend.c.types import dtype_of, holds, within
from polysched.ir.build import conjunction
from polysched.ir.dtypes import DType
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import MIRRORED, Binary, Const, Expr, Load
from polysched.model.affine import NotAffine
from polysched.model.known import Unproven

_HINT = "write for (i = lo; i < hi; i++)"


@dataclass(frozen=True)
class Range:
    """lo, lo + step, ... while before hi (step > 0), or after it."""

    lo: Expr
    hi: Expr
    step: int


def range_of(read: Expressions, loop: Node, head: Head) -> Range:
    """InputError for a loop that is no range with a constant step."""
    error = read.source.error
    decl, first = head.decl, head.start.value
    dtype = dtype_of(decl.type)
    if isinstance(decl, Member):
        message = f"the loop variable '{decl.spelling}' is a member of a structure"
        raise error(head.start.node, message, "use an int")
    if dtype is None or not dtype.is_integer or decl.type.get_canonical().is_volatile_qualified():
        message = f"the loop variable '{decl.spelling}' has the type '{decl.type.spelling}'"
        raise error(children(loop)[0], message, "use an int")
    step = _step(read, head.change, decl)
    lo = read.bound_of_loop(first)
    _require_alone(read, head, lo)
    ends = list[Expr]()
    for test in _conjuncts(children(loop)[1]):  # of which C asks the next one only where this one holds
        with read.given(_all_before(lo, ends, step)) if ends else nullcontext():
            ends.append(_end(read, test, decl, dtype, step, lo))
    hi = reduce(lambda one, other: Binary("min" if step > 0 else "max", one, other), ends)
    return Range(lo, hi, step)


def no_range(read: Expressions, loop: Node) -> InputError:
    """Why the loop has no variable of its own."""
    error = read.source.error
    if len(children(loop)) != 4:
        return error(loop, "a loop needs a start, a condition and a step", _HINT)
    first, _, last, _ = children(loop)
    decl = next((start.decl for start in starts_of(first) if start.decl is not None and start.value is not None), None)
    if decl is None:
        return error(first, "a loop starts with an assignment to its variable", _HINT)
    return error(last, f"a loop ends an iteration with a step of its variable '{decl.spelling}'", _HINT)


def _require_alone(read: Expressions, head: Head, lo: Expr) -> None:
    """InputError where it matters in which order the head sets its variable and others."""
    hint = "do it in a statement of its own, before the loop or at the end of its body"
    for node in (*(each.value or each.node for each in head.before if each.value is not head.start.value), *head.after):
        if any(_is(part, head.decl) for part in walk(node)):
            message = f"the head of the loop uses '{head.decl.spelling}' for another variable"
            raise read.source.error(node, message, hint)
    needed = {part.array for part in walk_ir(lo) if isinstance(part, Load)}
    for each in head.before:
        is_needed = each.decl is not None and read.variables.names.get(key(each.decl)) in needed
        if is_needed or (needed and each.decl is None):
            message = f"the head of the loop sets what '{head.decl.spelling}' starts from"
            raise read.source.error(each.node, message, hint)
        is_same = each.value is not None and each.value is head.start.value
        if is_same and each.decl is not None and dtype_of(each.decl.type) != dtype_of(head.decl.type):
            message = f"'{each.decl.spelling}' gets the value of a variable of another type"
            raise read.source.error(each.node, message, hint)


def _step(read: Expressions, change: Node, decl: Node) -> int:
    """The constant that each iteration adds."""
    error, node = read.source.error, change
    if unary := unary_operator(node):
        return 1 if unary.endswith("++") else -1
    value, op = children(node)[1], operator(node)
    total = stripped(value)
    if op == "=" and operator(total) in ("+", "-"):
        value, op = _added(total, decl), f"{operator(total)}="
    step = None if value is None else constant(stripped(value))
    if op not in ("+=", "-=") or not isinstance(step, int) or not step:
        raise error(change, f"'{read.source.text(change)}' is no constant step", "write i += 2, with a number")
    return step if op == "+=" else -step


def _added(total: Node, decl: Node) -> Node | None:
    """2 in i + 2, 2 + i and i - 2."""
    left, right = children(total)
    if _is(left, decl):
        return right
    return left if operator(total) == "+" and _is(right, decl) else None


def _conjuncts(condition: Node) -> list[Node]:
    condition = bare(condition)
    if operator(condition) == "&&":
        return [test for part in children(condition) for test in _conjuncts(part)]
    return [condition]


def _end(read: Expressions, test: Node, decl: Node, dtype: DType, step: int, lo: Expr) -> Expr:
    """What the variable stays before (after, for a negative step)."""
    error, op = read.source.error, operator(test)
    if op not in MIRRORED or op == "==":
        raise error(test, f"the loop condition '{read.source.text(test)}' is no comparison", "write i < hi")
    left, right = children(test)
    if not _is(left, decl):
        left, right, op = right, left, MIRRORED[op]
    if not _is(left, decl):
        hint = f"compare '{decl.spelling}' alone, as in {decl.spelling} < hi"
        raise error(test, f"the loop condition does not compare the loop variable '{decl.spelling}'", hint)
    if any(_is(node, decl) for node in walk(right)):
        hint = "compare the variable with what stays the same"
        raise error(test, f"the bound '{read.source.text(right)}' changes with the loop variable", hint)
    bound = read.bound_of_loop(right)
    if op == "!=" and abs(step) != 1:
        raise error(test, "a loop with != may step over its bound", "write < or >")
    if op != "!=" and (op in ("<", "<=")) != (step > 0):
        raise error(test, f"the loop steps away from its bound in '{read.source.text(test)}'", "turn the step around")
    hi = _plus(bound, 1 if step > 0 else -1) if op in ("<=", ">=") else bound
    last = hi if abs(step) == 1 else _plus(hi, step - 1 if step > 0 else step + 1)  # when the loop ends
    compared = read.dtype(left)
    wraps = dtype.kind == "u" or dtype.bits < 32
    needed: list[Expr] = []
    if wraps and op == "!=":
        needed.append(Binary("<=" if step > 0 else ">=", lo, bound))
    if wraps and not (op in ("<", ">", "!=") and abs(step) == 1 and compared == dtype):
        needed += within(last, dtype)
    if not holds(compared, dtype):
        needed += [*within(lo, compared), *within(last, compared)]
    for condition in needed:
        _require(read, test, condition, decl)
    return hi


def _all_before(lo: Expr, ends: list[Expr], step: int) -> Expr:
    return conjunction(Binary("<" if step > 0 else ">", lo, end) for end in ends)


def _plus(bound: Expr, amount: int) -> Expr:
    """n - 2 + 1 is n - 1."""
    match bound:
        case Const(int(value)):
            return Const(value + amount)
        case Binary("+" | "-" as op, rest, Const(int(value))):
            total = (value if op == "+" else -value) + amount
            return Binary("+" if total > 0 else "-", rest, Const(abs(total))) if total else rest
    return Binary("+" if amount > 0 else "-", bound, Const(abs(amount)))


def _require(read: Expressions, test: Node, condition: Expr, decl: Node) -> None:
    """The test must mean what it says in mathematics, up to the one that ends the loop."""
    try:
        read.proofs.require(condition, read.where)
    except (Unproven, NotAffine):
        message = f"'{decl.spelling}' may wrap around before '{read.source.text(test)}' fails"
        raise read.source.error(test, message, "count and compare in int or long") from None


def _is(node: Node, decl: Node) -> bool:
    """Is it the variable, converted perhaps?"""
    name = variable(node)
    return name is not None and key(name) == key(decl)
