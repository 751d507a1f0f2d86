"""Values that all names may have together at a place, to tell quickly what cannot be proved there.

    for i in 0..n:          n = 400, i = 0          n = 7, i = 6
        if i < 4:           n = 400, i = 0
            i > 0 ?         is not so there: no need to try and prove it

Without any, all would have to be tried: nothing is taken to hold since it holds for them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from itertools import cycle

from polysched.ir.nodes import Binary, Cast, Const, Expr, For, Let, Select, Unary, Var

Example = dict[str, int]

_SCALES = (400, 0, 6400, 1000, 211, 7, 20, 40000)  # of the sizes, by example
_PARTS = (0.0, 1.0, 0.5, 0.9, 0.2, 0.7)  # of the way from the first value of a loop to its last
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "truncdiv": lambda x, y: x // y if (x < 0) == (y < 0) else -(-x // y),
    "truncmod": lambda x, y: x - y * (x // y if (x < 0) == (y < 0) else -(-x // y)),
    "min": min,
    "max": max,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def first_examples(sizes: Iterable[str]) -> list[Example]:
    """Sizes of several orders of magnitude, in several orders."""
    names = tuple(sizes)
    return [
        {name: scale and scale * (1 + (at + k) * (k + 1) % 4) + at for at, name in enumerate(names)}
        for k, scale in enumerate(_SCALES)
    ]


def inside(examples: list[Example], loop: For) -> list[Example]:
    """Those in the loop's body, each with a value of its variable."""
    found = []
    for example, part in zip(examples, cycle(_PARTS)):
        first, end = value(loop.lo, example), value(loop.hi, example)
        if first is None or end is None:
            found.append(example)
        elif (last := (end - first - (1 if loop.step > 0 else -1)) // loop.step) >= 0:  # the number of the last one
            found.append({**example, loop.var: first + loop.step * int(part * last)})
    return found


def where(examples: list[Example], cond: Expr, holds: bool) -> list[Example]:
    """Those for which the condition holds, or does not."""
    return [example for example in examples if value(cond, example) is not (not holds)]


def after(examples: list[Example], let: Let) -> list[Example]:
    """Those with the name that the Let binds."""
    values = [value(let.value, example) for example in examples]
    return [e if v is None else {**e, let.name: v} for e, v in zip(examples, values, strict=True)]


def value(expr: Expr, example: Example) -> int | None:
    """The value of an integer or condition; None if the example does not tell, or it traps."""
    match expr:
        case Binary(op, left, right):
            return _value_of_binary(op, value(left, example), value(right, example))
        case Var(name):
            return example.get(name)
        case Const(int(number)):
            return number
        case Unary("-", arg):
            found = value(arg, example)
            return None if found is None else -found
        case Unary("!", arg):
            found = value(arg, example)
            return None if found is None else not found
        case Select(cond, then, other):
            test = value(cond, example)
            return None if test is None else value(then if test else other, example)
        case Cast(arg, dtype) if dtype.is_integer:
            return value(arg, example)
    return None


def _value_of_binary(op: str, left: int | None, right: int | None) -> int | None:
    if op == "&&":
        return False if left is False or right is False else None if left is None or right is None else True
    if op == "||":
        return True if left is True or right is True else None if left is None or right is None else False
    if left is None or right is None or op not in _OPERATORS or (right == 0 and op[-3:] in ("div", "mod")):
        return None
    return _OPERATORS[op](left, right)
