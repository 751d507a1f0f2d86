import random
from dataclasses import replace

import pytest

from polysched.codegen.count import integer_operations
from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.expr.cost import cost
from polysched.codegen.expr.licm import licm, motions
from polysched.codegen.expr.normalize import normalize
from polysched.codegen.stage import improve_expressions
from polysched.config.options import Options
from polysched.config.target import TARGETS
from polysched.ir.build import add, binary, const, floordiv, floormod, load, mul, store, sub, var
from polysched.ir.dtypes import boolean, f32, f64, i64
from polysched.ir.node import walk
from polysched.ir.nodes import (
    Alloc,
    Array,
    Barrier,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Function,
    If,
    Let,
    Load,
    Select,
    Stmt,
)
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.support import trace
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
        "t0 = a * b + c\nfor i in 0..1024:\n    for k in 0..3:\n        Out[t0 + i * 4 + k] = 1"
    )
    assert text(licm(tiny_inner_loop(), tiny_loop=0)) == (
        "t0 = a * b + c\nfor i in 0..1024:\n    t1 = t0 + i * 4\n    for k in 0..3:\n        Out[t1 + k] = 1"
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
        "for i in 1..n:\n    t0 = floordiv(a, n) + floordiv(a, i)\n    for j in 0..m:\n        Out[j] = t0"
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
        "for i in 0..n:\n    t0 = i * m\n    for j in 0..m:\n        Out[t0 + j + 1] = Out[t0 + 2] - Out[t0 - 2]"
    )


def test_A20_a_stencil_on_rows_and_columns_stays_readable():
    assert lets(licm(jacobi_2d())) == ["t0 = n - 1"]


