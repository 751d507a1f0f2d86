import random

import pytest

from polysched.codegen.expr.normalize import normalize
from polysched.ir.build import add, binary, const, floordiv, lift, load, mul, store, sub, var
from polysched.ir.dtypes import boolean, f64, i32, i64
from polysched.ir.node import walk
from polysched.ir.nodes import Array, Barrier, Binary, Call, Expr, Function, If, Let, Select, Stmt, Unary
from polysched.ir.text import show
from polysched.ir.verify import verify
from tests.codegen.programs import random_program, texts_with_hash_seed
from tests.nests import arguments_for, assert_same_outcome, canonical, loop, nest, random_nest

A, OUT, F = (Array(name, dtype, (const(100),)) for name, dtype in (("A", i64), ("Out", i64), ("F", f64)))
i, j, k, n, m = map(var, "ijknm")
x, y, z = (var(name, f64) for name in "xyz")
p, q, r, s = (var(name, boolean) for name in "pqrs")
TRAPS = binary(">", floordiv(n, m), 3)  # m may be zero


def in_loops(*body: Stmt) -> Function:
    """`body` inside of for i: for j: for k, each of 0..8."""
    scalars = (x, y, z, p, q, r, s)
    return nest("f", "n m", (A, OUT, F), loop("i", 0, 8, loop("j", 0, 8, loop("k", 0, 8, *body))), scalars=scalars)


def normal(expr: Expr, *, fast_math: bool = False) -> str:
    """The text of `expr` normalised inside of the loops i, j, k."""
    fn = normalize(in_loops(Let("value", expr)), fast_math=fast_math)
    return show(fn).splitlines()[-1].strip().removeprefix("value = ")


def less(left: Expr | int, right: Expr | int) -> Expr:
    return binary("<", lift(left), right)


def both(*operands: Expr) -> Expr:
    return binary("&&", *operands)


def test_operands_come_in_the_order_of_the_loops_they_depend_on():
    assert normal(add(k, mul(i, 4), n, j)) == "n + i * 4 + j + k"


def test_operands_of_equal_rank_are_one_operand():
    assert normal(add(k, i, j, mul(i, i), k)) == "i + i * i + j + (k + k)"
    assert normal(mul(j, n, i, m)) == "n * m * i * j"


def test_what_is_computed_from_a_let_has_the_rank_of_its_definition():
    fn = in_loops(Let("late", mul(k, 2)), Let("early", mul(i, 2)), Let("value", add(var("late"), j, var("early"))))
    assert "value = early + j + late" in show(normalize(fn))


def test_a_load_is_last_since_it_never_moves():
    assert normal(add(load(A, n), mul(k, 2), i)) == "i + (A[n] + k * 2)"


def test_A20_a_constant_is_the_last_addend():
    assert normal(add(1, k, i)) == "i + k + 1"
    assert normal(sub(add(k, i), 1)) == "i + k - 1"
    assert normal(sub(1, k)) == "1 - k"


def test_a_constant_factor_goes_with_what_moves_furthest():
    assert normal(mul(32, i)) == "i * 32"
    assert normal(mul(k, 4, i)) == "i * 4 * k"
    assert normal(binary("min", k, const(4), i)) == "min(min(i, 4), k)"


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (sub(k, i), "k - i"),
        (sub(sub(k, i), n), "k - (n + i)"),
        (sub(i, sub(j, k)), "i - j + k"),
        (Unary("-", add(k, i)), "-(i + k)"),
        (Unary("-", sub(k, i)), "i - k"),
        (sub(sub(k, add(i, i)), sub(i, n)), "n - (i + i + i) + k"),
        (add(Unary("-", i), Unary("-", j)), "-(i + j)"),
    ],
)
def test_subtraction_is_addition_of_the_negative_and_costs_no_more(expr, text):
    assert normal(expr) == text


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (add(mul(n, add(j, k)), mul(add(m, k), 4)), "m * 4 + n * j + (n + 4) * k"),
        (sub(mul(n, sub(j, k)), mul(add(k, i), m)), "n * j - m * i + -(n + m) * k"),
        (add(mul(k, n), mul(m, k), 1), "(n + m) * k + 1"),
        (add(mul(n, add(i, j)), mul(add(m, j), 4), k), "m * 4 + n * i + (n + 4) * j + k"),  # for the loop j as well
        (add(mul(n, add(j, k)), i), "i + n * (j + k)"),  # one product stays, whatever is done
        (mul(add(j, k), add(i, k)), "(j + k) * (i + k)"),
        (sub(mul(sub(0, n), sub(mul(load(A, k), n), 1)), 0), "n + (0 - n) * n * A[k] - (0 + 0)"),
    ],
)
def test_the_distributive_law_where_a_product_leaves_the_loop(expr, text):
    assert normal(expr) == text


def test_floats_are_not_distributed():
    z_k, y_k = (binary("*", one, load(F, k)) for one in (z, y))
    assert normal(add(z_k, y_k), fast_math=True) == "z * F[k] + y * F[k]"


def test_nor_is_anything_in_a_kernel():
    body = loop("k", 0, 8, store(A, (k,), add(mul(k, n), mul(m, k))))
    fn = nest("f", "n m", (A,), loop("i", 0, 8, body, kind="block.x"))
    assert "A[k] = n * k + m * k" in show(normalize(fn))


def test_integers_wrap_and_stay_exact():
    big = const(2**31 - 1, i32)
    a, b = (Array(name, i32, (const(1),)) for name in "ab")
    value = sub(add(big, load(a, 0), mul(var("t", i32), 3)), big)
    fn = nest("f", "", (a, b), loop("i", 0, 3, store(b, (0,), value)), scalars=(var("t", i32),))
    assert_same_outcome(fn, normalize(fn), arguments_for(fn, random.Random(1), 0))


