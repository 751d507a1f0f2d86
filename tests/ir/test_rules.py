"""Every rule of the simplifier is proved: for all values of a small type, all constants, awkward floats, traps, loads.

A rule with one operand is tried on all bytes, with two on all pairs of 4 bits, with three on all triples of 3 bits:
the rules know no width. Floats are a set that has every special value.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from polysched.ir.build import const
from polysched.ir.dtypes import ALL, DType, boolean, f16, f32, f64, i8, i64, u8
from polysched.ir.interp import Touch, evaluate, interpret
from polysched.ir.node import walk
from polysched.ir.nodes import (
    ARITHMETIC,
    COMPARISONS,
    Array,
    Binary,
    Cast,
    Const,
    Expr,
    Function,
    Let,
    Load,
    Store,
    Var,
)
from polysched.ir.patterns import Found, Hole, Node, Pattern, Rule, call, instance, lift, total
from polysched.ir.simplify import RULES, simplify
from polysched.ir.verify import verify

x, y, c, d = Hole("x"), Hole("y"), Hole("c", constant=True), Hole("d", constant=True)
minimum, select, both = call("min"), call("?:"), call("&&")

_I4, _U4, _I3, _U3 = DType("i4", "i", 4), DType("u4", "u", 4), DType("i3", "i", 3), DType("u3", "u", 3)
# Types whose values are all tried, by how many operands there are.
_WHOLE = {1: (i8, u8), 2: (_I4, _U4), 3: (_I3, _U3), 4: (_I3, _U3)}
_LARGEST = {f64: 1.7976931348623157e308, f32: 3.4028234663852886e38, f16: 65504.0}
_LEAST = {f64: 5e-324, f32: 2.0**-149, f16: 2.0**-24}


def _shown(rule: Rule) -> str:
    """`x + 0 -> x: fiu`"""
    types = {hole.name: boolean if hole.name == "z" else i64 for hole in _occurrences(rule.before)}
    found: Found = {name: Var(name, dtype) for name, dtype in types.items()}
    return f"{instance(rule.before, found, i64)} -> {instance(rule.after, found, i64)}: {rule.kinds}"


@pytest.mark.parametrize("rule", RULES, ids=_shown)
def test_rule(rule: Rule) -> None:
    assert prove(rule) > 0, "the rule never applied"


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.conditions and rule.kinds != "i"], ids=_shown)
def test_no_rule_holds_without_its_conditions(rule: Rule) -> None:
    """But for those of signed integers alone, which say in which of two equal ways a sum is written."""
    with pytest.raises(AssertionError, match="for"):
        prove(Rule(rule.kinds, rule.before, rule.after, ()))


@pytest.mark.parametrize(
    "wrong",
    [
        Rule("iu", x - x, lift(1), (total(x),)),
        Rule("iu", x * 0, lift(0), ()),  # x may trap
        Rule("iu", (x + y) // y, x // y + 1, ()),  # x + y wraps
        Rule("iu", (x * y) // y, x, ()),
        Rule("iu", (x * 2) // 2, x, ()),
        Rule("i", x + 1 > x, lift(True), (total(x),)),
        Rule("iu", (x // c) // d, x // (c * d), ()),  # c * d wraps
        Rule("i", x // 2, x >> 2, ()),
        Rule("i", call("truncdiv")(x, 2), x // 2, ()),  # rounds -1 / 2 down
        Rule("i", call("truncmod")(x, c), x % c, ()),
        Rule("u", x // y, y // x, ()),
        Rule("iu", minimum(x, y), minimum(y, x + 0 * y), ()),  # loads y first
        Rule("f", x + 0.0, x, ()),  # -0.0 + 0.0 is 0.0
        Rule("f", 0.0 - x, -x, ()),
        Rule("f", x - x, lift(0.0), (total(x),)),  # inf - inf is NaN
        Rule("f", x * 0.0, lift(0.0), (total(x),)),
        Rule("f", minimum(x, y), minimum(y, x), ()),  # min(0.0, -0.0) is 0.0, with NaN it is the first
        Rule("f", x / 3.0, x * (1 / 3), ()),
        Rule("b", call("!")(x < y), x >= y, ()),  # NaN
        Rule("b", both(x, y), both(y, x), ()),  # y may trap where x is false
        Rule("iu", select(Hole("z"), x, x), x, ()),
    ],
    ids=_shown,
)
def test_a_wrong_rule_is_found(wrong: Rule) -> None:
    with pytest.raises(AssertionError, match="for"):
        prove(wrong)


@pytest.mark.parametrize("rule", RULES, ids=_shown)
def test_no_rule_evaluates_an_operand_more_often(rule: Rule) -> None:
    before, after = (Counter(h for h in _occurrences(p) if not h.constant) for p in (rule.before, rule.after))
    assert after <= before


def test_a_constant_is_what_the_operation_gives() -> None:
    """All operations on all pairs of 3 bits: the constant that replaces them, or they stay, if they trap."""
    for dtype, op in itertools.product((_I3, _U3), ARITHMETIC | COMPARISONS):
        for left, right in itertools.product(_values(dtype), repeat=2) if op != "/" else ():
            expr = Binary(op, Const(left, dtype), Const(right, dtype))
            folded = simplify(expr)
            assert _value(folded, {}) == _value(expr, {})
            assert isinstance(folded, Const) or right == -1 or _value(expr, {}) in ("trap", "undefined")
            assert _is_well_typed(folded)


def test_casts_of_casts_are_one_where_no_bit_is_lost() -> None:
    for first, through, last in itertools.product(ALL.values(), repeat=3):
        expr = Cast(Cast(Var("v", first), through), last)
        simple = simplify(expr)
        for value in _awkward(first) if simple is not expr else ():
            if (expected := _value(expr, {"v": value})) != "undefined":
                assert _value(simple, {"v": value}) == expected, f"{expr} is not {simple} for {value}"


# --- the proof


def prove(rule: Rule) -> int:
    """On how many expressions the rule was tried; AssertionError where what it makes of one is something else."""
    holes = sorted(set(_occurrences(rule.before)), key=lambda hole: hole.name)
    tried = 0
    for dtype in (*_WHOLE[max(1, len(holes))], boolean, f64, f32, f16):
        tried += _same_values(rule, holes, dtype, Var)
        tried += _same_values(rule, holes, dtype, _trapping)
    for dtype in (i8, u8, boolean, f64):
        _same_loads(rule, holes, dtype)
    return tried


Operand = Callable[[str, DType], Expr]  # what stands for the hole of that name


def _same_values(rule: Rule, holes: list[Hole], dtype: DType, operand: Operand) -> int:
    """Tries all constants, and all values of the variables in the operands, with operations at `dtype`."""
    tried = 0
    for before, after in _applications(rule, holes, dtype, operand, _values(dtype)):
        tried += 1
        variables = {node.name: node.dtype for node in walk(before) if isinstance(node, Var)}
        for chosen in itertools.product(*map(_values, variables.values())):
            values = dict(zip(variables, chosen, strict=True))
            expected, actual = _value(before, values), _value(after, values)
            assert actual == expected, f"{before} is {expected}, and {after} is {actual}, for {values}"
    return tried


def _applications(
    rule: Rule, holes: list[Hole], dtype: DType, operand: Operand, constants: tuple[Any, ...]
) -> Iterator[tuple[Expr, Expr]]:
    """What the rule replaces, and by what, for all constants."""
    types = {hole.name: boolean if hole.name == "z" else dtype for hole in holes}
    found: Found = {hole.name: operand(hole.name, types[hole.name]) for hole in holes}
    fixed = [hole.name for hole in holes if hole.constant]
    before_checked = after_checked = False
    for chosen in itertools.product(constants, repeat=len(fixed)):
        found |= {name: Const(value, dtype) for name, value in zip(fixed, chosen, strict=True)}
        before = instance(rule.before, found, dtype)
        if not before_checked and not _is_well_typed(before):
            return
        before_checked = True
        after = rule.apply(before, lambda expr: expr)
        if after is not None:
            assert after_checked or (after.dtype == before.dtype and _is_well_typed(after)), f"{after} for {before}"
            after_checked = True
            yield before, after


def _trapping(name: str, dtype: DType) -> Expr:
    """Has every value of the type, and may trap: an integer where it is zero, others beside their value."""
    variable = Var(name, dtype)
    if dtype.is_integer:
        return Binary("+", variable, Binary("floordiv", Const(0, dtype), variable))
    zero = Binary("floordiv", Const(0, i8), Cast(Var(f"{name}'", boolean), i8))
    if dtype == boolean:
        return Binary("==", Binary("==", zero, Const(0, i8)), variable)
    return Binary("-", variable, Cast(zero, dtype))


def _same_loads(rule: Rule, holes: list[Hole], dtype: DType) -> None:
    """With elements of arrays for operands: the same ones are loaded, first in the same order."""

    def operand(name: str, of: DType) -> Expr:
        return Load(name, (const(0),), of)

    for before, after in _applications(rule, holes, dtype, operand, _values(dtype)[:4]):
        loaded = {node.array: node.dtype for node in walk(before) if isinstance(node, Load)}
        for chosen in itertools.product((0, 1), repeat=len(loaded)):
            data = {name: np.array([value], of.numpy) for (name, of), value in zip(loaded.items(), chosen, strict=True)}
            expected, actual = _loads(before, loaded, data), _loads(after, loaded, data)
            assert actual == expected, f"{before} loads {expected}, and {after} loads {actual}, for {data}"


def _loads(expr: Expr, loaded: dict[str, DType], data: dict[str, np.ndarray]) -> list[str] | str:
    arrays = tuple(Array(name, dtype, (const(1),)) for name, dtype in {**loaded, "out": expr.dtype}.items())
    log: list[Touch] = []
    out = np.zeros(1, expr.dtype.numpy)
    try:
        interpret(Function("f", (), arrays, (Store("out", (const(0),), expr),)), {**data, "out": out}, log)
    except (ZeroDivisionError, ValueError):
        return "trap"
    return list(dict.fromkeys(touch.array for touch in log if touch.kind == "read"))


def _values(dtype: DType) -> tuple[Any, ...]:
    """All values of a small type; of floats, those that are special."""
    match dtype.kind:
        case "b":
            return False, True
        case "i":
            half = 1 << dtype.bits - 1
            return tuple(range(-half, half))
        case "u":
            return tuple(range(1 << dtype.bits))
    top, least = _LARGEST[dtype], _LEAST[dtype]
    return 0.0, -0.0, 1.0, -1.5, 3.0, top, -top, least, -least, math.inf, -math.inf, math.nan


def _awkward(dtype: DType) -> tuple[Any, ...]:
    """Some values of any type, those at its edges among them."""
    if not dtype.is_integer or dtype.bits <= 8:
        return _values(dtype)
    least, end = (0, 1 << dtype.bits) if dtype.kind == "u" else (-(1 << dtype.bits - 1), 1 << dtype.bits - 1)
    odd = [(1 << k) + 1 for k in (7, 8, 11, 15, 16, 24, 31, 32, 53)]
    return tuple(v for v in (least, least + 1, -1, 0, 1, *odd, end - 2, end - 1) if least <= v < end)


def _value(expr: Expr, values: dict[str, Any]) -> str:
    """The value to the bit (any NaN is nan), or the trap."""
    try:
        return repr(evaluate(expr, values))
    except ZeroDivisionError:
        return "trap"
    except (ValueError, OverflowError):
        return "undefined"


def _is_well_typed(expr: Expr) -> bool:
    scalars = tuple({node.name: node for node in walk(expr) if isinstance(node, Var)}.values())
    loads = {node.array: Array(node.array, node.dtype, (const(1),)) for node in walk(expr) if isinstance(node, Load)}
    try:
        verify(Function("f", (), tuple(loads.values()), (Let("result", expr),), scalars), "lowered")
    except AssertionError:
        return False
    return True


def _occurrences(pattern: Pattern) -> Iterator[Hole]:
    match pattern:
        case Hole():
            yield pattern
        case Node(_, args):
            for arg in args:
                yield from _occurrences(arg)
