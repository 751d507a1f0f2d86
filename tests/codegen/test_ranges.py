"""polysched/codegen/loops/ranges.py: what loops and conditions decide."""

from __future__ import annotations

import random
from functools import partial

import pytest

from polysched.codegen.loops.ranges import simplify_ranges
from polysched.codegen.memory.linearize import linearize
from polysched.ir.build import add, binary, const, floordiv, floormod, load, mul, store, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.nodes import LARGEST_SIZE, Array, Barrier, Call, Expr, For, Function, If, Let, Select, Stmt, Unary
from polysched.ir.text import show
from polysched.ir.verify import verify
from tests.codegen.programs import random_program, texts_with_hash_seed
from tests.nests import arguments_for, assert_same_outcome, canonical, loop, nest, random_nest

a, i, j, k, m, n, s, t = (var(name) for name in "aijkmnst")
GRID = Array("M", f64, (n, m))
ROW = Array("V", i64, (n,))
OUT = Array("Out", i64, (n,))

ranged = partial(simplify_ranges, largest=LARGEST_SIZE)


def program(*body: Stmt) -> Function:
    return nest("f", "n m k", (GRID, ROW, OUT), *body, scalars=(a,))


def inside(expr: Expr, *loops: For, largest: int = LARGEST_SIZE, under: Expr | None = None) -> str:
    """The text of what `expr` becomes in the loops, outermost first, where a condition holds."""
    body: tuple[Stmt, ...] = (Let("value", expr),)
    if under is not None:
        body = (If(under, body),)
    for each in reversed(loops):
        body = (For(each.var, each.lo, each.hi, each.step, body),)
    text = show(simplify_ranges(program(*body), largest=largest))
    return next(line.strip()[8:] for line in text.splitlines() if line.strip().startswith("value = "))


def test_bits_of_a_product_that_wraps_may_be_negative():
    huge = const((1 << 63) - 3)  # eight times this is -24
    odd = binary("^", mul(i, 8), 1)
    fn = program(Let("i", huge), Let("value", binary("truncdiv", odd, const(2))))
    assert "value = truncdiv(i * 8 ^ 1, 2)" in show(ranged(fn))


def lt(left, right) -> Expr:
    return binary("<", left, right)


OF_I, OF_J = loop("i", 0, n), loop("j", 0, m)


def test_example():
    fn = program(
        loop("i", 0, n, loop("j", 0, m,
            store(OUT, (floordiv(add(mul(i, m), j), m),), floormod(j, m)),
            If(binary(">=", add(binary("max", i, 0), j), 0), (store(OUT, (i,), j),)),
        )),
    )  # fmt: skip
    assert show(ranged(fn)).split(":\n", 1)[1].splitlines() == [
        "    for i in 0..n:",
        "        for j in 0..m:",
        "            Out[i] = j",
        "            Out[i] = j",
    ]


def test_a_fused_index_comes_apart():
    flat = add(mul(i, m), j)
    assert inside(floordiv(flat, m), OF_I, OF_J) == "i"
    assert inside(floormod(flat, m), OF_I, OF_J) == "j"
    assert inside(binary("truncmod", flat, m), OF_I, OF_J) == "j"
    assert inside(floordiv(add(mul(i, 8), t, 3), 8), OF_I, loop("t", 0, 5)) == "i"
    assert inside(floormod(add(mul(i, 8), t, 11), 8), OF_I, loop("t", 0, 5)) == "t + 3"
    assert inside(floordiv(add(mul(i, 8), t, 3), 8), OF_I, loop("t", 0, 6)) == "floordiv(i * 8 + t + 3, 8)"
    assert inside(floordiv(sub(mul(i, 8), t), 8), OF_I, loop("t", -7, 1)) == "i"


def test_a_value_below_the_divisor():
    assert inside(floormod(j, m), OF_J) == "j"
    assert inside(floordiv(j, m), OF_J) == "0"
    assert inside(floormod(j, add(m, 1)), OF_J) == "j"
    assert inside(floormod(add(j, 1), m), OF_J) == "truncmod(j + 1, m)"
    assert inside(floormod(sub(j, 1), m), OF_J) == "floormod(j - 1, m)"
    assert inside(binary("&", j, 7), loop("j", 0, 8)) == "j"
    assert inside(binary("&", j, 6), loop("j", 0, 7)) == "j & 6"


