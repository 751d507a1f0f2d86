"""polysched/ir/integers/facts.py: what loops and conditions say about values."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from polysched.ir.build import add, binary, const, floordiv, floormod, load, mul, sub, var
from polysched.ir.dtypes import boolean, f64, i32, i64
from polysched.ir.integers import knowledge
from polysched.ir.integers.examples import Examples
from polysched.ir.integers.facts import Facts
from polysched.ir.interp import evaluate
from polysched.ir.nodes import (
    COMPARISONS,
    LARGEST_SIZE,
    Array,
    Binary,
    Cast,
    Const,
    Expr,
    For,
    Function,
    Let,
    Select,
    Unary,
)
from polysched.ir.text import show
from tests.nests import loop

a, b, i, j, k, m, n, p, t = (var(name) for name in "abijkmnpt")
V = Array("V", i64, (n,))


def facts(*loops: For, sizes="nmk", shapes=(), largest=LARGEST_SIZE, examples=True) -> Facts:
    """Without `examples`, nothing but proofs keeps a fact from being wrong."""
    arrays = tuple(Array(f"A{at}", f64, shape) for at, shape in enumerate(shapes))
    here = Facts.of(Function("f", tuple(sizes), arrays, ()), largest)
    here = here if examples else Facts(replace(here.around, examples=Examples(0, {})))
    for each in loops:
        here = here.inside(each)
    return here


def lt(left, right):
    return binary("<", left, right)


BLOCKS = loop("b", 0, floordiv(add(n, 31), 32))
POINTS = loop("i", mul(32, b), binary("min", n, add(mul(32, b), 32)))


def test_a_tile_and_the_points_in_it():
    inside = facts(BLOCKS, POINTS)
    assert inside.is_nonnegative(i)
    assert inside.is_positive(n)
    assert inside.is_positive(sub(n, i))
    assert inside.decides(lt(sub(i, mul(32, b)), 32)) is True
    assert inside.decides(lt(i, 0)) is False
    assert inside.decides(lt(i, 32)) is None
    assert inside.is_at_most(mul(32, b), i)
    assert inside.congruence(add(mul(32, b), 7)) == (32, 7)
    assert inside.under(lt(i, 40)).range(i) == (0, 39)


def test_sizes_are_not_known_to_be_positive():
    assert facts().is_nonnegative(n)
    assert not facts().is_positive(n)
    assert facts(loop("i", 0, n)).is_positive(n)
    assert facts(loop("i", 3, n)).is_positive(sub(n, 3))
    assert facts(loop("i", n, -1, step=-1)).range(i)[0] == 0
    assert not facts(loop("i", n, -1, step=-1)).is_positive(n)
    assert facts(loop("i", 0, mul(n, m)), shapes=[(n, m)]).is_positive(m)
    assert not facts(loop("i", 0, add(n, m))).is_positive(m)


def test_no_factor_of_a_product_that_is_positive_is_zero():
    inside = facts(loop("i", 0, mul(n, m)))  # which may wrap
    assert inside.is_positive(n) and inside.is_positive(m) and not inside.is_positive(k)
    assert facts(loop("i", 0, binary("max", mul(n, m), 1))).is_positive(n) is False
    assert facts(loop("i", sub(n, 1), mul(n, m))).is_positive(m) is False


def test_a_loop_that_steps():
    assert facts(For("i", const(3), n, 8, ())).congruence(add(mul(i, 2), 1)) == (16, 7)
    assert facts(For("i", n, const(0), -4, ())).congruence(i) == (1, 0)
    down = facts(For("i", const(13), m, -4, ()))
    assert down.congruence(i) == (4, 1)
    assert down.decides(binary("==", floormod(i, 4), 1)) is True
    assert down.decides(binary("==", i, 6)) is False
    assert down.range(i) == (1, 13)


def test_conditions_bound_all_that_is_in_them():
    cond = lt(j, sub(n, i))
    here = facts(loop("i", 0, add(n, 5)), loop("j", 0, m)).under(cond)
    assert here.is_nonnegative(sub(n, add(i, j, 1)))
    assert here.decides(lt(i, n)) is True
    assert here.is_positive(n)
    outside = facts(loop("i", 0, add(n, 5)), loop("j", 0, m)).unless(cond)
    assert outside.is_nonnegative(sub(add(i, j), n))
    assert outside.decides(lt(i, n)) is None
    assert outside.decides(lt(n, add(i, j))) is None  # they may be equal


def test_conjunctions_and_what_is_the_same_condition():
    positive, data = lt(0, a), binary("!=", floormod(a, 7), 3)
    here = facts().under(binary("&&", positive, data))
    assert here.is_positive(a)
    assert here.decides(data) is True
    assert here.decides(Unary("!", data)) is False
    assert here.decides(binary("||", lt(a, 0), data)) is True
    assert here.decides(binary("&&", data, lt(n, m))) is None
    assert facts().decides(binary("&&", lt(n, 8), lt(8, n))) is False
    assert facts().unless(binary("||", lt(a, 3), data)).is_positive(a)
    assert facts().unless(binary("&&", lt(a, 3), data)).decides(data) is None


def test_a_value_that_is_not_zero():
    assert facts().under(binary("!=", a, 0)).is_nonzero(a)
    assert not facts().under(binary("!=", a, 0)).is_positive(a)
    assert facts().under(binary("!=", n, 0)).is_positive(n)
    assert facts().unless(binary("==", n, 0)).is_positive(n)
    assert not facts().is_nonzero(n)
    assert facts().is_nonzero(add(mul(a, 4), 2))  # wrapped or not


def test_what_is_loaded_may_change():
    loaded = load(V, i)
    here = facts(loop("i", 0, n)).under(lt(loaded, 0))
    assert here.decides(lt(loaded, 0)) is None
    bound = here.binding(Let("t", loaded)).under(lt(t, 5))
    assert bound.decides(lt(t, 6)) is True
    assert bound.decides(lt(loaded, 6)) is None
    twice = bound.binding(Let("u", loaded))
    assert twice.decides(binary("==", t, var("u"))) is None


def test_names_stand_for_their_values():
    here = facts(BLOCKS, POINTS).binding(Let("t", sub(i, mul(b, 32))))
    assert here.is_nonnegative(t)
    assert here.decides(lt(t, 32)) is True
    assert here.decides(binary("==", add(t, mul(b, 32)), i)) is True


def test_quotients_and_remainders():
    flat = facts(loop("t", 0, mul(n, m)), shapes=[(n, m)])
    assert flat.decides(lt(floordiv(t, m), n)) is True
    assert flat.decides(lt(floormod(t, m), m)) is True
    assert flat.is_nonnegative(floordiv(t, m))
    assert not flat.is_nonnegative(floordiv(sub(t, 1), m))
    assert flat.is_nonnegative(binary("truncdiv", sub(t, 1), 2))
    assert flat.range(floormod(a, 8)) == (0, 7)
    assert flat.range(binary("truncmod", a, 8)) == (-7, 7)
    assert flat.range(binary("&", a, 7)) == (0, 7)


def test_sums_of_sizes_may_wrap_unless_sizes_are_bounded():
    assert not facts(BLOCKS, largest=knowledge.LARGEST).is_positive(n)
    assert not facts(largest=knowledge.LARGEST).is_nonnegative(add(n, 1))
    assert facts(largest=knowledge.LARGEST - 1).is_nonnegative(add(n, 1))
    assert facts(loop("i", 0, n), largest=knowledge.LARGEST).is_positive(add(i, 1))


def test_products_of_sizes_may_wrap_unless_an_array_is_as_large():
    assert not facts().is_nonnegative(mul(n, m))
    assert facts(shapes=[(n, m)]).is_nonnegative(mul(n, m))
    assert facts(shapes=[(add(n, 1), m)]).is_nonnegative(mul(n, m))
    assert not facts(shapes=[(n, m, k)]).is_nonnegative(mul(n, m))  # k may be zero
    assert facts(loop("i", 0, k), shapes=[(n, m, k)]).is_nonnegative(mul(n, m))
    flat = facts(loop("i", 0, n), loop("j", 0, m), shapes=[(n, m)])
    assert flat.is_exact(add(mul(i, m), j))
    assert flat.decides(lt(add(mul(i, m), j), mul(n, m))) is True
    assert not facts(loop("i", 0, n), loop("j", 0, m)).is_exact(add(mul(i, m), j))
    assert not flat.is_exact(mul(a, 2))


def test_other_types_have_the_ranges_of_their_types():
    p32 = var("p", i32)
    assert facts().range(p32) == (-(2**31), 2**31 - 1)
    assert facts().range(add(Cast(p32, i64), 1)) == (1 - 2**31, 2**31)
    assert not facts().is_nonnegative(add(binary("max", p32, 0), 1))
    under = facts().under(lt(p32, 7))
    assert under.decides(lt(add(p32, 1), 9)) is True
    assert under.decides(lt(sub(p32, 1), 9)) is None  # of the least p, it is the largest number
    assert under.range(p32)[1] == 6
    assert facts().decides(lt(var("x", f64), 0.0)) is None
    assert facts().decides(Const(True, boolean)) is True
    assert facts().decides(var("flag", boolean)) is None
    assert facts().under(var("flag", boolean)).decides(var("flag", boolean)) is True
    assert facts().under(Unary("!", var("flag", boolean))).decides(var("flag", boolean)) is False


def test_nothing_is_changed_by_what_is_known_further_in():
    outer = facts(loop("i", 0, m))
    assert not outer.is_positive(n)
    assert outer.under(lt(i, n)).is_positive(n)
    assert not outer.is_positive(n)
    assert not outer.unless(lt(i, n)).is_positive(n)


@pytest.mark.parametrize("seed", range(80))
def test_every_fact_is_true(seed):
    """For all values that small sizes give the names: of loops, of a Let, of a scalar."""
    rng = random.Random(seed)
    loops = [_random_loop(rng, "i", "nm"), _random_loop(rng, "j", "nmi")]
    let = Let("t", _random(rng, "nmija", 2))
    conds = [(_random_condition(rng, "nmijta"), rng.random() < 0.5) for _ in range(rng.randint(0, 3))]
    shapes = [(n, m)] if rng.random() < 0.5 else ()
    here = facts(*loops, sizes="nm", shapes=shapes, examples=seed % 4 == 0).binding(let)
    for cond, holds in conds:
        here = here.under(cond) if holds else here.unless(cond)
    questions = [_random(rng, "nmijta", 3) for _ in range(12)]
    claims = [_random_condition(rng, "nmijta") for _ in range(12)]
    claims += [binary(op, cond.left, cond.right) for cond, _ in conds for op in COMPARISONS if _compares(cond)]
    known = [
        (e, here.is_nonnegative(e), here.is_positive(e), here.is_nonzero(e), here.range(e), here.congruence(e))
        for e in questions
    ]
    decided = [(claim, here.decides(claim)) for claim in claims]
    for values in _instances(loops):
        for scalar in (-(2**63), -3, 0, 2, 2**63 - 1):
            values |= {"a": scalar}
            try:
                values["t"] = evaluate(let.value, values)
                if any(bool(evaluate(cond, values)) != holds for cond, holds in conds):
                    continue
            except ZeroDivisionError:
                continue
            _check(known, decided, values)


@pytest.mark.parametrize("seed", range(40))
def test_every_fact_is_true_of_huge_sizes(seed):
    rng = random.Random(seed)
    largest = rng.choice((2**63 - 1, 2**63 - 40, 2**62, 2**61 + 5, 2**31))
    here = facts(sizes="nm", shapes=[(n, m)], largest=largest, examples=seed % 4 == 0)
    cond = _random_condition(rng, "nm")
    here = here.under(cond)
    questions = [_random(rng, "nm", 3) for _ in range(20)]
    known = [
        (e, here.is_nonnegative(e), here.is_positive(e), here.is_nonzero(e), here.range(e), here.congruence(e))
        for e in questions
    ]
    decided = [(claim, here.decides(claim)) for claim in (_random_condition(rng, "nm") for _ in range(20))]
    numbers = (0, 1, 2, 3, 5, 2**20, largest // 4, largest // 3, largest // 2, largest - 1, largest)
    for values in (dict(zip("nm", pair, strict=True)) for pair in itertools.product(numbers, repeat=2)):
        if values["n"] * values["m"] > largest:
            continue
        try:
            holds = evaluate(cond, values)
        except ZeroDivisionError:
            continue
        if holds:
            _check(known, decided, values)


def _compares(cond: Expr) -> bool:
    return isinstance(cond, Binary) and cond.op in COMPARISONS


def _check(known, decided, values) -> None:
    for expr, nonnegative, positive, nonzero, (low, high), (modulus, rest) in known:
        try:
            value = evaluate(expr, values)
        except ZeroDivisionError:
            continue
        where = f"{show(expr)} is {value} at {values}"
        assert value >= 0 or not nonnegative, where
        assert value > 0 or not positive, where
        assert value != 0 or not nonzero, where
        assert low <= value <= high, f"{where}, not {low}..{high}"
        assert value % modulus == rest if modulus else value == rest, f"{where}, not {modulus}, {rest}"
    for claim, holds in decided:
        try:
            assert holds is None or evaluate(claim, values) == holds, f"{show(claim)} is not {holds} at {values}"
        except ZeroDivisionError:
            continue


def _instances(loops):
    def nested(depth, values):
        if depth == len(loops):
            yield dict(values)
            return
        each = loops[depth]
        try:
            numbers = range(evaluate(each.lo, values), evaluate(each.hi, values), each.step)
        except ZeroDivisionError:
            return
        for number in numbers:
            yield from nested(depth + 1, {**values, each.var: number})

    for sizes in itertools.product((0, 1, 2, 5), repeat=2):
        yield from nested(0, dict(zip("nm", sizes, strict=True)))


def _random_loop(rng: random.Random, name: str, names: str) -> For:
    lo = rng.choice((const(0), const(rng.randint(-2, 3)), _random(rng, names, 1)))
    hi = rng.choice((n, m, add(_random(rng, names, 1), rng.randint(0, 3))))
    hi, lo = (binary("min", hi, 9), binary("max", lo, -9))
    step = rng.choice((1, 1, 1, 2, 3, -1, -2))
    return For(name, *((lo, hi) if step > 0 else (hi, lo)), step, ())


def _random_condition(rng: random.Random, names: str) -> Expr:
    kind = rng.random()
    if kind < 0.15:
        return binary(rng.choice(("&&", "||")), _random_condition(rng, names), _random_condition(rng, names))
    if kind < 0.2:
        return Unary("!", _random_condition(rng, names))
    op = rng.choice(("<", "<=", ">", ">=", "==", "!="))
    return binary(op, _random(rng, names, 2), _random(rng, names, 1))


def _random(rng: random.Random, names: str, depth: int) -> Expr:
    if depth == 0 or rng.random() < 0.2:
        return var(rng.choice(names)) if rng.random() < 0.75 else const(rng.randint(-3, 8))
    left, right = (_random(rng, names, rng.randrange(depth)) for _ in range(2))
    match rng.choice(
        ("+", "+", "-", "-", "*", "min", "max", "div", "mod", "by", "select", "&", "shift", "neg", "cast")
    ):
        case "div":
            return binary(rng.choice(("floordiv", "truncdiv")), left, rng.randint(2, 5))
        case "mod":
            return binary(rng.choice(("floormod", "truncmod")), left, rng.randint(2, 5))
        case "by":
            return binary(rng.choice(("floordiv", "floormod", "truncdiv", "truncmod")), left, right)
        case "select":
            return Select(lt(left, right), left, right)
        case "&":
            return binary("&", left, rng.choice((1, 3, 6)))
        case "shift":
            return binary(rng.choice(("<<", ">>")), left, rng.randint(0, 3))
        case "neg":
            return Unary("-", left)
        case "cast":
            return Cast(Cast(left, i32), i64)
        case op:
            return binary(op, left, right)
