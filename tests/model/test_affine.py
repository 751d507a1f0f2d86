"""polysched/model/affine.py: IR expressions as isl functions and sets, and back."""

import random

import pytest

from polysched.ir.build import add, binary, const, floordiv, floormod, mul, sub, var
from polysched.ir.dtypes import boolean, f64
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Binary, Cast, Const, Expr, Load, Select, Unary
from polysched.ir.text import show
from polysched.model.affine import AffineSpace, NotAffine, expression, value_at
from polysched.support import isl

i, j, n = var("i"), var("j"), var("n")
SPACE = AffineSpace("S", ("i", "j"), ("n",))


def test_a_function_by_example():
    assert SPACE.function(add(i, mul(2, j), n)).is_equal(isl.PwAff("[n] -> { S[i, j] -> [(i + 2j + n)] }"))


def test_a_condition_by_example():
    expected = isl.Set("[n] -> { S[i, j] : i < n and j mod 2 = 0 }")
    assert SPACE.where(binary("&&", Binary("<", i, n), Binary("==", floormod(j, 2), const(0)))).is_equal(expected)


@pytest.mark.parametrize(
    "expr",
    [
        mul(i, j),
        mul(i, n),
        floordiv(i, n),
        floordiv(i, 0),
        Load("a", (i,), f64),
        Cast(Load("a", (i,), f64), var("i").dtype),
        var("unknown"),
    ],
    ids=str,
)
def test_what_is_not_affine(expr):
    with pytest.raises(NotAffine):
        SPACE.function(expr)


def test_a_data_dependent_condition_is_not_affine():
    with pytest.raises(NotAffine):
        SPACE.where(Binary(">", Load("a", (i,), f64), const(0, f64)))


@pytest.mark.parametrize("op", ["floordiv", "floormod", "truncdiv", "truncmod"])
@pytest.mark.parametrize("divisor", [-3, -1, 1, 4])
def test_every_division_rounds_as_the_ir_says(op, divisor):
    function = SPACE.function(binary(op, i, divisor))
    for value in range(-7, 8):
        expected = evaluate(binary(op, const(value), divisor), {})
        assert _at(function, value, 0, 5) == expected


def test_functions_and_the_way_back_agree_with_the_interpreter_on_random_expressions():
    rng = random.Random(1)
    build = isl.AstBuild.from_context(isl.Set("[n] -> { [i, j] }").params())
    for _ in range(150):
        expr = _random_expr(rng, 3)
        function = SPACE.function(expr)
        for _ in range(5):
            values = {"i": rng.randint(-6, 6), "j": rng.randint(-6, 6), "n": rng.randint(-3, 9)}
            expected = evaluate(expr, values)
            assert _at(function, values["i"], values["j"], values["n"]) == expected
    sizes_only = AffineSpace("", (), ("n",))
    for _ in range(100):
        expr = _random_expr(rng, 3, (n,))
        function = sizes_only.function(expr).project_domain_on_params()
        back = expression(build.expr_from_pw_aff(function), {"n": n})
        for value in range(-4, 5):
            assert evaluate(back, {"n": value}) == evaluate(expr, {"n": value}), expr


def _at(function: isl.PwAff, i: int, j: int, n: int) -> int:
    point = isl.Map.from_pw_aff(function).intersect_domain(isl.Set(f"[n] -> {{ S[{i}, {j}] : n = {n} }}"))
    return point.range().sample_point().get_coordinate_val(isl.dim_type.set, 0).get_num_si()


def _random_expr(rng: random.Random, depth: int, leaves: tuple[Expr, ...] = (i, j, n)) -> Expr:
    if depth == 0:
        return rng.choice([*leaves, const(rng.randint(-4, 4))])
    a, b = (_random_expr(rng, depth - 1, leaves) for _ in range(2))
    match rng.randrange(7):
        case 0:
            return add(a, b)
        case 1:
            return sub(a, b)
        case 2:
            return mul(rng.randint(-3, 3), a)
        case 3:
            return binary(rng.choice(["min", "max"]), a, b)
        case 4:
            return binary(rng.choice(["floordiv", "floormod", "truncdiv", "truncmod"]), a, rng.choice([-3, 2, 5]))
        case 5:
            return Unary("-", a)
    return Select(binary("||", Binary(rng.choice(["<", "==", "!="]), a, b), Const(False, boolean)), a, b)


def test_the_value_of_a_function_at_an_instance():
    function = isl.PwAff("[n] -> { S[x, y] -> [(n + 2x - floor(y/4))] : y >= 0 }")
    found = value_at(function, ("i", "j"))
    for i, j in ((0, 0), (3, 7), (-2, 9)):
        assert evaluate(found, {"n": 5, "i": i, "j": j}) == 5 + 2 * i - j // 4, show(found)