def test_remainders_of_multiples():
    assert inside(floormod(add(mul(i, 4), 2), 2), OF_I) == "0"
    assert inside(floormod(add(mul(a, 4), 2), 4)) == "2"  # wraps by multiples of 4 alone
    assert inside(floormod(mul(a, 6), 3)) == "floormod(a * 6, 3)"
    assert inside(floormod(mul(i, 6), 3), OF_I) == "0"
    assert inside(floormod(i, 4), For("i", const(3), n, 8, ())) == "3"
    assert inside(floormod(i, 4), For("i", const(13), n, -4, ())) == "1"


def test_a_quotient_by_what_c_does_best():
    assert inside(floordiv(i, 3), OF_I) == "truncdiv(i, 3)"
    assert inside(floordiv(i, m), OF_I, OF_J) == "truncdiv(i, m)"
    assert inside(binary("truncdiv", i, 8), OF_I) == "floordiv(i, 8)"  # a shift
    assert inside(binary("truncmod", i, 8), OF_I) == "floormod(i, 8)"
    assert inside(floordiv(sub(i, 1), 3), OF_I) == "floordiv(i - 1, 3)"
    assert inside(binary("truncdiv", sub(i, 1), 8), OF_I) == "truncdiv(i - 1, 8)"


def test_division_by_what_may_be_zero_stays():
    assert inside(floordiv(const(0), m)) == "floordiv(0, m)"
    assert inside(floormod(i, k), OF_I) == "floormod(i, k)"
    assert inside(floordiv(i, k), OF_I, under=lt(i, k)) == "0"
    assert inside(binary("min", 0, floordiv(i, k)), OF_I) == "min(0, floordiv(i, k))"
    assert inside(binary("min", -1, floordiv(i, add(k, 1))), OF_I) == "-1"
    assert inside(Select(lt(floormod(j, k), -1), i, j), OF_I, OF_J) == "floormod(j, k) < -1 ? i : j"


def test_min_and_max():
    assert inside(binary("min", i, n), OF_I) == "i"
    assert inside(binary("max", sub(i, n), 0), OF_I) == "0"
    assert inside(binary("min", binary("min", n, add(i, 9)), i), OF_I) == "i"
    assert inside(binary("max", binary("max", j, -1), i), OF_I, OF_J) == "max(j, i)"
    assert inside(binary("min", i, j), OF_I, OF_J) == "min(i, j)"


def test_conditions():
    assert inside(lt(i, n), OF_I) == "true"
    assert inside(binary(">", i, n), OF_I) == "false"
    assert inside(binary("&&", lt(i, n), lt(j, k)), OF_I, OF_J) == "j < k"
    assert inside(binary("&&", lt(j, k), lt(j, add(k, 1))), OF_I, OF_J) == "j < k"
    assert inside(binary("||", lt(j, k), binary(">=", j, k)), OF_I, OF_J) == "true"
    either = Select(lt(i, 3), binary("min", i, 3), binary("max", i, 2))
    assert inside(either, OF_I) == "i"
    assert inside(Unary("!", lt(i, 0)), OF_I) == "true"
    assert inside(lt(floormod(load(ROW, i), 4), 4), OF_I) == "floormod(V[i], 4) < 4"  # a load stays


def test_an_if_that_is_decided():
    def if_(cond: Expr, *other: Stmt) -> Function:
        return program(loop("i", 0, n, If(cond, (store(OUT, (i,), 1),), other)))

    other = store(OUT, (i,), 2)
    assert ranged(if_(lt(i, n))) == program(loop("i", 0, n, store(OUT, (i,), 1)))
    assert ranged(if_(lt(n, i), other)) == program(loop("i", 0, n, other))
    assert ranged(if_(lt(n, i))) == program(loop("i", 0, n))
    named = program(loop("i", 0, n, If(lt(i, n), (Let("t", i), store(OUT, (t,), t)))))
    kept = ranged(named)
    assert "if true:" in show(kept)  # ends the scope of t
    assert ranged(kept) is kept


