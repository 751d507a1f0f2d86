"""polysched/codegen/gpu/footprint.py: the boxes of an array that a block of threads reads."""

from __future__ import annotations

import random

import pytest
from nests import loop

from polysched.codegen.gpu.footprint import Box, footprint, in_locals, union
from polysched.codegen.memory.tile_nest import Side, side_of
from polysched.ir.build import Operand, add, binary, floormod, mul, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.integers.linear import Linear, expression, forms
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Expr, Load
from polysched.ir.text import show

b, c, i, j, k, n, t = (var(name) for name in "bcijknt")


def side(name: str, start: Operand, trips: int) -> Side:
    found = side_of(loop(name, start, add(start, trips)), [name])
    assert found is not None
    return found


T, K = side("t", mul(16, b), 16), side("k", mul(8, c), 8)


def shown(box: Box | None) -> list[str]:
    assert box is not None
    return [f"{extent} from {terms(origin)}" for origin, extent in zip(box.origin, box.extents, strict=True)]


def terms(form: Linear) -> str:
    return " + ".join(sorted(show(expression({atom: factor})) for atom, factor in form.items() if factor)) or "0"


def test_a_box_begins_where_its_loops_do_and_is_as_long_as_they_are():
    assert shown(footprint((t, k), (T, K))) == ["16 from b * 16", "8 from c * 8"]


def test_reads_next_to_each_other_share_a_box():
    left, right = (footprint((t, part), (T, K)) for part in (sub(k, 1), add(k, 1)))
    assert shown(union(left, right)) == ["16 from b * 16", "10 from -1 + c * 8"]
    assert union(left, right) == union(right, left)
    assert union(left, left) == left


def test_a_box_inside_of_another_changes_nothing():
    long, short = footprint((add(t, k),), (T, K)), footprint((add(t, mul(8, c), 3),), (T,))
    assert shown(long) == shown(union(long, short)) == shown(union(short, long)) == ["23 from b * 16 + c * 8"]


def test_reads_whose_distance_is_no_constant_have_no_box_around_them():
    assert union(footprint((t,), (T,)), footprint((add(t, n),), (T,))) is None


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (mul(2, t), "31 from b * 32"),
        (sub(n, t), "16 from -15 + b * -16 + n"),
        (add(mul(2, t), mul(-1, k)), "38 from -7 + b * 32 + c * -8"),
        (sub(t, mul(16, b)), "16 from 0"),
        (add(n, 3), "1 from 3 + n"),
    ],
    ids=["strided", "reversed", "both ways", "relative", "in place"],
)
def test_strides_and_signs(index, expected):
    assert shown(footprint((index,), (T, K))) == [expected]


def test_points_count_from_the_start_of_their_thread():
    points = side("i", mul(4, t), 4)
    assert shown(footprint((i,), (T, points))) == ["64 from b * 64"]


@pytest.mark.parametrize(
    "index",
    [mul(t, t), mul(t, n), floormod(t, 4), binary("min", t, n), Load("x", (t,), i64)],
    ids=["square", "times a size", "modulo", "least", "gathered"],
)
def test_what_is_not_linear_has_no_box(index):
    assert footprint((index,), (T,)) is None


@pytest.mark.parametrize("seed", range(50))
def test_random_subscripts_run_through_exactly_their_box(seed):
    """As far as its ends go, and counted by the counters of `in_locals`; the elements between may be skipped."""
    rng = random.Random(seed)
    points = side("i", add(mul(4, t), rng.randint(-2, 2)), rng.randint(1, 4))
    sides = (side("t", add(mul(8, b), n), rng.randint(1, 5)), side("k", sub(mul(3, c), n), rng.randint(1, 5)), points)
    index = add(*(mul(rng.randint(-2, 2), v) for v in (t, k, i, n)), rng.randint(-3, 3))
    box = footprint((index,), sides)
    where = {"b": rng.randint(0, 3), "c": rng.randint(0, 3), "n": rng.randint(0, 9)}
    counters: dict[str, Expr] = {"t": var("t0"), "k": var("k0"), "i": var("i0")}
    inside = in_locals(forms(index, upper=True)[0], sides, counters)
    values, counted = [], []
    for t0 in range(sides[0].trips):
        for k0 in range(sides[1].trips):
            for i0 in range(points.trips):
                env = where | {"t0": t0, "k0": k0, "i0": i0}
                for each, count in zip(sides, (t0, k0, i0), strict=True):
                    env[each.loop.var] = value(each.start, env) + count
                values.append(evaluate(index, env))
                counted.append(value(inside, {name: v for name, v in env.items() if name not in "tki"}))
    first = value(box.origin[0], where)
    assert (min(values), max(values)) == (first, first + box.extents[0] - 1)
    assert counted == values


def value(form: Linear, env: dict[str, int]) -> int:
    return int(evaluate(expression(form), env))
