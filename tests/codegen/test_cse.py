import random
from dataclasses import replace

import pytest

from polysched.codegen.expr.cse import cse
from polysched.codegen.expr.dce import dce
from polysched.codegen.expr.licm import licm
from polysched.codegen.expr.normalize import normalize
from polysched.ir.build import add, binary, const, floordiv, load, mul, store, sub, var
from polysched.ir.dtypes import f32, f64, i64
from polysched.ir.nodes import (
    Alloc,
    Array,
    Barrier,
    Call,
    Cast,
    Const,
    Expr,
    Function,
    If,
    Let,
    Select,
    Stmt,
    StoreLater,
)
from polysched.ir.text import show
from polysched.ir.verify import verify
from tests.codegen.programs import random_program, texts_with_hash_seed
from tests.nests import arguments_for, canonical, loop, nest, outcome, random_nest

A, B, OUT = (Array(name, i64, (const(100),)) for name in ("A", "B", "Out"))
a, b, c, i, j, n, m = map(var, "abcijnm")
x = var("x", f64)
SUM = add(mul(a, b), c)  # as cheap as `text` gives names to


def function(*body: Stmt) -> Function:
    return nest("f", "n m", (A, B, OUT), *body, scalars=(a, b, c, x))


def text(*body: Stmt, **options) -> str:
    """What the pass makes of these statements."""
    options = {"threshold": 2, **options}
    after = cse(function(*body), **options)
    verify(after, "source")
    assert cse(after, **options) is after
    return show(after.body)


def stays(*body: Stmt, **options) -> bool:
    fn = function(*body)
    return cse(fn, **{"threshold": 2, **options}) is fn


def put(value: Expr, at: Expr | int = 0, array: Array = OUT) -> Stmt:
    return store(array, (at,), value)


def branch(*then: Stmt, other: tuple[Stmt, ...] = ()) -> If:
    return If(binary("<", n, m), then, other)


def test_what_is_the_same_is_computed_once_and_what_may_trap_no_earlier():
    index = add(mul(a, b), mul(c, n))
    guarded = branch(put(floordiv(index, b)))
    body = put(load(B, add(index, 1)), index, array=A), guarded, Let("s", floordiv(index, b)), put(var("s"))
    assert text(*body, threshold=3) == (
        "t0 = a * b + c * n\n"
        "A[t0] = B[t0 + 1]\n"
        "if n < m:\n"
        "    Out[0] = floordiv(t0, b)\n"
        "s = floordiv(t0, b)\n"
        "Out[0] = s"
    )


def test_C1_the_first_name_is_kept():
    body = Let("cast_1", SUM), Let("cast_2", SUM), put(add(var("cast_1"), var("cast_2")))
    assert text(*body) == "cast_1 = a * b + c\nOut[0] = cast_1 + cast_1"


def test_C1_what_has_no_name_gets_one_before_its_first_statement():
    assert text(put(SUM, 1), put(mul(SUM, 2), 2)) == "t0 = a * b + c\nOut[1] = t0\nOut[2] = t0 * 2"


def test_C1_the_name_of_a_later_let_moves_up():
    assert text(put(SUM, 1), Let("s", SUM), put(var("s"), 2)) == "s = a * b + c\nOut[1] = s\nOut[2] = s"


def test_C2_what_becomes_equal_merges_in_the_same_pass():
    lets = Let("s", SUM), Let("t", SUM), Let("u", mul(var("s"), 2)), Let("v", mul(var("t"), 2))
    assert text(*lets, put(sub(var("u"), var("v")))) == "s = a * b + c\nu = s * 2\nOut[0] = u - u"
    assert text(Let("s", SUM), put(mul(var("s"), 2), 1), put(mul(SUM, 2), 2)) == (
        "s = a * b + c\nOut[1] = s * 2\nOut[2] = s * 2"
    )


def test_C2_parts_and_wholes_get_names_in_order():
    whole = add(SUM, floordiv(SUM, 7))
    assert text(put(mul(SUM, whole), 1), put(whole, 2), put(SUM, 3)) == (
        "t0 = a * b + c\nt1 = t0 + floordiv(t0, 7)\nOut[1] = t0 * t1\nOut[2] = t1\nOut[3] = t0"
    )