def test_what_holds_in_one_branch_alone():
    fn = program(
        loop("i", 0, n, If(lt(i, m), (store(OUT, (floormod(i, m),), 1),), (store(OUT, (binary("max", i, m),), 2),))),
        loop("j", 0, n, store(OUT, (j,), binary("min", j, m))),
    )
    text = show(ranged(fn))
    assert "Out[i] = 1" in text
    assert "Out[i] = 2" in text
    assert "min(j, m)" in text


def test_nothing_is_assumed_of_sums_that_may_wrap():
    strict = 2**63 - 1
    assert inside(lt(n, add(n, 1)), largest=strict) == "n < n + 1"
    assert inside(lt(n, add(n, 1))) == "true"
    assert inside(lt(i, add(n, 1)), OF_I, largest=strict) == "i < n + 1"
    assert inside(lt(sub(i, 1), n), OF_I, largest=strict) == "true"
    assert inside(lt(a, add(a, 1))) == "a < a + 1"
    assert inside(floordiv(mul(a, 8), 8)) == "floordiv(a * 8, 8)"
    assert inside(floordiv(mul(i, 8), 8), OF_I, largest=strict) == "floordiv(i * 8, 8)"
    assert inside(floordiv(mul(i, 8), 8), OF_I) == "i"
    assert inside(floordiv(mul(i, k), k), OF_I, loop("j", 0, k)) == "floordiv(i * k, k)"


def test_bounds_of_loops_are_expressions_too():
    fn = program(loop("i", 0, n, loop("j", binary("max", 0, sub(i, n)), binary("min", add(i, 1), n))))
    assert "for j in 0..i + 1:" in show(ranged(fn))


def test_loops_that_never_run_are_gone():
    some, last = store(OUT, (j,), 1), Let("last", add(mul(i, 8), 8))
    body = (last, loop("j", var("last"), add(mul(i, 8), 8), some), loop("j", i, n, some, step=-1))
    assert show(ranged(program(loop("i", 0, n, *body)))).count("for") == 1
    stay = (loop("j", 0, n, some), loop("j", i, n, some), loop("j", n, 0, some, step=-1))
    fn = program(loop("i", 0, n, *stay))
    assert ranged(fn) is fn


def test_calls_with_effects_stay():
    call = Call("read", (), i64, pure=False)
    assert inside(lt(floormod(call, 4), 4)) == "floormod(read(), 4) < 4"


def test_what_cannot_be_simplified_is_returned_as_it_is():
    for fn in (program(loop("i", 0, n, store(OUT, (i,), add(i, 1)))), program(Barrier())):
        assert ranged(fn) is fn


@pytest.mark.parametrize("fn", canonical(), ids=lambda fn: fn.name)
def test_canonical_nests_compute_the_same(fn):
    rng = random.Random(1)
    new = ranged(linearize(fn))
    for size in (0, 1, 4, 7):
        assert_same_outcome(linearize(fn), new, _flat(arguments_for(fn, rng, size)))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_compute_the_same(seed):
    rng = random.Random(seed)
    fn = random_program(rng) if seed % 3 else random_nest(rng)
    new = ranged(fn)
    verify(new, "source")
    assert ranged(new) is new
    for size in (0, 1, 3, 6):
        assert_same_outcome(fn, new, arguments_for(fn, rng, size))


@pytest.mark.parametrize("seed", range(60))
def test_random_divisions_compute_the_same(seed):
    """Fused indices, tiles and guards, as kernels have them."""
    rng = random.Random(seed)
    fn = _divisions(rng)
    new = ranged(fn)
    assert ranged(new) is new
    for size in (0, 1, 2, 5):
        assert_same_outcome(fn, new, arguments_for(fn, rng, size))


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_hash_seed():
    assert texts_with_hash_seed(simplify_ranges, 0) == texts_with_hash_seed(simplify_ranges, 1)