def test_floats_are_left_alone_but_for_fast_math():
    late = binary("*", Call("sqrt", (x,), f64), Call("noise", (), f64))
    assert normal(add(binary("*", load(F, k), z), y)) == "F[k] * z + y"
    assert normal(add(binary("*", load(F, k), z), y), fast_math=True) == "y + z * F[k]"
    assert normal(binary("min", load(F, k), y), fast_math=True) == "min(F[k], y)"  # not commutative: NaN, -0.0
    assert normal(late) == "sqrt(x) * noise()"


def test_calls_with_effects_keep_their_order():
    one, two = (Call(name, (arg,), i64, pure=False) for name, arg in (("first", k), ("second", i)))
    assert normal(add(one, two, n)) == "first(k) + second(i) + n"


def test_A3_one_candidate_of_a_conjunction():
    assert normal(both(less(3, j), less(3, i), less(j, 56), less(i, 56))) == "3 < i && i < 56 && (3 < j && j < 56)"


def test_A4_nested_conditionals_with_equal_branches_become_one():
    inner = Select(both(less(j, 56), less(i, 56)), const(1), const(0))
    outer = Select(both(less(3, j), less(3, i)), inner, const(0))
    assert normal(outer) == "3 < i && i < 56 && (3 < j && j < 56) ? 1 : 0"


@pytest.mark.parametrize(
    ("nested", "text"),
    [
        (Select(p, x, Select(q, x, y)), "p || q ? x : y"),
        (Select(p, y, Select(q, x, y)), "!p && q ? x : y"),
        (Select(p, Select(q, x, y), y), "p && q ? x : y"),
        (Select(p, Select(q, x, y), x), "!p || q ? x : y"),
        (Select(p, Select(q, x, y), z), "p ? (q ? x : y) : z"),
        (Select(p, Select(q, Select(r, x, y), y), y), "p && q && r ? x : y"),
        (Select(p, x, Select(q, x, Select(r, x, y))), "p || q || r ? x : y"),
        (Select(p, add(n, i), Select(q, add(i, n), m)), "p || q ? n + i : m"),  # equal once normalised
        (Select(p, lift(0.0, f64), Select(q, lift(-0.0, f64), x)), "p ? 0.0 : q ? -0.0 : x"),  # not the same zero
    ],
)
def test_A4_each_rule(nested, text):
    assert normal(nested) == text


def test_A9_only_operands_that_cannot_trap_move():
    assert normal(both(less(k, n), binary(">", load(A, k), 0), less(i, n))) == "k < n && A[k] > 0 && i < n"
    assert normal(both(binary("!=", m, 0), TRAPS, p)) == "m != 0 && floordiv(n, m) > 3 && p"
    assert normal(both(less(k, n), less(i, n), TRAPS, r)) == "i < n && k < n && floordiv(n, m) > 3 && r"


def test_division_by_what_a_loop_makes_positive_may_move():
    division = less(floordiv(n, m), i)
    fn = nest("f", "n m", (OUT,), loop("i", 0, m, loop("j", 0, m, Let("value", both(less(j, 3), division)))))
    assert "value = floordiv(n, m) < i && j < 3" in show(normalize(fn))


def test_A12_adjacent_ifs_with_equal_conditions_become_one():
    one, two = store(OUT, (i,), 1), store(OUT, (j,), 2)
    fn = in_loops(If(less(add(k, i), n), (one,)), If(less(add(i, k), n), (two,), (one,)))
    assert show(normalize(fn)).splitlines()[4:] == [
        "                if i + k < n:",
        "                    Out[i] = 1",
        "                    Out[j] = 2",
        "                else:",
        "                    Out[i] = 1",
    ]


def test_A12_ifs_that_meet_when_others_merge_do_too():
    inner = [If(less(k, m), (store(OUT, (at,), 1),)) for at in (i, j)]
    fn = normalize(in_loops(*(If(less(i, n), (each,)) for each in inner)))
    assert sum(isinstance(node, If) for node in walk(fn.body)) == 2


POSITIVE = binary(">", load(A, 0), 0)


@pytest.mark.parametrize(
    ("cond", "between"),
    [
        (POSITIVE, store(A, (0,), 0)),
        (POSITIVE, Barrier()),
        (POSITIVE, store(OUT, (0,), Call("next", (), i64, pure=False))),
        (binary(">", Call("next", (), i64, pure=False), 0), store(OUT, (0,), 0)),
        (less(i, n), Let("again", i)),
    ],
)
def test_A12_ifs_stay_apart(cond, between):
    fn = in_loops(If(cond, (between,)), If(cond, (store(OUT, (1,), 1), Let("again", j))))
    assert normalize(fn) is fn


def test_normal_functions_come_back_as_they_are():
    for fn in canonical():
        normal_fn = normalize(fn)
        assert normalize(normal_fn) is normal_fn


def operations(fn: Function) -> int:
    """All but the `!` that merging conditions may cost."""
    return sum(isinstance(node, Binary | Select) or getattr(node, "op", "!") != "!" for node in walk(fn.body))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_compute_the_same_bits_with_no_more_operations(seed):
    rng = random.Random(seed)
    fn = random_program(rng) if seed % 3 else random_nest(rng)
    normal_fn = normalize(fn)
    verify(normal_fn, "source")
    assert normalize(normal_fn) is normal_fn
    assert operations(normal_fn) <= operations(fn)
    for size in (0, 2):
        assert_same_outcome(fn, normal_fn, arguments_for(fn, rng, size))


@pytest.mark.slow
def test_A14_the_same_text_for_every_hash_seed():
    assert len({texts_with_hash_seed(normalize, seed) for seed in range(3)}) == 1
