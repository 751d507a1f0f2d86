"""Extents in normal form, views, reshapes: the arithmetic under the shapes of operators."""

import random

import numpy as np
import pytest

from polysched.errors import InputError
from polysched.frontend.op.extents import broadcast, is_at_least, normal, quotient, shown
from polysched.frontend.op.lowering.reshape import reshaped_source
from polysched.frontend.op.memory import view
from polysched.frontend.python_expressions import parse_formula
from polysched.ir.build import mul
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Const, Var

N, M = Var("n"), Var("m")


def extent(text):
    return parse_formula(text, ("n", "m", "k"))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("(4 * n - 1 + 3) // 4", "n"),
        ("(4 * n + 7) // 4", "n + 1"),
        ("max(0, n + 1)", "n + 1"),
        ("max(0, n - 1)", "max(n - 1, 0)"),
        ("min(n + m, n)", "n"),
        ("(n + m) * (n - m) + m * m", "n * n"),
        ("(2 * n) % 2", "0"),
        ("3 - n", "3 - n"),
        ("0 - n", "-n"),
        ("(n + 1) // 2 - (n + 1) // 2", "0"),
    ],
)
def test_normal_form(given, found):
    assert str(normal(extent(given))) == found


def test_a_size_may_be_zero():
    assert is_at_least(extent("n + 1"), Const(1)) and not is_at_least(extent("n"), Const(1))


def test_quotient_is_exact_or_none():
    assert quotient(extent("n * m * 4"), extent("2 * m")) == normal(extent("2 * n"))
    assert quotient(N, Const(2)) is None


def test_normal_form_has_the_same_value():
    chance = random.Random(0)

    def made(depth):
        if depth == 0:
            return chance.choice(["n", "m", "1", "2", "5"])
        op = chance.choice(["{} + {}", "{} - {}", "{} * {}", "max({}, {})", "min({}, {})", "({}) // 3", "({}) % 2"])
        return "(" + op.format(made(depth - 1), made(depth - 1)) + ")"

    for _ in range(100):
        expr = extent(made(3))
        for n, m in ((0, 0), (1, 3), (4, 2)):
            values = {"n": n, "m": m}
            assert evaluate(normal(expr), values) == evaluate(expr, values), expr


def test_broadcasting_takes_ones_and_equal_extents():
    assert shown(broadcast([("a", (N, Const(1))), ("b", (M,)), ("c", (Const(2), Const(1), M))])) == "[2, n, m]"


@pytest.mark.parametrize("extent_of_array", [0, 1, 4, 5])
@pytest.mark.parametrize("symbolic", [False, True])
def test_slices_are_those_of_python(extent_of_array, symbolic):
    bounds = (None, 0, 1, 3, 7, -1, -3, -7)
    for start in bounds:
        for stop in bounds:
            for step in (None, 1, 2, 3, -1, -2):
                shape = (N,) if symbolic else (Const(extent_of_array),)
                seen = view("a", shape, (slice(start, stop, step),), "")
                values = {"n": extent_of_array}
                expected = list(range(extent_of_array))[start:stop:step]
                count = evaluate(seen.shape[0], values)
                found = [evaluate(seen.source((Const(k),))[0], values) for k in range(count)]
                assert found == expected, (start, stop, step)


def test_a_view_reads_as_it_is_written():
    seen = view("offset", (N, normal(extent("4 * k"))), (slice(None), None, slice(1, None, 4)), ":, None, 1::4")
    assert str(seen) == "[:, None, 1::4]"
    assert shown(seen.shape) == "[n, 1, k]"
    assert [str(one) for one in seen.source((Var("i"), Const(0), Var("j")))] == ["i", "j * 4 + 1"]


def test_too_many_subscripts():
    with pytest.raises(InputError) as caught:
        view("a", (N,), (0, 1), "0, 1")
    assert str(caught.value) == "'a' has 1 dimension and is given 2 subscripts\nhint: its shape is [n]"


@pytest.mark.parametrize(
    ("shape", "source"),
    [
        ((6, 4), (24,)), ((24,), (2, 3, 4)), ((2, 12), (2, 3, 4)), ((1, 6, 1, 4), (3, 8)), ((4, 6), (6, 4)),
        ((), (1, 1)), ((3, 8), (6, 4)), ((2, 2, 6), (4, 1, 3, 2)), ((4, 9), (2, 6, 3)), ((0, 3), (3, 0)),
        ((2, 0, 3), (0,)),
    ],
)  # fmt: skip
def test_reshape_reads_what_numpy_reads(shape, source):
    array = np.arange(np.prod(source, dtype=int)).reshape(source)
    names = [Var(f"i{k}") for k in range(len(shape))]
    places = reshaped_source(names, tuple(map(Const, shape)), tuple(map(Const, source)))
    for index in np.ndindex(*shape):
        values = {name.name: at for name, at in zip(names, index, strict=True)}
        assert array[tuple(evaluate(place, values) for place in places)] == array.reshape(shape)[index]


def test_dimensions_that_stay_are_not_taken_apart():
    index = (Var("i"), Var("j"))
    assert [str(one) for one in reshaped_source(index, (N, Const(6)), (N, Const(2), Const(3)))] == [
        "i",
        "floordiv(j, 3)",
        "floormod(j, 3)",
    ]


M = Var("m")
NM = normal(mul(N, M))


@pytest.mark.parametrize(
    ("shape", "source", "expected"),
    [
        ((NM,), (N, M), ["floormod(floordiv(i, m), n)", "floormod(i, m)"]),
        ((N, M), (NM,), ["floormod(i * m + j, m * n)"]),
        ((Const(3), normal(mul(2, M))), (Const(6), M), ["floormod(i * 2 + floordiv(j, m), 6)", "floormod(j, m)"]),
        ((normal(mul(N, 2)), M), (N, normal(mul(M, 2))), ["floordiv(i, 2)", "floormod(floormod(i, 2) * m + j, m * 2)"]),
        ((M, N), (N, M), ["floormod(floordiv(i * n + j, m), n)", "floormod(i * n + j, m)"]),
    ],
)
def test_symbolic_axes_are_split_to_digits_of_one_index_and_stay_in_bounds(shape, source, expected):
    assert [str(one) for one in reshaped_source((Var("i"), Var("j"))[: len(shape)], shape, source)] == expected
