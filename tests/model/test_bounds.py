"""polysched/model/bounds.py: for which sizes every access stays inside its array."""

from __future__ import annotations

import random

import nests
import pytest
from nests import loop, nest

from polysched.errors import InputError
from polysched.ir.build import add, binary, floordiv, floormod, load, mul, store, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.nodes import Array, Function, If
from polysched.model.extract import extract
from polysched.support import isl

i, j, k, n, m = (var(name) for name in "ijknm")
A, SQUARE, INDEX = Array("a", f64, (n,)), Array("q", f64, (n, n)), Array("index", i64, (n,))


def function(*body, arrays=(A, SQUARE, INDEX)) -> Function:
    return nest("f", "n m", arrays, *body)


def valid(*body, arrays=(A, SQUARE, INDEX)) -> isl.Set:
    return extract(function(*body, arrays=arrays)).valid_sizes


def write(index, *, lo=0, hi=m):
    return loop("i", lo, hi, store(A, (index,), 1.0))


@pytest.mark.parametrize(
    ("body", "sizes"),
    [
        (write(i), "m <= n"),
        (write(i, hi=n), ""),
        (write(i, hi=add(m, 2)), "m <= n - 2"),
        (write(mul(i, 2)), "m = 0 or 2m <= n + 1"),
        (write(sub(i, 1), lo=1), "m <= 1 or m <= n + 1"),
        (write(sub(m, i), lo=1), "m <= 1 or m <= n"),
        (write(floormod(i, 4)), "m = 0 or (m <= n and n < 4) or n >= 4"),
        (loop("i", 0, n, If(binary("<", add(i, 1), n), (store(A, (add(i, 1),), 1.0),))), ""),
        (loop("i", 0, n, If(binary("<", load(A, i), 0.5), (store(A, (i,), load(A, i)),))), ""),
        (loop("i", 0, n, store(SQUARE, (load(INDEX, i), i), 1.0)), ""),
    ],
    ids=["another size", "always", "shift", "stride", "from 1", "down", "modulo", "guard", "data guard", "unknown"],
)
def test_the_valid_sizes_are_exact(body, sizes):
    expected = isl.Set(f"[n, m] -> {{ : n >= 0 and m >= 0{f' and ({sizes})' if sizes else ''} }}")
    assert valid(body).is_equal(expected)


def test_a_size_may_have_any_name():
    fn = nest("f", "n x0", [Array("a", f64, (var("x0"),))], loop("i", 0, n, store(Array("a", f64, (n,)), (i,), 1.0)))
    assert extract(fn).valid_sizes.is_equal(isl.Set("[n, x0] -> { : 0 <= n <= x0 }"))


def test_an_access_that_is_always_outside_is_refused_with_its_smallest_example():
    with pytest.raises(InputError) as error:
        valid(write(add(i, 1), hi=n))
    assert str(error.value) == (
        "'a' has shape [n], but i = 0 touches a[1] when n = 1, m = 0\n"
        'hint: shrink the loop, guard the access, or declare the array larger, as in n + 1 for n'
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (write(sub(i, 1), hi=n), r"i = 0 touches a\[-1\] when n = 1, m = 0"),
        (loop("i", 0, n, loop("j", 0, n, store(SQUARE, (i, add(j, i)), 1.0))), None),
        (loop("i", 1, n, store(SQUARE, (i, n), 1.0)), r"'q' has shape \[n, n\], but i = 1 touches q\[1, 2\]"),
        (store(A, (n,), 1.0), r"the statement touches a\[0\] when n = 0"),
        (loop("i", 0, n, store(A, (i,), load(SQUARE, i, sub(i, 1)))), r"i = 0 touches q\[0, -1\] when n = 1"),
    ],
    ids=["below", "sometimes", "last dimension", "no loop", "read"],
)
def test_messages(body, message):
    if message is None:
        assert valid(body).is_equal(isl.Set("[n, m] -> { : m >= 0 and 0 <= n <= 1 }"))
    else:
        with pytest.raises(InputError, match=message):
            valid(body)


def test_an_extent_that_is_not_affine_is_left_to_the_call():
    flat = Array("flat", f64, (mul(n, n),))
    assert valid(loop("i", 0, m, store(flat, (i,), 1.0)), arrays=(flat,)).is_equal(
        isl.Set("[n, m] -> { : n >= 0 and m >= 0 }")
    )


def test_a_subscript_that_is_loaded_may_be_any_element_of_it():
    flat = Array("flat", f64, (mul(n, n),))
    body = loop("i", 0, n, store(flat, (load(INDEX, i),), 1.0))
    assert valid(body, arrays=(flat, INDEX)).is_equal(isl.Set("[n, m] -> { : n >= 0 and m >= 0 }"))


def test_negative_subscripts_are_found_even_there():
    flat = Array("flat", f64, (mul(n, n),))
    with pytest.raises(InputError, match=r"touches flat\[-1\]"):
        valid(loop("i", 0, m, store(flat, (sub(i, 1),), 1.0)), arrays=(flat,))


def test_sizes_that_are_hard_to_tell_exactly_are_left_out():
    """Which m and n keep (i / 2 * 112 + k) * 112 + k + j below the extent of a is a question of whole numbers."""
    half, extent = var("half"), Array("a", f64, (n,))
    index = add(mul(add(mul(floordiv(i, 2), 112), k), 112), k, j)
    inner = loop("k", i, m, store(extent, (index,), 1.0))
    body = loop("i", 0, m, loop("j", 0, half, If(binary("==", floormod(j, 2), 0), (inner,))))
    fn = nest("f", "n m half", [extent], body)
    with isl.within(operations=30_000):
        left = extract(fn).valid_sizes
    assert left.is_subset(extract(fn).valid_sizes)
    assert isl.Set("[n, m, half] -> { : m = 1 and half = 2 and n = 2 }").is_subset(left)


def test_the_extent_may_be_the_largest_of_many():
    halves = [floordiv(add(mul(n, c), mul(m, c + 1)), c + 2) for c in range(1, 7)]
    a = Array("a", f64, (binary("max", *halves),))
    loops = [loop(f"i{c}", 0, half, store(a, (var(f"i{c}"),), 1.0)) for c, half in enumerate(halves)]
    with isl.within(operations=100_000):
        scop = extract(nest("f", "n m", [a], *loops))
    assert scop.valid_sizes.is_equal(isl.Set("[n, m] -> { : n >= 0 and m >= 0 }"))


@pytest.mark.parametrize("seed", range(40))
def test_random_nests_run_exactly_at_their_valid_sizes(seed):
    """Arrays one too small: the interpreter checks every subscript."""
    rng = random.Random(seed)
    fn = nests.random_nest(rng)
    short = Function(fn.name, fn.sizes, tuple(_shorter(a) for a in fn.arrays), fn.body, fn.scalars, fn.params)
    try:
        known = extract(short).valid_sizes
    except InputError:
        assert any(_leaves(short, size) for size in range(1, 6))
        return
    for size in range(1, 6):
        is_invalid = known.intersect(isl.Set(f"[n] -> {{ : n = {size} }}")).is_empty()
        assert is_invalid == _leaves(short, size)


def _shorter(array: Array) -> Array:
    return Array(array.name, array.dtype, tuple(binary("max", sub(extent, 1), 1) for extent in array.shape))


def _leaves(fn: Function, size: int) -> bool:
    try:
        nests.outcome(fn, nests.arguments_for(fn, random.Random(0), size))
    except IndexError:
        return True
    return False
