import random
import re

import pytest

from polysched.codegen.loops.unswitch import unswitch
from polysched.ir.build import add, binary, const, floordiv, load, mul, store, var
from polysched.ir.dtypes import boolean, f64, i64
from polysched.ir.interp import interpret
from polysched.ir.node import walk
from polysched.ir.nodes import SHUFFLE, Alloc, Array, Barrier, Call, Expr, For, Function, If, Let, Select, Stmt, Unary
from polysched.ir.text import show
from polysched.ir.verify import verify
from tests.codegen.programs import random_program, texts_with_hash_seed
from tests.nests import arguments_for, assert_same_outcome, canonical, loop, nest, random_nest

OUT, F = Array("Out", i64, (const(1000),)), Array("F", f64, (const(1000),))
i, j, k, n, m, b, t = map(var, "ijknmbt")
x = var("x", f64)


def function(*body: Stmt) -> Function:
    return nest("f", "n m", (OUT, F), *body, scalars=(x, var("p", boolean)))


def nested(*body: Stmt) -> Function:
    """`body` inside of for i: for j: for k."""
    return function(loop("i", 0, n, loop("j", 0, n, loop("k", 0, m, *body))))


def less(left: Expr | int, right: Expr | int) -> Expr:
    return binary("<", left, right)


def put(value: int, at: Expr = k) -> Stmt:
    return store(OUT, (at,), value)


def lines(fn: Function) -> str:
    """The body after the pass, which must be final, and as good as `fn` where its loops run and where they do not."""
    after = unswitch(fn)
    verify(after, "lowered")
    assert unswitch(after) is after
    for size in (0, 3):
        assert_same_outcome(fn, after, arguments_for(fn, random.Random(size), size))
    return show(after.body)


def stays(fn: Function) -> bool:
    return unswitch(fn) is fn


def test_A10_above_the_outermost_loop_in_which_it_does_not_change():
    assert lines(nested(If(less(i, 2), (put(1),), (put(2),)))) == (
        "for i in 0..n:\n"
        "    if i < 2:\n"
        "        for j in 0..n:\n"
        "            for k in 0..m:\n"
        "                Out[k] = 1\n"
        "    else:\n"
        "        for u1 in 0..n:\n"
        "            for u0 in 0..m:\n"
        "                Out[u0] = 2"
    )


def test_A10_a_condition_on_two_loops_stops_inside_of_both():
    assert lines(nested(If(less(add(i, j), 2), (put(1),), (put(2),)))) == (
        "for i in 0..n:\n"
        "    for j in 0..n:\n"
        "        if i + j < 2:\n"
        "            for k in 0..m:\n"
        "                Out[k] = 1\n"
        "        else:\n"
        "            for u0 in 0..m:\n"
        "                Out[u0] = 2"
    )


def test_A10_nested_ifs_each_above_their_own_loop():
    assert lines(nested(If(less(j, 2), (If(less(i, 3), (put(1),)),)))) == (
        "for i in 0..n:\n"
        "    if i < 3:\n"
        "        for j in 0..n:\n"
        "            if j < 2:\n"
        "                for k in 0..m:\n"
        "                    Out[k] = 1"
    )


def test_A10_a_condition_on_no_loop_variable_goes_above_all_loops():
    assert lines(nested(If(less(n, m), (put(1),)))) == (
        "if n < m:\n    for i in 0..n:\n        for j in 0..n:\n            for k in 0..m:\n                Out[k] = 1"
    )


def test_A10_only_an_else():
    assert lines(nested(If(less(n, m), (), (put(1),)))).startswith("if n >= m:\n    for i in 0..n:\n")


def test_A10_the_invariant_part_of_a_conjunction():
    assert lines(nested(If(binary("&&", less(j, k), less(i, 2), less(i, m)), (put(1),)))) == (
        "for i in 0..n:\n"
        "    if i < 2 && i < m:\n"
        "        for j in 0..n:\n"
        "            for k in 0..m:\n"
        "                if j < k:\n"
        "                    Out[k] = 1"
    )


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("op", ["&&", "||"])
def test_A10_a_condition_of_several_moves_as_a_whole(op, negated):
    cond = binary(op, less(n, 2), less(m, 3))
    text = lines(function(loop("k", 0, m, If(Unary("!", cond) if negated else cond, (put(1),), (put(2),)))))
    assert text.count("if ") == 1
    assert text.count("Out") == 2


def test_A10_the_condition_of_a_select():
    assert lines(function(loop("k", 0, m, store(OUT, (k,), add(Select(less(n, 2), k, n), 1))))) == (
        "if n < 2:\n    for k in 0..m:\n        Out[k] = k + 1\nelse:\n    for u0 in 0..m:\n        Out[u0] = n + 1"
    )


def stores(fn: Function) -> int:
    return sum(type(node).__name__ == "Store" for node in walk(fn.body))


def test_A10_at_most_four_copies():
    ifs = [If(less(n, 10 * value), (put(value, add(k, value)),)) for value in range(1, 8)]
    fn = function(loop("k", 0, m, *ifs, put(0)))
    assert stores(unswitch(fn)) <= 4 * stores(fn)
    assert lines(fn).count("] = 0") == 4