def test_lets_move_under_their_own_name_and_take_along_what_uses_them():
    body = (Let("row", mul(i, n)), Let("cell", add(var("row"), 5)), store(OUT, (add(var("cell"), j),), var("row")))
    assert text(licm(function(loop("i", 0, n, loop("j", 0, m, *body))))) == (
        "for i in 0..n:\n    row = i * n\n    cell = row + 5\n    for j in 0..m:\n        Out[cell + j] = row"
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


def test_A17_nothing_is_placed_between_the_block_and_thread_loops_of_a_gpu():
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


def gpu_nest(*work: Stmt) -> Function:
    threads = loop("tx", 0, 32, *work, kind="thread.x")
    return function(loop("t", 0, m, loop("bx", 0, n, threads, kind="block.x")))


def test_A17_what_is_dear_and_does_not_change_in_a_launch_is_computed_on_the_host():
    root = Cast(Call("sqrt", (x,), f64), f32)
    fn = gpu_nest(loop("k", 0, n, store(C, (add(mul(var("tx"), n), k),), root)))
    assert text(licm(fn)) == (
        "t0 = f32(sqrt(x))\n"
        "for t in 0..m:\n"
        "    for bx in 0..n (block.x):\n"
        "        for tx in 0..32 (thread.x):\n"
        "            t1 = tx * n\n"
        "            for k in 0..n:\n"
        "                C[t1 + k] = t0"
    )


def test_A17_it_is_an_argument_of_the_kernel():
    fn = gpu_nest(loop("k", 0, n, store(A, (add(mul(var("tx"), n), k),), Cast(Call("sqrt", (x,), f64), f32))))
    source = emit_cuda(licm(fn))
    assert "t0" in source.kernels[0].parameters
    host = source.text[source.text.index('extern "C"') :]
    assert "const float t0 = (float)sqrt(x);" in host


def test_A17_cheap_values_are_computed_by_each_kernel():
    fn = gpu_nest(loop("k", 0, n, store(OUT, (add(mul(n, 32), mul(var("t"), m), k),), 1)))
    assert text(licm(fn)).splitlines()[3:5] == ["            t0 = n * 32 + t * m", "            for k in 0..n:"]


def test_a_condition_with_a_name_is_no_data():
    value = Let("s", Select(var("late", boolean), var("t"), mul(var("t"), 2)))
    fn = gpu_nest(Let("late", less(n, var("t"))), value, store(OUT, (var("s"),), 1))
    assert "const index_t s = late ? t : t * 2;" in emit_cuda(fn).text


def test_a_division_leaves_a_tiny_loop():
    p, q = var("p"), floordiv(var("p"), m)
    fn = function(loop("p", 0, m, loop("k", 0, 3, store(OUT, (add(q, mul(p, 2), k),), q))))
    assert text(licm(fn, tiny_loop=8)) == (
        "for p in 0..m:\n"
        "    t0 = floordiv(p, m) + p * 2\n"
        "    t1 = floordiv(p, m)\n"
        "    for k in 0..3:\n"
        "        Out[t0 + k] = t1"
    )


def fused(guard: Expr, *divisors: Expr) -> Function:
    """A thread of a fused index, and a padding condition around the quotients."""
    inside = loop("k", 0, 3, If(less(k, a), tuple(store(OUT, (k,), floordiv(i, d)) for d in divisors)))
    return function(loop("i", 0, c, If(guard, (inside,))))


def test_A21_a_division_is_hoisted_from_under_a_condition_where_a_guard_implies_its_divisor():
    fn = fused(less(i, mul(n, m, b)), mul(m, b), b)
    assert text(licm(fn, tiny_loop=8)) == (
        "t0 = n * m * b\n"
        "t1 = m * b\n"
        "for i in 0..c:\n"
        "    if i < t0:\n"
        "        t2 = floordiv(i, t1)\n"
        "        t3 = floordiv(i, b)\n"
        "        for k in 0..3:\n"
        "            if k < a:\n"
        "                Out[k] = t2\n"
        "                Out[k] = t3"
    )


@pytest.mark.parametrize(
    ("guard", "divisor", "moves"),
    [
        (less(i, binary("min", mul(n, m), b)), m, True),
        (less(i, mul(n, m)), mul(n, 2), False),  # twice 2**63 is zero
        (less(i, mul(n, m)), mul(n, n), False),
        (less(i, mul(n, 2)), mul(2, n), True),
        (less(sub(i, 1), mul(n, m)), m, False),  # -1 < 0
        (less(i, add(n, m)), m, False),
        (binary("==", floormod(i, b), 0), b, True),  # the remainder did not trap
        (binary("&&", less(i, n), binary("==", floormod(i, b), 0)), b, False),  # it may not have been asked for
    ],
    ids=str,
)
def test_A21_what_a_guard_says_of_a_divisor(guard, divisor, moves):
    assert any("floordiv" in let for let in lets(licm(fused(guard, divisor)))) == moves


def test_A21_a_product_with_a_name_is_taken_apart():
    plane = Let("plane", mul(n, m))
    body = loop("i", 0, mul(b, var("plane")), loop("k", 0, m, store(OUT, (k,), floordiv(i, m))))
    assert "t0 = floordiv(i, m)" in lets(licm(function(plane, body)))


def test_what_became_of_each_candidate():
    noise = Call("noise", (), i64, pure=False)
    value = add(floordiv(a, b), mul(i, 4), load(OUT, const(0)), noise)
    fn = function(loop("i", 0, n, loop("k", 0, 3, store(OUT, (add(mul(i, m), k),), value))))
    after, found = motions(fn, tiny_loop=8)
    assert after is fn
    assert [str(motion) for motion in found] == [
        "i * m: k is unrolled: it runs 3 times",
        "i * m + k: changes with k",
        "floordiv(a, b): may trap: b may be zero",
        "i * 4: k is unrolled: it runs 3 times",
        "Out[0]: loads from Out",
        "noise(): calls noise, which may have an effect",
    ]


def test_the_name_and_the_place_of_what_moved():
    fn = function(loop("i", 0, n, loop("k", 0, n, store(OUT, (add(mul(i, m), k),), mul(i, 4)))))
    assert [str(motion) for motion in motions(fn, threshold=2)[1]] == [
        "i * m: costs 1, less than 2",
        "i * m + k: changes with k",
        "i * 4: costs 1, less than 2",
    ]
    after, found = motions(fn)
    assert after == licm(fn)
    assert [str(motion) for motion in found if motion.name] == ["t0 = i * m: before k", "t1 = i * 4: before k"]


@pytest.mark.parametrize("fn", [vector_add(), tiled_matmul(), tiny_inner_loop(), *canonical()], ids=lambda fn: fn.name)
def test_A13_the_simplifier_keeps_every_temporary(fn):
    moved = licm(normalize(fn))
    again = simplify(simplify(moved))
    assert integer_operations(again).temporaries == integer_operations(moved).temporaries


@pytest.mark.slow
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


def on_gpu(body: tuple[Stmt, ...], depth: int = 0) -> tuple[Stmt, ...]:
    """The statements with their outer loops over blocks, those inside over threads."""
    out: list[Stmt] = []
    for stmt in body:
        match stmt:
            case For(body=inner):
                kind = ("block.x", "thread.x", "serial")[min(depth, 2)]
                stmt = replace(stmt, body=on_gpu(inner, depth + 1), kind=kind)
            case If(then=then, other=other):
                stmt = replace(stmt, then=on_gpu(then, depth), other=on_gpu(other, depth))
        out.append(stmt)
    return tuple(out)


@pytest.mark.parametrize("seed", range(40))
def test_random_kernels_compute_the_same_bits(seed):
    rng = random.Random(seed)
    fn = random_program(rng)
    fn = normalize(replace(fn, body=on_gpu(fn.body)))
    after, found = motions(fn, tiny_loop=8)
    assert after == licm(fn, tiny_loop=8) and licm(after, tiny_loop=8) is after
    assert {motion.name for motion in found if motion.name} <= {
        node.name for node in walk(after) if isinstance(node, Let)
    }
    for size in (0, 2):
        assert_same_outcome(fn, after, arguments_for(fn, rng, size))


def test_the_stage_runs_its_passes_as_named_steps():
    with trace.record() as events:
        after = improve_expressions(tiled_matmul(), Options(), TARGETS["c"])
    names = [event.name for event in events]
    assert names.index("normalize") < names.index("licm") < names.index("cse") < names.index("pressure")
    assert integer_operations(after).executed == 3_358_723_104


def test_the_stage_leaves_tiny_loops_alone_on_a_gpu_only():
    fn = tiny_inner_loop()
    assert len(lets(improve_expressions(fn, Options(), TARGETS["cuda"]))) == 1
    assert len(lets(improve_expressions(fn, Options(), TARGETS["c"]))) == 2


def test_the_stage_is_idempotent():
    for fn in (vector_add(), tiled_matmul(), *canonical()):
        once = improve_expressions(fn, Options(), TARGETS["c"])
        assert improve_expressions(once, Options(), TARGETS["c"]) is once


def test_operations_are_counted_where_they_run():
    cond = binary("&&", less(i, const(3)), Const(True, boolean))
    fn = function(loop("i", 0, 10, loop("j", i, 20, store(OUT, (i,), 1)), If(cond, (store(OUT, (add(i, 1),), 2),))))
    assert str(integer_operations(fn)) == "3 integer operations, 23 executed, 0 temporaries"
    down = function(loop("i", 9, -1, store(A, (mul(i, 2),), Cast(binary("*", x, y), f32)), step=-3))
    assert integer_operations(down).executed == 4
