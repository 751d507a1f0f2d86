import random
from dataclasses import replace

import pytest

from polysched import trace
from polysched.codegen.passes.cost import cost
from polysched.codegen.passes.count import integer_operations
from polysched.codegen.passes.licm import licm
from polysched.codegen.passes.normalize import normalize
from polysched.codegen.passes.stage import improve_expressions
from polysched.ir.build import add, binary, const, floordiv, load, mul, store, sub, var
from polysched.ir.dtypes import boolean, f32, f64, i64
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, Barrier, Call, Cast, Const, Expr, Function, If, Let, Load, Select, Stmt
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.options import Options
from tests.codegen.programs import random_program, texts_with_hash_seed
from tests.nests import arguments_for, assert_same_outcome, canonical, jacobi_2d, loop, nest, random_nest

A, B, C = (Array(name, f32, (const(1 << 20),)) for name in "ABC")
OUT = Array("Out", i64, (const(100),))
i, j, k, n, m, a, b, c = map(var, "ijknmabc")
x, y = var("x", f64), var("y", f64)


def function(*body: Stmt) -> Function:
    return nest("f", "n m", (A, B, C, OUT), *body, scalars=(a, b, c, x, y))


def text(fn: Function) -> str:
    """The body of `fn`, with the text of a Python block."""
    return show(fn.body)


def lets(fn: Function) -> list[str]:
    return [show(node) for node in walk(fn.body) if isinstance(node, Let)]


def less(left: Expr | int, right: Expr | int) -> Expr:
    return binary("<", Const(left) if isinstance(left, int) else left, right)


def vector_add() -> Function:
    index = add(mul(var("i_outer"), 32), var("i_inner"))
    update = store(C, (index,), add(load(A, index), load(B, index)))
    return function(loop("i_outer", 0, 4, loop("i_inner", 0, 32, update)))


def test_A1_vector_add():
    before, after = vector_add(), licm(normalize(vector_add()))
    assert text(after) == (
        "for i_outer in 0..4:\n"
        "    t0 = i_outer * 32\n"
        "    for i_inner in 0..32:\n"
        "        C[t0 + i_inner] = A[t0 + i_inner] + B[t0 + i_inner]"
    )
    assert integer_operations(before).executed == 768
    assert integer_operations(after).executed == 388


def tiled_matmul() -> Function:
    names = ("xo", "yo", "ko", "ki", "xi", "yi")
    xo, yo, ko, ki, xi, yi = map(var, names)
    at_c = add(mul(xo, 32768), mul(xi, 1024), mul(yo, 32), yi)
    at_a = add(mul(xo, 32768), mul(xi, 1024), mul(ko, 32), ki)
    at_b = add(mul(ko, 32768), mul(ki, 1024), mul(yo, 32), yi)
    body: Stmt = store(C, (at_c,), add(load(C, at_c), mul(load(A, at_a), load(B, at_b))))
    for name in reversed(names):
        body = loop(name, 0, 32, body)
    return function(body)


def test_A2_tiled_matmul():
    fn = tiled_matmul()
    assert str(integer_operations(fn)) == "24 integer operations, 25769803776 executed, 0 temporaries"
    assert str(integer_operations(licm(fn))) == "17 integer operations, 3459318816 executed, 7 temporaries"
    after = licm(normalize(fn))
    assert str(integer_operations(after)) == "18 integer operations, 3358723104 executed, 9 temporaries"
    assert text(after).splitlines()[-1].strip() == "C[t7 + yi] = C[t7 + yi] + A[t8] * B[t6 + yi]"


def test_A3_one_candidate_of_a_conjunction():
    cond = binary("&&", less(3, i), less(3, j), less(i, const(56)), less(j, const(56)))
    fn = function(loop("j", 0, 64, loop("i", 0, 64, If(cond, (store(OUT, (i,), 1),)))))
    assert lets(licm(fn)) == ["t0 = 3 < j", "t1 = j < 56"]
    assert lets(licm(normalize(fn))) == ["t0 = 3 < j && j < 56"]


def test_A4_a_collapsed_conditional_has_that_candidate_too():
    inner = Select(binary("&&", less(i, const(56)), less(j, const(56))), const(1), const(0))
    value = Select(binary("&&", less(3, i), less(3, j)), inner, const(0))
    fn = function(loop("j", 0, 64, loop("i", 0, 64, store(OUT, (i,), value))))
    assert lets(licm(normalize(fn))) == ["t0 = 3 < j && j < 56"]


