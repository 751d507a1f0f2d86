"""polysched/ir/integers/apart.py: subscripts that never meet, as bounds and conditions show."""

from __future__ import annotations

import random

import pytest
from nests import add, binary, conjunction, const, loop, n, sub, var

from polysched.ir.build import floordiv
from polysched.ir.dtypes import i64
from polysched.ir.integers.apart import are_apart, facts_of, least_value
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Load
from polysched.ir.text import show

i, j, k = var("i"), var("j"), var("k")
LOOPS = {"i": loop("i", 0, n), "j": loop("j", add(i, 1), n), "k": loop("k", add(i, 1), j)}


def facts(*conditions):
    return [fact for cond in conditions for fact in facts_of(cond)]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((i, j), (i, k), True),
        ((i, j), (add(k, 1), j), True),
        ((i, j), (k, j), True),
        ((j,), (add(k, 1),), False),  # met by the last k
        ((i, j), (i, j), False),
        ((i,), (n,), True),
        ((add(i, 2),), (n,), False),
        ((floordiv(i, 2),), (floordiv(i, 2),), False),
        ((add(floordiv(i, 2), 1),), (floordiv(i, 2),), True),
        ((binary("min", i, j),), (n,), True),
        ((binary("max", i, k),), (j,), False),  # though it is: of max only what is below it is known
    ],
    ids=lambda value: ", ".join(map(show, value)) if isinstance(value, tuple) else str(value),
)
def test_bounds_of_loops_tell(one, other, expected):
    assert are_apart(one, other, LOOPS, ()) is expected
    assert are_apart(other, one, LOOPS, ()) is expected


def test_conditions_around_tell_too():
    loops = {"i": loop("i", 0, n), "j": loop("j", 0, n)}
    assert not are_apart((i,), (j,), loops, ())
    assert are_apart((i,), (j,), loops, facts(binary(">=", sub(i, j), 1)))
    assert are_apart((i,), (j,), loops, facts(conjunction([binary("<=", add(i, 2), j), binary(">=", i, 1)])))
    assert not are_apart((i,), (j,), loops, facts(binary(">=", i, j)))


def test_facts_that_lead_to_each_other_end():
    loops = {"i": loop("i", 0, var("m")), "j": loop("j", 0, n), "k": loop("k", 0, n)}
    circular = facts(binary(">=", j, k), binary(">=", k, j), binary(">=", k, i), binary(">=", i, k))
    assert not are_apart((i, j), (k, k), loops, circular)


def test_elements_may_change_after_what_was_said_of_them():
    """if p[0] >= 1: for i in p[0]..n: p[0] = i + 1"""
    element = Load("p", (const(0),), i64)
    loops = {"i": loop("i", element, n), "j": loop("j", 0, element)}
    assert not are_apart((i,), (j,), loops, ())
    assert not are_apart((const(0),), (element,), {}, facts(binary(">=", element, 1)))
    assert not are_apart((element,), (add(element, 1),), {}, ())


def test_what_nothing_bounds_has_no_least_value():
    assert least_value({var("m"): 1}, LOOPS, ()) is None
    assert least_value({j: 1, i: -1}, LOOPS, ()) == 1


@pytest.mark.parametrize("seed", range(150))
def test_random_subscripts_that_are_apart_never_meet(seed):
    rng = random.Random(seed)
    names: list = []
    loops = {}
    for name in "ijk":
        ends = [const(rng.randint(-1, 2)), *names, *(add(outer, rng.randint(-1, 2)) for outer in names)]
        loops[name] = loop(name, rng.choice(ends), binary("min", n, rng.choice([n, *ends])))
        names.append(var(name))
    terms = [*names, n, *(add(name, rng.randint(-2, 2)) for name in names), binary("max", *rng.sample(names, 2))]
    conditions = [binary(rng.choice((">=", "<=")), *rng.sample(terms, 2)) for _ in range(rng.randint(0, 3))]
    pairs = [tuple(tuple(rng.choices(terms, k=2)) for _ in "ab") for _ in range(6)]
    known = facts(*conditions)
    for one, other in pairs:
        if are_apart(one, other, loops, known):
            for values in iterations(loops, {"n": rng.randint(0, 5)}):
                if all(evaluate(cond, values) for cond in conditions):
                    assert [evaluate(x, values) for x in one] != [evaluate(x, values) for x in other]


def test_random_subscripts_are_apart_often_enough():
    assert sum(are_apart((i, j), (i, add(k, d)), LOOPS, ()) for d in range(-3, 3)) == 4


def iterations(loops, values):
    if not loops:
        yield values
        return
    (name, first), *rest = loops.items()
    for value in range(evaluate(first.lo, values), evaluate(first.hi, values)):
        yield from iterations(dict(rest), values | {name: value})