def test_A10_nothing_large_is_copied():
    large = store(OUT, (k,), add(*[mul(k, value) for value in range(20)]))
    small = function(loop("k", 0, m, If(less(n, 2), (put(1),)), put(3, add(k, 1))))
    assert stays(function(loop("k", 0, m, If(less(n, 2), (put(1),)), large)))
    assert stays(function(loop("k", 0, m, If(less(n, 2), (put(1),)), loop("j", 0, n, put(3, j)))))
    assert not stays(small)
    assert unswitch(small, most_growth=0) is small
    assert not stays(function(loop("k", 0, m, If(less(n, 2), (large,)))))  # which is not copied


def test_what_stands_beside_the_inner_loop_is_not_copied():
    fn = function(loop("i", 0, n, put(1, i), loop("k", 0, m, If(less(n, 2), (put(1),)), put(2))))
    assert lines(fn) == (
        "for i in 0..n:\n"
        "    Out[i] = 1\n"
        "    if n < 2:\n"
        "        for k in 0..m:\n"
        "            Out[k] = 1\n"
        "            Out[k] = 2\n"
        "    else:\n"
        "        for u0 in 0..m:\n"
        "            Out[u0] = 2"
    )


def test_A11_two_conditions_in_one_body_give_up_to_four_loops():
    assert lines(function(loop("k", 0, m, If(less(n, 2), (put(1),)), If(less(m, 3), (put(2),))))) == (
        "if n < 2:\n"
        "    if m < 3:\n"
        "        for k in 0..m:\n"
        "            Out[k] = 1\n"
        "            Out[k] = 2\n"
        "    else:\n"
        "        for u1 in 0..m:\n"
        "            Out[u1] = 1\n"
        "else:\n"
        "    if m < 3:\n"
        "        for u0 in 0..m:\n"
        "            Out[u0] = 2"
    )


@pytest.mark.parametrize(
    ("second", "both"),
    [
        (less(n, 2), True),
        (binary(">", const(2), n), True),
        (binary("<=", n, 1), True),
        (binary(">=", n, 2), False),
        (binary(">", n, 1), False),
    ],
)
def test_A11_equal_and_opposite_conditions_share_one_split(second, both):
    fn = function(loop("k", 0, m, If(less(n, 2), (put(1),)), put(0), If(second, (put(2),))))
    then, other = lines(fn).split("else:")
    stored = [re.findall(r"\] = (\d)", branch) for branch in (then, other)]
    assert stored == ([["1", "0", "2"], ["0"]] if both else [["1", "0"], ["0", "2"]])
    assert then.count("if ") + other.count("if ") == 1


def test_A11_loops_side_by_side_share_one_too():
    loops = [loop(name, 0, m, If(less(n, 2), (put(1, var(name)),))) for name in "jk"]
    assert lines(function(loop("i", 0, n, *loops))) == (
        "if n < 2:\n"
        "    for i in 0..n:\n"
        "        for j in 0..m:\n"
        "            Out[j] = 1\n"
        "        for k in 0..m:\n"
        "            Out[k] = 1"
    )


def test_a_condition_stays_if_an_outcome_decides_nothing():
    """Of the loop without it nothing is left; the one with it would be asked again, and again."""
    traps = binary("&&", binary("!=", n, 0), less(1, binary("truncdiv", m, n)))
    same = Select(binary("&&", traps, less(n, m)), k, k)
    never = binary("&&", binary("!=", k, 8), binary("!=", same, k))
    assert stays(function(loop("k", 0, m, If(never, (put(1),)))))


def test_A11_a_condition_that_loads_stays():
    positive = binary(">", load(OUT, 0), 0)
    assert stays(function(loop("k", 0, m, If(positive, (put(1),)))))
    assert stays(function(loop("k", 0, m, Let("s", load(OUT, 0)), If(less(var("s"), 2), (put(1),)))))


def in_a_kernel(cond: Expr, *rest: Stmt) -> Function:
    steps = loop("k", 0, m, If(cond, (put(1, add(t, k)),)), *rest)
    return function(loop("b", 0, n, loop("t", 0, 32, Let("s", mul(t, 2)), steps, kind="thread.x"), kind="block.x"))


def test_A11_threads_stay_together_at_a_barrier():
    shuffle = store(F, (k,), Call(SHUFFLE, (x, const(1)), f64))
    for meeting in (Barrier(), shuffle):
        assert stays(in_a_kernel(less(t, 2), meeting))
        assert stays(in_a_kernel(less(var("s"), 2), meeting))
        assert not stays(in_a_kernel(less(b, 2), meeting))
        assert not stays(in_a_kernel(less(n, 2), meeting))


def test_a_warp_does_not_run_two_copies():
    assert stays(in_a_kernel(less(t, 2), put(0)))
    assert not stays(in_a_kernel(less(b, 2), put(0)))
    assert not stays(in_a_kernel(less(t, 2)))