def test_A5_costs_and_threshold():
    quotient = add(floordiv(a, 1024), b)
    assert cost(quotient) == 4
    assert cost(a) == cost(const(3)) == 0
    assert licm(normalize(vector_add()), threshold=2) == normalize(vector_add())
    fn = function(loop("i", 0, n, store(OUT, (i,), add(quotient, mul(c, i)))))
    assert lets(licm(fn, threshold=2)) == ["t0 = floordiv(a, 1024) + b"]


def test_A5_costs_are_a_table_per_target():
    fn = function(loop("i", 0, n, store(OUT, (i,), mul(a, b))))
    assert licm(fn, costs={"*": 0}) is fn


def tiny_inner_loop() -> Function:
    index = add(add(mul(a, b), c), mul(i, 4), k)
    return function(loop("i", 0, 1024, loop("k", 0, 3, store(OUT, (index,), 1))))


def test_A6_nothing_is_placed_before_a_tiny_loop():
    assert text(licm(tiny_inner_loop(), tiny_loop=8)) == (
        "t0 = a * b + c\n"
        "for i in 0..1024:\n"
        "    for k in 0..3:\n"
        "        Out[t0 + i * 4 + k] = 1"
    )
    assert text(licm(tiny_inner_loop(), tiny_loop=0)) == (
        "t0 = a * b + c\n"
        "for i in 0..1024:\n"
        "    t1 = t0 + i * 4\n"
        "    for k in 0..3:\n"
        "        Out[t1 + k] = 1"
    )


def test_A6_a_let_stays_in_its_tiny_loop():
    body = loop("k", 0, 3, Let("s", mul(i, 4)), loop("j", 0, n, store(OUT, (add(var("s"), mul(i, k), j),), 1)))
    assert lets(licm(function(loop("i", 0, n, body)), tiny_loop=8)) == ["s = i * 4", "t0 = s + i * k"]


def test_A7_single_constants_and_variables_get_no_temporary():
    fn = function(loop("i", 0, n, store(OUT, (n,), a), store(OUT, (const(7),), 3), If(less(i, b), ())))
    assert licm(fn) is fn


def test_A8_calls_with_effects_stay_and_pure_ones_move():
    pure, impure = Call("sqrt", (x,), f64), Call("noise", (binary("*", x, y),), f64, pure=False)
    value = Cast(binary("+", pure, impure), f32)
    assert text(licm(function(loop("i", 0, n, store(A, (i,), value))))) == (
        "t0 = sqrt(x)\nt1 = x * y\nfor i in 0..n:\n    A[i] = f32(t0 + noise(t1))"
    )


def test_A8_loads_stay():
    fn = function(loop("i", 0, n, store(OUT, (i,), load(OUT, const(0)))))
    assert licm(fn) is fn


def test_A8_a_guarded_division_stays():
    update = store(OUT, (const(0),), add(load(OUT, const(0)), floordiv(a, b)))
    fn = function(loop("i", 0, n, If(binary("!=", b, 0), (update,))))
    assert lets(licm(fn)) == ["t0 = b != 0"]
    unguarded = function(loop("i", 0, n, update))  # n may be zero
    assert licm(unguarded) is unguarded


def test_A8_a_guarded_division_moves_up_to_its_guard():
    update = store(OUT, (j,), floordiv(a, b))
    guard = If(binary("&&", less(i, n), less(0, b)), (loop("j", 0, n, update),))
    assert text(licm(function(loop("i", 0, n, guard)))) == (
        "t0 = 0 < b\n"
        "for i in 0..n:\n"
        "    if i < n && t0:\n"
        "        t1 = floordiv(a, b)\n"
        "        for j in 0..n:\n"
        "            Out[j] = t1"
    )


def test_A8_a_division_moves_where_the_domain_implies_that_it_is_defined():
    update = store(OUT, (j,), add(floordiv(a, n), floordiv(a, i)))
    assert text(licm(function(loop("i", 1, n, loop("j", 0, m, update))))) == (
        "for i in 1..n:\n"
        "    t0 = floordiv(a, n) + floordiv(a, i)\n"
        "    for j in 0..m:\n"
        "        Out[j] = t0"
    )
    from_zero = function(loop("i", 0, n, loop("j", 0, m, store(OUT, (j,), floordiv(a, i)))))
    assert licm(from_zero) is from_zero