def test_C2_what_may_be_evaluated_takes_names_that_its_parts_get_later():
    part = add(mul(n, m), c)
    whole = Select(binary("<", mul(SUM, SUM), n), part, c)
    assert text(put(Select(binary("<", a, b), add(whole, m), c), at=add(mul(whole, 2), mul(part, 3)))) == (
        "t0 = a * b + c\n"
        "t1 = t0 * t0\n"
        "t2 = t1 < n\n"
        "t3 = t2 ? n * m + c : c\n"
        "t4 = n * m + c\n"
        "Out[t3 * 2 + t4 * 3] = a < b ? t3 + m : c"
    )


def test_an_element_that_is_updated_is_one_place():
    """It is printed as A[...] += 1."""
    assert stays(put(add(load(A, SUM), 1), SUM, A))
    assert text(put(add(load(A, SUM), load(B, SUM)), SUM, A)) == "t0 = a * b + c\nA[t0] = A[t0] + B[t0]"
    assert text(put(binary("min", load(A, SUM), 1), SUM, A)) == "t0 = a * b + c\nA[t0] = min(A[t0], 1)"
    assert text(put(SUM), put(add(load(A, SUM), 1), SUM, A)) == "t0 = a * b + c\nOut[0] = t0\nA[t0] = A[t0] + 1"
    assert text(put(add(load(A, SUM), 1), SUM, A), put(SUM)) == "t0 = a * b + c\nA[t0] = A[t0] + 1\nOut[0] = t0"


def test_C3_copies_of_names_go():
    assert text(Let("s", a), Let("t", var("s")), put(var("t"))) == "Out[0] = a"


def test_C4_types_are_compared():
    casts = [Cast(Cast(binary("*", x, x), dtype), i64) for dtype in (f32, i64)]
    assert text(*(put(cast) for cast in casts)) == (
        "Out[0] = i64(f32(x * x))\nOut[0] = i64(i64(x * x))"
    )  # x * x is too cheap for a name
    zeros = [Call("atan2", (x, Const(zero, f64)), f64) for zero in (0.0, -0.0)]
    assert stays(*(put(Cast(zero, i64)) for zero in zeros))


def test_C5_a_value_of_one_branch_is_not_used_in_the_other():
    assert stays(branch(put(SUM), other=(put(SUM),)), put(SUM))


def test_C5_an_inner_scope_sees_the_outer():
    inner = branch(put(SUM), other=(loop("i", 0, n, put(SUM, i)),))
    assert text(put(SUM, 1), inner) == (
        "t0 = a * b + c\nOut[1] = t0\nif n < m:\n    Out[0] = t0\nelse:\n    for i in 0..n:\n        Out[i] = t0"
    )


def test_C5_loops_that_bind_the_same_name_have_different_values():
    same = add(mul(i, b), c)
    assert stays(loop("i", 0, n, put(same)), loop("i", 0, m, put(same)))
    lets = [branch(Let("s", value), put(mul(var("s"), 2, b))) for value in (a, n)]
    assert text(*lets).count("a * 2 * b") == text(*lets).count("n * 2 * b") == 1


def test_C5_a_name_has_the_value_that_its_own_block_binds_it_to():
    twice = mul(SUM, 2)
    for again in (loop("s", 0, n, put(mul(var("s"), b), var("s"))), branch(Let("s", n), put(mul(var("s"), b)))):
        assert text(branch(Let("s", twice), put(var("s"))), put(mul(twice, b)), again).count("* b") == 4
    effects = Let("s", Call("noise", (), i64, pure=False))
    first = branch(Let("s", twice), put(var("s")), other=(effects, put(mul(var("s"), b))))
    assert text(Let("t", mul(twice, b)), first, put(var("t"))).count("* b") == 3
    copies = [branch(Let("s", value), put(var("s"))) for value in (a, Call("noise", (), i64, pure=False))]
    assert text(*copies).endswith("s = noise()\n    Out[0] = s")


@pytest.mark.parametrize("guard", ["select", "and", "if"])
def test_C5_what_is_guarded_is_not_evaluated_before(guard):
    quotient = add(floordiv(a, b), 1)

    def guarded(k: int) -> Stmt:
        safe = binary("!=", b, 0)
        match guard:
            case "if":
                return If(safe, (put(quotient, k),))
            case "select":
                return put(Select(safe, quotient, const(k)))
            case _:
                return If(binary("&&", safe, binary(">", quotient, k)), (put(c),))

    assert stays(guarded(1), guarded(2))
    assert stays(guarded(1), put(quotient))
    assert text(put(quotient), guarded(1)).count("floordiv") == 1  # it has trapped before


