"""polysched/codegen/loops/borders.py: lanes with guarded loads, and those without."""

import random
from dataclasses import replace

import nests
import numpy as np
import pytest

import polysched as ps
from polysched.codegen.loops.borders import borders_apart
from polysched.frontend.python import parse_nest
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import For, Function, If, Select
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.ir.verify import verify

HEAD = "def f(o: f64['m', 'n'], a: f64['m + 2', 'n + 2'], k: i64['n'], m: size, n: size):\n"


def lanes(value: str, loop: str = "range(n)") -> Function:
    """A nest over rows, with a SIMD loop that stores the value."""
    text = f"{HEAD}    for y in range(m):\n        for x in {loop}:\n            o[y, x] = {value}\n"

    def rule(node):
        return replace(node, kind="vector") if isinstance(node, For) and node.var == "x" else None

    fn: Function = rewrite(parse_nest(text, "borders.py"), rule)
    return fn


def guarded(*conditions: str) -> str:
    """A sum of loads that are guarded so."""
    return " + ".join(f"(a[y, x] if {condition} else 1.5)" for condition in conditions)


def guards(fn: Function) -> list[int]:
    """How many guards there are in each SIMD loop."""
    loops = (node for node in walk(fn.body) if isinstance(node, For) and node.kind == "vector")
    return [sum(isinstance(node, Select | If) for node in walk(loop.body)) for loop in loops]


def test_the_lanes_in_the_middle_have_no_guards():
    fn = lanes(guarded("y >= 1 and x >= 1", "x >= 1", "x + 2 < n"))
    assert show(simplify(borders_apart(fn))).partition("for y")[2] == """\
 in 0..m:
        g0 = y >= 1 ? min(n, 1) : n
        for g2 in 0..g0 (vector):
            o[y, g2] = (y >= 1 && g2 >= 1 ? a[y, g2] : 1.5) + (g2 >= 1 ? a[y, g2] : 1.5) + (g2 + 2 < n ? a[y, g2] : 1.5)
        g1 = max(min(n, n - 2), g0)
        for g3 in g0..g1 (vector):
            o[y, g3] = a[y, g3] + a[y, g3] + a[y, g3]
        for g4 in g1..n (vector):
            o[y, g4] = (y >= 1 && g4 >= 1 ? a[y, g4] : 1.5) + (g4 >= 1 ? a[y, g4] : 1.5) + (g4 + 2 < n ? a[y, g4] : 1.5)"""  # noqa: E501


@pytest.mark.parametrize(
    ("conditions", "parts"),
    [
        (("x >= 1", "x >= 2", "2 * x >= 5"), [3, 0]),
        (("x <= 3", "n > x + 1", "3 * x < 7"), [3, 0, 3]),
        (("y >= 1", "y < m - 1", "y > 1"), [3, 0]),
        (("x >= 4 and x < 3", "x >= 1", "y >= x"), [3, 0, 3]),
        (("x >= n", "x >= 1", "x >= 1"), [3, 0]),
        (("-x >= y - 4", "x + y >= 2", "5 - x > 0"), [3, 0, 3]),
    ],
)
def test_every_lane_gets_the_same_bits(conditions, parts):
    """Also where none, or all, are in the middle, and where there are no lanes at all."""
    fn = lanes(guarded(*conditions))
    done = borders_apart(fn)
    verify(done, "lowered")
    assert guards(done) == parts
    for size in range(8):
        nests.assert_same_outcome(fn, done, nests.arguments_for(fn, random.Random(size), size))


@pytest.mark.parametrize(
    "value",
    [
        guarded("x >= 1", "x >= 2"),
        guarded("x >= 1", "x >= 2", "x != 3"),
        guarded("x >= 1", "x >= 2", "a[y, x] > 0"),
        guarded("x >= 1", "x >= 2", "k[x] > 0"),
        guarded("x >= 1", "x >= 2", "x >= 4 or x < 1"),
        guarded("x >= 1", "x >= 2", "x * x >= 4"),
    ],
)
def test_few_guards_and_those_of_no_range_stay(value):
    fn = lanes(value)
    assert borders_apart(fn) == fn


def test_steps_stay():
    fn = lanes(guarded("x >= 1", "x >= 2", "x >= 3"), "range(0, n, 2)")
    assert borders_apart(fn) == fn


@ps.nest
def by_value(a: ps.f32["c", "h", "w"], o: ps.f32["c", "h", "w"], c: ps.size, h: ps.size, w: ps.size):
    for k in range(c):
        for y in range(h):
            for x in range(w):
                o[k, y, x] = -3e38
                for r in range(3):
                    for s in range(3):
                        o[k, y, x] = max(
                            o[k, y, x],
                            a[k, y + r - 1, x + s - 1] if 0 <= y + r - 1 < h and 0 <= x + s - 1 < w else -3e38,
                        )


@ps.nest
def by_branch(a: ps.f32["c", "h", "w"], o: ps.f32["c", "h", "w"], c: ps.size, h: ps.size, w: ps.size):
    for k in range(c):
        for y in range(h):
            for x in range(w):
                o[k, y, x] = -3e38
                for r in range(3):
                    for s in range(3):
                        if 0 <= y + r - 1 < h and 0 <= x + s - 1 < w:
                            o[k, y, x] = max(o[k, y, x], a[k, y + r - 1, x + s - 1])


@pytest.mark.parametrize("pool", [by_value, by_branch])
@pytest.mark.parametrize(("h", "w"), [(9, 21), (1, 1), (2, 3)])
def test_pooling_loads_without_masks_inside(pool, h, w):
    done = ps.optimize(pool)
    before, middle, after = guards(done.kernel)
    assert before > 0 == middle < after
    a = np.random.default_rng(5).standard_normal((3, h, w), np.float32)
    o = np.zeros_like(a)
    padded = np.pad(a, ((0, 0), (1, 1), (1, 1)), constant_values=np.float32(-3e38))
    done(a=a, o=o)
    expected = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2)).max(axis=(3, 4))
    np.testing.assert_array_equal(o, expected)