def test_A8_shifts_and_casts_that_may_be_undefined_stay():
    values = (binary("<<", a, b), Cast(x, i64))
    fn = function(loop("i", 0, n, *(store(OUT, (i,), value) for value in values)))
    assert licm(fn) is fn


def test_a_short_circuit_moves_as_a_whole():
    guarded = binary("&&", binary("!=", b, 0), less(floordiv(a, b), i))
    fn = function(loop("i", 0, n, loop("j", 0, n, If(guarded, (store(OUT, (j,), 1),)))))
    assert lets(licm(fn)) == ["t0 = b != 0"]  # the quotient may trap, the test of b not
    safe = binary("&&", less(i, a), less(i, b))
    fn = function(loop("i", 0, n, loop("j", 0, n, If(safe, (store(OUT, (j,), 1),)))))
    assert lets(licm(fn)) == ["t0 = i < a && i < b"]


def test_A20_the_constant_that_ends_a_subscript_stays_there():
    row = mul(i, m)
    update = store(OUT, (add(row, j, 1),), sub(load(OUT, add(row, 2)), load(OUT, sub(row, 2))))
    assert text(licm(function(loop("i", 0, n, loop("j", 0, m, update))))) == (
        "for i in 0..n:\n"
        "    t0 = i * m\n"
        "    for j in 0..m:\n"
        "        Out[t0 + j + 1] = Out[t0 + 2] - Out[t0 - 2]"
    )


def test_A20_a_stencil_on_rows_and_columns_stays_readable():
    assert lets(licm(jacobi_2d())) == ["t0 = n - 1"]


def test_lets_move_under_their_own_name_and_take_along_what_uses_them():
    body = (Let("row", mul(i, n)), Let("cell", add(var("row"), 5)), store(OUT, (add(var("cell"), j),), var("row")))
    assert text(licm(function(loop("i", 0, n, loop("j", 0, m, *body))))) == (
        "for i in 0..n:\n"
        "    row = i * n\n"
        "    cell = row + 5\n"
        "    for j in 0..m:\n"
        "        Out[cell + j] = row"
    )


def test_a_name_that_two_blocks_bind_stays_in_both():
    branches = [(Let("s", mul(n, e)), store(OUT, (var("s"),), 1)) for e in (2, 3)]
    assert text(licm(function(loop("i", 0, n, If(less(i, m), *branches))))) == (
        "t0 = n * 2\n"
        "t1 = n * 3\n"
        "for i in 0..n:\n"
        "    if i < m:\n"
        "        s = t0\n"
        "        Out[s] = 1\n"
        "    else:\n"
        "        s = t1\n"
        "        Out[s] = 1"
    )


def test_loops_side_by_side_share_and_names_in_use_are_skipped():
    loops = [loop("j", 0, m, store(OUT, (add(mul(i, m), j),), var("t0"))) for _ in range(2)]
    fn = replace(function(loop("i", 0, n, *loops)), scalars=(var("t0"),), params=())
    assert lets(licm(fn)) == ["t1 = i * m"]


def test_a_value_that_has_a_name_before_the_loop_gets_no_other():
    body = loop("j", 0, m, store(OUT, (add(mul(i, m), j),), 1))
    assert lets(licm(function(loop("i", 0, n, Let("row", mul(i, m)), body)))) == ["row = i * m"]
    assert lets(licm(function(loop("i", 0, n, body, Let("row", mul(i, m)))))) == ["t0 = i * m", "row = i * m"]


def test_what_an_enclosing_block_has_named_is_known_in_its_branches():
    body = loop("j", 0, m, store(OUT, (add(mul(i, m), j),), 1))
    fn = function(loop("i", 0, n, Let("row", mul(i, m)), If(less(i, m), (body,), (body,)), If(less(i, b), (body,))))
    assert lets(licm(fn)) == ["row = i * m"]
    fn = function(loop("i", 0, n, If(less(i, m), (body,), (body,))))  # a name of one branch is not known in the other
    assert lets(licm(fn)) == ["t0 = i * m", "t1 = i * m"]