def _flat(arguments):
    return {name: v.reshape(-1) if getattr(v, "ndim", 0) > 1 else v for name, v in arguments.items()}


def _divisions(rng: random.Random) -> Function:
    names: list[Expr] = [n, m, k]

    def one(depth: int) -> Expr:
        if depth == 0 or rng.random() < 0.15:
            return rng.choice((*names, *names, const(rng.randint(0, 9)), const(rng.choice((2, 4, 8)))))
        left, right = one(depth - 1), one(depth - 1)
        kind = rng.random()
        if kind < 0.4:
            divisor = rng.choice((const(2), const(3), const(4), m, k, add(m, 1), mul(n, m)))
            return binary(rng.choice(("floordiv", "floormod", "truncdiv", "truncmod")), left, divisor)
        if kind < 0.55:
            return mul(left, rng.choice((m, n, const(4), const(3))))
        return binary(rng.choice(("+", "+", "-", "min", "max", "&")), left, right)

    def cond() -> Expr:
        compared = [binary(rng.choice(("<", "<=", ">", ">=", "==", "!=")), one(2), one(1)) for _ in range(2)]
        return rng.choice((*compared, binary(rng.choice(("&&", "||")), *compared)))

    def value() -> Stmt:
        result = one(3) if rng.random() < 0.8 else Select(cond(), one(2), one(2))
        stored = store(OUT8, (floormod(one(1), 8),), result)
        return stored if rng.random() < 0.5 else If(cond(), (stored,), (store(OUT8, (const(0),), one(2)),))

    tile = rng.choice((2, 4))
    body: tuple[Stmt, ...] = ()
    loops = [
        loop("b", 0, floordiv(add(n, tile - 1), tile)),
        loop("i", mul(var("b"), tile), binary("min", n, add(mul(var("b"), tile), tile))),
        loop("j", rng.choice((const(0), const(1), i)), rng.choice((m, add(i, 1), sub(n, i))), step=rng.choice((1, 2))),
    ]
    names += [var(each.var) for each in loops]
    body = tuple(value() for _ in range(6))
    for each in reversed(loops):
        body = (For(each.var, each.lo, each.hi, each.step, body),)
    return nest("divisions", "n m k", (GRID, OUT8), *body)


OUT8 = Array("Out8", i64, (const(8),))


def test_bounds_of_threads_that_tell_how_many_there_are_stay():
    """min(8, b + 32) is always 8, but 8 - b is not known to be at most 32 where b is any block's."""
    fn = program(
        For("b", const(0), const(8), 32, (
            For("i", var("b"), binary("min", 8, add(var("b"), 32)), 1, (store(OUT, (i,), j),), "thread.x"),
        ), "block.x"),
        For("b2", const(0), n, 32, (
            For("i2", binary("max", var("b2"), 0), binary("min", n, add(var("b2"), 32)), 1, (
                store(OUT, (var("i2"),), j),
            ), "thread.x"),
        ), "block.x"),
    )  # fmt: skip
    text = show(ranged(fn))
    assert "for i in b..min(8, b + 32)" in text
    assert "for i2 in b2..min(n, b2 + 32)" in text  # other bounds go


@pytest.mark.parametrize("is_inside", [False, True])
def test_what_was_asked_of_a_loop_that_goes_does_not_weaken_what_is_known_behind_it(is_inside):
    """n * k may wrap where nothing bounds it, as in the end of the first loop; under the condition it may not."""
    small = binary("&&", binary("<", n, const(100)), binary("<", k, const(100)))
    least = If(small, (store(OUT, (const(0),), binary("min", mul(n, k), mul(n, add(k, 1)))),))
    end = binary("min", k, add(k, binary("&", mul(n, k), 7)))
    around = loop("i", 0, end, *([least] if is_inside else [store(OUT, (i,), const(1))]))
    found = ranged(program(around, *([] if is_inside else [least])))
    assert "Out[0] = n * k" in show(found)
    assert ranged(found) is found
