import random
from dataclasses import replace

import pytest

from polysched.codegen.expr.dce import dce
from polysched.ir.build import add, binary, const, floordiv, load, mul, store, var
from polysched.ir.dtypes import boolean, f64, i64
from polysched.ir.nodes import Alloc, Array, Barrier, Call, Cast, Const, Expr, Function, If, Let, Stmt, StoreLater
from polysched.ir.text import show
from polysched.ir.verify import verify
from tests.codegen.programs import random_program, texts_with_hash_seed
from tests.nests import arguments_for, assert_same_outcome, canonical, loop, nest, outcome, random_nest

A = Array("A", i64, (const(100),))
S, T = (Array(name, i64, (const(8),), "private") for name in "ST")
a, b, i, j, n, m = map(var, "abijnm")
x = var("x", f64)


def function(*body: Stmt) -> Function:
    return nest("f", "n m", (A,), *body, scalars=(a, b, x))


def text(*body: Stmt) -> str:
    after = dce(function(*body))
    verify(after, "source")
    assert dce(after) is after
    return show(after.body)


def stays(*body: Stmt) -> bool:
    fn = function(*body)
    return dce(fn) is fn


def put(value: Expr | int, at: Expr | int = 0, array: Array = A) -> Stmt:
    return store(array, (at,), value)


def test_C6_what_no_one_uses_goes_with_what_only_it_uses():
    update = put(add(load(S, 0), load(A, var("t"))), array=S)
    body = Alloc(S), Let("t", mul(n, 2)), loop("i", 0, n, update, put(0, i)), loop("j", 0, var("t"), put(1, array=S))
    assert text(*body) == "for i in 0..n:\n    A[i] = 0"


def test_lets_that_are_used_stay():
    assert stays(Let("s", mul(n, 2)), Let("t", add(var("s"), 1)), put(var("t")))
    assert text(Let("s", n), Let("t", var("s")), put(var("s"))) == "s = n\nA[0] = s"


def test_what_a_loop_stores_for_its_next_iteration_stays():
    body = loop("i", 0, n, put(load(S, 0), i), put(load(T, 0), array=S), Let("s", mul(i, 2)), put(var("s"), array=T))
    assert stays(Alloc(S), Alloc(T), body)


def test_what_only_updates_of_itself_read_goes():
    swap = put(load(T, 0), array=S), put(load(S, 0), array=T)
    assert text(Alloc(S), Alloc(T), loop("i", 0, n, *swap), put(3)) == "A[0] = 3"


def test_arrays_of_the_caller_stay():
    assert stays(put(3), loop("i", 0, n, put(i, i)))


def test_conditions_and_bounds_around_what_stays_are_used():
    bounds = Let("s", mul(n, 2)), Let("t", binary("<", m, 3))
    assert stays(*bounds, loop("i", 0, var("s"), If(var("t", bounds[1].value.dtype), (put(3, i),))))
    assert text(If(binary("<", n, 3), (Let("s", n),), (put(3),))) == "if n < 3:\n    pass\nelse:\n    A[0] = 3"


@pytest.mark.parametrize(
    "value", [floordiv(a, b), Call("noise", (), i64, pure=False), Cast(x, i64), binary("<<", a, b)], ids=show
)
def test_traps_and_effects_stay(value):
    assert stays(Let("t", value))
    assert stays(If(binary("<", value, 3), (), ()))
    assert stays(loop("i", 0, value))
    assert stays(Alloc(S), put(value, array=S))
    assert text(Let("s", value), Let("t", Cast(var("s", value.dtype), f64))) == show((Let("s", value),))


def test_divisions_by_constants_and_loads_go():
    assert text(Let("s", floordiv(a, 3)), Let("t", load(A, 3))) == "pass"


def test_a_block_that_always_runs_is_one_with_that_around():
    always = If(Const(True, boolean), (Let("t", mul(n, a)), Alloc(S), put(1, 0, S), put(load(S, var("t")))))
    assert text(loop("i", 0, n, always, put(2, i))) == (
        "for i in 0..n:\n"
        "    t = n * a\n"
        "    alloc S: private i64[8]\n"
        "    S[0] = 1\n"
        "    A[0] = S[t]\n"
        "    A[i] = 2"
    )
    assert stays(Let("t", mul(n, b)), put(var("t")), always)  # a name that means two things


def test_barriers_stay():
    assert stays(loop("tx", 0, 32, Barrier(), kind="thread.x"))


def test_late_stores_to_shared_memory_that_no_one_reads_go():
    shared = Array("L", i64, (const(8),), "shared")
    assert text(Alloc(shared), StoreLater("L", (const(0),), a), Barrier(True)) == "barrier for arrivals"


def test_a_loop_reduces_what_is_left():
    sums = [put(add(load(array, 0), i), array=array) for array in (S, A)]
    reducing = replace(loop("i", 0, n, *sums, kind="vector"), reduces=("S", "A"))
    assert text(Alloc(S), reducing) == "for i in 0..n (vector, reduces A):\n    A[0] = A[0] + i"


def test_C10_nothing_to_do_gives_the_same_object():
    for fn in canonical():
        assert dce(fn) is fn


@pytest.mark.slow
def test_the_same_text_for_every_hash_seed():
    assert len({texts_with_hash_seed(dce, seed) for seed in range(2)}) == 1


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_compute_the_same_bits(seed):
    rng = random.Random(seed)
    fn = random_program(rng) if seed % 4 else random_nest(rng)
    after = dce(fn)
    verify(after, "source")
    assert dce(after) is after
    for size in (0, 2):
        arguments = arguments_for(fn, rng, size)
        try:
            outcome(fn, arguments)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                outcome(after, arguments)
        else:
            assert_same_outcome(fn, after, arguments)