def test_C6_dead_code_is_counted_apart():
    fn = function(Let("dead", SUM), put(SUM, 1), put(SUM, 2))
    assert show(cse(dce(fn), threshold=2).body) == "t0 = a * b + c\nOut[1] = t0\nOut[2] = t0"


LOADED = mul(load(A, 1), 2)


def loads(*between: Stmt, space: str = "global") -> int:
    """How often S[1] is loaded by two statements with others between them."""
    array = Array("S", i64, (const(8),), space)
    return text(Alloc(array), put(mul(load(array, 1), 2), 1), *between, put(mul(load(array, 1), 2), 2)).count("S[1]")


def test_C7_loads_merge_up_to_a_store_to_their_array():
    assert text(put(LOADED, 1), put(LOADED, 2)) == "t0 = A[1] * 2\nOut[1] = t0\nOut[2] = t0"
    assert stays(put(load(A, 1), 1), put(load(A, 1), 2))  # compilers do it
    named = Let("s", load(A, 1)), put(var("s"), 1), Let("t", load(A, 1)), put(var("t"), 2)
    assert text(*named) == "s = A[1]\nOut[1] = s\nOut[2] = s"  # that costs no name
    assert stays(put(LOADED, 1), put(c, n, array=A), put(LOADED, 2))
    assert not stays(put(LOADED, 1), put(c, n, array=B), put(LOADED, 2))


def test_C7_a_store_in_a_loop_or_a_branch_is_a_store():
    for inner in (branch(put(c, n, array=A)), loop("i", 0, n, put(c, i, array=A))):
        assert stays(put(LOADED, 1), inner, put(LOADED, 2))


def test_C7_a_value_made_of_loads_is_one_of_them():
    root = Cast(Call("sqrt", (Cast(load(A, 1), f64),), f64), i64)
    assert text(put(root, 1), put(root, 2)) == "t0 = i64(sqrt(f64(A[1])))\nOut[1] = t0\nOut[2] = t0"
    assert stays(put(root, 1, array=A), put(root, 2))


def test_C7_loads_merge_in_one_block_only():
    assert stays(put(LOADED, 1), branch(put(LOADED, 2)))


def test_C7_barriers_and_late_stores_change_shared_memory():
    shared = Array("S", i64, (const(8),), "shared")
    assert loads(space="shared") == 1
    assert loads(Barrier(), space="shared") == 2
    assert loads(StoreLater("S", (const(2),), c), space="shared") == 2
    assert loads(put(c, 3, array=shared), space="shared") == 2


@pytest.mark.parametrize("where", ["value", "condition", "bound"])
def test_C9_calls_with_effects_never_merge(where):
    noise = Call("noise", (SUM,), i64, pure=False)
    again: dict[str, Stmt] = {
        "value": put(noise),
        "condition": If(binary("<", noise, n), (put(c),)),
        "bound": loop("i", 0, noise, put(c)),
    }
    assert stays(again[where], again[where])
    assert stays(put(LOADED, 1), again[where], put(LOADED, 2))
    pure = Call("pow", (x, x), f64)
    assert text(put(Cast(pure, i64), 1), put(Cast(pure, i64), 2)) == "t0 = i64(pow(x, x))\nOut[1] = t0\nOut[2] = t0"


def test_C9_names_that_went_are_replaced_in_statements_that_stay_as_they_are():
    copies = Let("s", n), Let("t", var("s"))
    noise = put(Call("noise", (var("t"),), i64, pure=False))
    local = Alloc(Array("L", i64, (var("t"),)))
    parallel = replace(loop("i", 0, c, put(c), kind="parallel"), when=(binary("<", var("t"), c),))
    assert text(*copies, noise, local, parallel) == (
        "Out[0] = noise(n)\nalloc L: i64[n]\nfor i in 0..c (parallel if n < c):\n    Out[0] = c"
    )


def test_C9_a_let_of_a_call_with_effects_is_a_value_like_another():
    lets = [Let(name, Call("noise", (), i64, pure=False)) for name in "st"]
    products = [put(add(mul(var(name), b), c)) for name in "sst"]
    assert text(*lets, *products).count("* b") == 2


def test_C10_nothing_to_do_gives_the_same_object():
    for body in ((put(SUM),), (put(mul(a, b)), put(mul(a, b))), ()):
        assert stays(*body)