def test_a_let_that_moves_to_where_its_value_has_a_name_takes_that_name():
    body = (store(OUT, (mul(n, 2),), 1), Let("s", mul(n, 2)), store(OUT, (var("s"),), 2))
    assert lets(licm(function(loop("i", 0, n, *body)))) == ["t0 = n * 2", "s = t0"]


def test_zeros_of_either_sign_are_two_values():
    def over(zero: float) -> Stmt:
        return store(A, (j,), Cast(binary("/", Const(1.0, f64), binary("*", x, Const(zero, f64))), f32))

    fn = function(loop("j", 0, n, over(0.0), over(-0.0)))
    assert len(lets(licm(fn))) == 2


def test_bounds_of_inner_loops_move():
    fn = function(loop("i", 0, n, loop("j", mul(n, 2), add(mul(n, 2), i), store(OUT, (j,), 1))))
    assert lets(licm(fn)) == ["t0 = n * 2"]


def test_nothing_is_placed_before_the_block_and_thread_loops_of_a_gpu():
    bx, tx = var("bx"), var("tx")
    index = add(mul(bx, n, 32), tx, mul(k, m))
    local = Array("s", f32, (const(32),), "shared")
    work = loop("k", 0, m, Barrier(), store(C, (index,), Load("s", (tx,), f32)))
    fn = function(loop("bx", 0, n, loop("tx", 0, 32, Alloc(local), work, kind="thread.x"), kind="block.x"))
    assert text(licm(fn, tiny_loop=8)) == (
        "for bx in 0..n (block.x):\n"
        "    for tx in 0..32 (thread.x):\n"
        "        alloc s: shared f32[32]\n"
        "        t0 = bx * n * 32 + tx\n"
        "        for k in 0..m:\n"
        "            barrier\n"
        "            C[t0 + k * m] = s[tx]"
    )


@pytest.mark.parametrize("fn", [vector_add(), tiled_matmul(), tiny_inner_loop(), *canonical()], ids=lambda fn: fn.name)
def test_A13_the_simplifier_keeps_every_temporary(fn):
    moved = licm(normalize(fn))
    again = simplify(simplify(moved))
    assert integer_operations(again).temporaries == integer_operations(moved).temporaries


def test_A14_the_same_text_for_every_hash_seed():
    assert len({texts_with_hash_seed(licm, seed) for seed in range(3)}) == 1


@pytest.mark.parametrize("options", [{}, {"tiny_loop": 8}, {"threshold": 3}], ids=str)
@pytest.mark.parametrize("seed", range(40))
def test_random_programs_compute_the_same_bits(seed, options):
    rng = random.Random(seed)
    fn = random_program(rng) if seed % 3 else random_nest(rng)
    for before in (fn, normalize(fn)):
        moved = licm(before, **options)
        verify(moved, "source")
        assert licm(moved, **options) is moved
        for size in (0, 2):
            assert_same_outcome(fn, moved, arguments_for(fn, rng, size))


def test_the_stage_runs_its_passes_as_named_steps():
    with trace.record() as events:
        after = improve_expressions(tiled_matmul(), Options(), gpu=False)
    assert [event.name for event in events] == ["simplify", "normalize", "simplify", "licm"]
    assert integer_operations(after).executed == 3_358_723_104


def test_the_stage_leaves_tiny_loops_alone_on_a_gpu_only():
    fn = tiny_inner_loop()
    assert len(lets(improve_expressions(fn, Options(), gpu=True))) == 1
    assert len(lets(improve_expressions(fn, Options(), gpu=False))) == 2


def test_the_stage_is_idempotent():
    for fn in (vector_add(), tiled_matmul(), *canonical()):
        once = improve_expressions(fn, Options(), gpu=False)
        assert improve_expressions(once, Options(), gpu=False) is once


def test_operations_are_counted_where_they_run():
    cond = binary("&&", less(i, const(3)), Const(True, boolean))
    fn = function(loop("i", 0, 10, loop("j", i, 20, store(OUT, (i,), 1)), If(cond, (store(OUT, (add(i, 1),), 2),))))
    assert integer_operations(fn).executed is None
    assert str(integer_operations(fn)) == "3 integer operations, unknown executed, 0 temporaries"
    down = function(loop("i", 9, -1, store(A, (mul(i, 2),), Cast(binary("*", x, y), f32)), step=-3))
    assert integer_operations(down).executed == 4
