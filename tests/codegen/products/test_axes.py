"""polysched/codegen/products/axes.py: loops that are run as one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from polysched.codegen.products.axes import digits, is_flat, number
from polysched.ir.build import add, binary, mul
from polysched.ir.dtypes import f32, f64
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Cast, Const, Expr, Load, Select, Var
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.transform.analysis.axes import Axes, lies_by_terms, steps_alike, strides

PIXELS = Axes({"z": 3, "y": 4, "x": 5})
q, y, x = Var("q"), Var("y"), Var("x")


def test_the_common_number_and_its_digits():
    assert show(simplify(number(PIXELS))) == "(z * 4 + y) * 5 + x"
    assert {name: show(value) for name, value in digits(PIXELS, q).items()} == {
        "x": "floormod(q, 5)",
        "y": "floormod(floordiv(q, 5), 4)",
        "z": "floordiv(q, 20)",
    }


def test_one_loop_is_its_own_number():
    assert number(Axes({"x": 5})) == x
    assert digits(Axes({"x": 5}), q) == {"x": q}


def test_no_loops_have_the_number_zero():
    assert number(Axes({})) == Const(0)
    assert digits(Axes({}), q) == {}
    assert Axes({}).size == 1


def test_digits_are_those_of_each_number():
    for count, place in enumerate(product(*map(range, PIXELS.extents.values()))):
        own = dict(zip(PIXELS.extents, place, strict=True))
        assert evaluate(number(PIXELS), own) == count
        assert {name: evaluate(value, {"q": count}) for name, value in digits(PIXELS, q).items()} == own


@pytest.mark.parametrize(
    ("index", "shape", "expected"),
    [
        ((y, x), (4, 5), True),
        ((Var("b"), y, x), (2, 4, 5), True),
        ((y, x), (9, 5), True),  # there may be more of the first
        ((y, x), (4, 6), False),  # but not of the others
        ((x, y), (5, 4), False),
        ((y, x, Var("b")), (4, 5, 2), False),
        ((y, add(x, 1)), (4, 6), False),
        ((mul(y, 2), x), (8, 5), False),
        ((x,), (5,), False),
    ],
)
def test_what_lies_in_memory_number_by_number(index: tuple[Expr, ...], shape: tuple[int, ...], expected: bool):
    assert is_flat(Load("A", index, f32), Axes({"y": 4, "x": 5}), tuple(map(Const, shape))) == expected


def test_what_lies_in_memory_term_by_term():
    terms = Axes({"c": 3, "k": 7})
    element = Load("A", (y, Var("k")), f32)
    assert lies_by_terms(element, terms)
    assert not lies_by_terms(Load("A", (Var("k"), y), f32), terms)
    assert not lies_by_terms(Load("A", (Var("k"), Var("c")), f32), terms)
    assert not lies_by_terms(Load("A", (add(y, Var("k")),), f32), terms)
    assert lies_by_terms(Cast(element, f64), terms)
    assert not lies_by_terms(Select(Var("c"), element, element), terms)


@pytest.mark.parametrize(
    ("index", "shape", "expected"),
    [
        ((y, x), (4, 5), True),
        ((y, x, Var("b")), (4, 5, 7), True),
        ((y, 0, x, Var("b")), (4, 1, 5, 7), True),
        ((add(mul(y, 5), x), Var("b")), (20, 7), True),
        ((Var("b"), 3), (4, 5), True),  # not far at all
        ((y, x), (4, 6), False),
        ((x, y), (5, 4), False),
        ((y, Var("b"), x), (4, 7, 5), False),
        ((y, binary("floordiv", x, 2)), (4, 5), False),
        ((y, binary("min", x, 3)), (4, 5), False),
    ],
)
def test_whether_an_element_steps_alike(index, shape, expected):
    load = Load("A", tuple(part if isinstance(part, Expr) else Const(part) for part in index), f32)
    axes = Axes({"y": 4, "x": 5})
    assert steps_alike(load, axes, tuple(map(Const, shape))) == expected
    places = [np.ravel_multi_index([evaluate(i, {"b": 2, "y": r, "x": c}) for i in load.index], shape) for r, c in
              product(range(4), range(5))]  # fmt: skip
    assert expected == (len(set(np.diff(places))) == 1)


def test_strides_of_digits():
    assert strides(PIXELS) == [20, 5, 1]