def test_the_threshold_is_the_cost_of_one():
    assert stays(put(mul(a, b)), put(mul(a, b)))
    assert not stays(put(mul(a, b)), put(mul(a, b)), threshold=1)
    assert stays(put(SUM), put(SUM), threshold=3)
    once = function(put(SUM), put(SUM))
    assert cse(once) is once  # compilers do as well without
    assert stays(put(SUM), put(SUM), costs={"+": 1, "*": 0})


def test_a_name_that_would_live_too_long_is_not_made():
    def far(statements: int) -> tuple[Stmt, ...]:
        return (put(SUM), *(put(a, k) for k in range(statements - 1)), put(SUM))

    assert not stays(*far(6), reach=3)  # two operations
    assert stays(*far(7), reach=3)
    near = (*far(6), *far(6)[1:])
    assert text(*near, reach=3).count("a * b") == 1  # each use brings the next one near
    assert stays(Let("s", SUM), put(var("s")), *far(6)[1:], reach=2)


def test_A20_the_constant_that_ends_a_subscript_stays_there():
    body = put(load(A, add(SUM, 1)), add(SUM, 2)), put(load(A, sub(SUM, 1)), add(SUM, 1))
    assert text(*body) == "t0 = a * b + c\nOut[t0 + 2] = A[t0 + 1]\nOut[t0 + 1] = A[t0 - 1]"


def test_commutative_matches_come_from_normalize():
    fn = function(loop("i", 0, n, put(add(mul(a, i), b), 1), put(add(b, mul(i, a)), 2)))
    assert cse(fn, threshold=2) is fn
    assert "t0 = b + a * i" in show(cse(normalize(fn), threshold=2).body)


def test_outside_of_the_kernels_of_a_gpu_all_stays():
    def kernel(*body: Stmt) -> Stmt:
        return loop("bx", 0, SUM, loop("tx", 0, 32, *body, kind="thread.x"), kind="block.x")

    assert stays(kernel(put(c)), kernel(put(c)), gpu=True)
    assert stays(put(SUM), put(SUM), branch(put(SUM), kernel(put(SUM)), put(SUM)), gpu=True)
    assert stays(Let("s", SUM), Let("t", var("s")), put(SUM), put(var("t")), gpu=True)
    assert text(put(SUM), put(SUM), kernel(put(SUM, 1), put(SUM, 2)), gpu=True) == (
        "Out[0] = a * b + c\n"
        "Out[0] = a * b + c\n"
        "for bx in 0..a * b + c (block.x):\n"
        "    for tx in 0..32 (thread.x):\n"
        "        t0 = a * b + c\n"
        "        Out[1] = t0\n"
        "        Out[2] = t0"
    )


def test_after_licm_only_what_changes_in_a_loop_is_left_to_merge():
    index = add(mul(i, m), j)
    update = store(OUT, (index,), add(load(A, index), load(B, index)))
    fn = licm(normalize(function(loop("i", 0, n, loop("j", 0, m, update)))))
    assert cse(fn) is fn  # t0 + j is as cheap as a name


@pytest.mark.slow
def test_the_same_text_for_every_hash_seed():
    assert len({texts_with_hash_seed(cse, seed) for seed in range(2)}) == 1


def result(fn: Function, arguments: dict) -> object:
    """The bytes of the arrays, or what was raised."""
    try:
        return {name: array.tobytes() for name, array in outcome(fn, arguments).items()}
    except ZeroDivisionError:
        return "trap"


@pytest.mark.parametrize(
    "options", [{}, {"threshold": 1, "reach": 100}, {"threshold": 1, "reach": 2}], ids=str
)
@pytest.mark.parametrize("seed", range(16))
def test_random_programs_compute_the_same_bits(seed, options):
    rng = random.Random(seed)
    fn = random_program(rng) if seed % 4 else random_nest(rng)
    for before in (fn, licm(normalize(fn))):
        after = cse(before, **options)
        verify(after, "source")
        assert cse(after, **options) is after
        for size in (0, 2):
            arguments = arguments_for(fn, rng, size)
            assert result(after, arguments) == result(before, arguments)


@pytest.mark.parametrize("fn", canonical(), ids=lambda fn: fn.name)
def test_the_classics_have_nothing_to_merge(fn):
    moved = licm(normalize(fn))
    assert cse(moved) is moved