def test_a_condition_stays_inside_of_the_loops_of_a_kernel():
    assert lines(in_a_kernel(less(n, 2))) == (
        "for b in 0..n (block.x):\n"
        "    for t in 0..32 (thread.x):\n"
        "        s = t * 2\n"
        "        if n < 2:\n"
        "            for k in 0..m:\n"
        "                Out[t + k] = 1"
    )


def test_shared_memory_is_not_taken_twice():
    shared = [Alloc(Array("S", i64, (const(8),), space)) for space in ("shared", "private")]
    assert stays(in_a_kernel(less(n, 2), shared[0], put(0)))
    assert not stays(in_a_kernel(less(n, 2), shared[1], put(0)))


@pytest.mark.parametrize("kind", ["parallel", "dynamic"])
def test_parallel_loops_stay_outermost_and_keep_what_is_said_about_them(kind):
    steps = loop("k", 0, m, If(less(n, 2), (put(1),)), kind="vector")
    parallel = For("i", const(0), n, 1, (steps,), kind, when=(less(n, m),), reduces=("Out",))
    (after,) = unswitch(function(loop("t", 0, n, parallel))).body
    assert show(after).splitlines()[1:] == [
        f"    for i in 0..n ({kind} if n < m, reduces Out):",
        "        if n < 2:",
        "            for k in 0..m (vector):",
        "                Out[k] = 1",
    ]


def test_short_loops_are_statements():
    fn = function(loop("j", 0, n, loop("k", 0, 3, If(less(n, 2), (put(1),), (put(2),)))))
    assert lines(fn).startswith("if n < 2:\n    for j in 0..n:\n")
    assert stays(function(loop("k", 0, 3, If(less(n, 2), (put(1),), (put(2),)))))


def test_a_condition_that_may_trap_stays_where_its_divisor_may_be_zero():
    quotient = less(floordiv(n, m), 3)
    assert stays(function(loop("k", 0, n, If(quotient, (put(1),)))))
    guarded = If(binary("!=", m, 0), (loop("k", 0, n, If(quotient, (put(1),))),))
    assert lines(function(loop("i", 0, n, guarded))) == (
        "if m != 0:\n"
        "    if floordiv(n, m) < 3:\n"
        "        for i in 0..n:\n"
        "            for k in 0..n:\n"
        "                Out[k] = 1"
    )


def test_a_condition_leaves_behind_what_may_trap_before_it():
    fn = function(loop("k", 0, n, If(binary("&&", less(floordiv(n, m), 3), less(n, 2)), (put(1),))))
    for each in (fn, unswitch(fn)):
        with pytest.raises(ZeroDivisionError):
            interpret(each, {**arguments_for(fn, random.Random(1), 3), "m": 0})


@pytest.mark.parametrize("op", ["&&", "||"])
def test_a_condition_leaves_a_load_before_it(op):
    cond = binary(op, less(load(OUT, k), 3), less(n, 2))
    fn = function(loop("k", 0, n, If(cond, (put(1),), (put(2),))))
    assert (
        lines(fn)
        == {
            "&&": (
                "if n < 2:\n"
                "    for k in 0..n:\n"
                "        if Out[k] < 3:\n"
                "            Out[k] = 1\n"
                "        else:\n"
                "            Out[k] = 2\n"
                "else:\n"
                "    for u0 in 0..n:\n"
                "        Out[u0] = 2"
            ),
            "||": show(fn.body),  # operands of || do not move alone
        }[op]
    )


def test_a_condition_that_a_let_computes():
    flag = Let("flag", less(mul(i, 2), 3))
    assert lines(function(loop("i", 0, n, loop("k", 0, m, flag, If(var("flag", boolean), (put(1),), (put(2),)))))) == (
        "for i in 0..n:\n"
        "    if i * 2 < 3:\n"
        "        for k in 0..m:\n"
        "            flag = true\n"
        "            Out[k] = 1\n"
        "    else:\n"
        "        for u0 in 0..m:\n"
        "            u1 = false\n"
        "            Out[u0] = 2"
    )


def test_names_that_other_blocks_bind_stay_in_theirs():
    branches = [(Let("s", mul(k, factor)), put(factor, var("s"))) for factor in (2, 3)]
    fn = function(loop("k", 0, m, If(less(n, 2), *branches)))
    after = unswitch(fn)
    verify(after, "source")
    assert_same_outcome(fn, after, arguments_for(fn, random.Random(1), 3))


def test_functions_without_conditions_come_back_as_they_are():
    assert all(unswitch(fn) is fn for fn in canonical() if "if " not in show(fn.body))


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_compute_the_same_bits(seed):
    rng = random.Random(seed)
    fn = random_program(rng) if seed % 3 else random_nest(rng)
    after = unswitch(fn)
    verify(after, "source")
    assert unswitch(after) is after
    assert stores(after) <= 4 * stores(fn)
    for size in (0, 2):
        assert_same_outcome(fn, after, arguments_for(fn, rng, size))


@pytest.mark.slow
def test_A14_the_same_text_for_every_hash_seed():
    assert len({texts_with_hash_seed(unswitch, seed) for seed in range(3)}) == 1
