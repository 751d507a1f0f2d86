import re

import numpy as np
import pytest

from polysched import isl
from polysched.errors import LaunchError
from polysched.ir.build import add, const, load, mul, store, sub, var
from polysched.ir.dtypes import boolean, f16, f32, f64, i8, i64, u64
from polysched.ir.nodes import LARGEST_SIZE, Alloc, Array, Var
from polysched.runtime.arguments import bind
from tests.nests import loop, nest

n, m, i = var("n"), var("m"), var("i")
A, X, Y = Array("A", f64, (n, add(m, 1))), Array("x", f64, (n,)), Array("y", f64, (n,))
FN = nest("f", "n m", [A, X, Y], loop("i", 0, n, store(Y, (i,), load(X, i))), scalars=(Var("s", f32),))


def arguments(**changes):
    """Good ones, with changes; None leaves one out."""
    good = {"A": np.zeros((4, 6)), "x": np.zeros(4), "y": np.zeros(4), "s": 0.5}
    return {name: value for name, value in (good | changes).items() if value is not None}


def test_sizes_come_from_the_arrays():
    bound = bind(FN, arguments())
    assert bound.values == {"n": 4, "m": 5, "s": 0.5}
    assert bound.order == ("n", "m", "s", "A", "x", "y")


def read_only():
    array = np.zeros(4)
    array.flags.writeable = False
    return array


MISALIGNED = np.zeros(4 * 8 + 1, np.uint8)[1:].view(np.float64)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": None}, "f needs x too; it takes n, m, s, A, x, y"),
        ({"s": None}, "f needs s too"),
        ({"z": 1, "w": 2}, "f has no parameter w, z; it takes n, m, s, A, x, y"),
        ({"x": [0.0] * 4}, "x must be a numpy array f64[n], not list"),
        ({"x": np.ma.zeros(4)}, "x must be a numpy array f64[n], not MaskedArray"),
        ({"x": np.zeros(4, "f4")}, "not float32 of shape (4,); convert it with .astype(numpy.float64)"),
        ({"x": np.zeros(4, ">f8")}, "not >f8 of shape (4,) in foreign byte order; convert it"),
        ({"x": np.zeros((4, 1))}, "not float64 of shape (4, 1): 2 dimensions instead of 1"),
        ({"x": np.zeros(8)[::2]}, "its strides are (16,); pass a copy: numpy.ascontiguousarray(x)"),
        ({"A": np.zeros((6, 4)).T}, "A must be a numpy array f64[n, m + 1], in C order without gaps"),
        ({"x": MISALIGNED}, "aligned to 8 bytes; pass x.copy()"),
        ({"y": read_only()}, "y is written, but the array given is read-only"),
        ({"x": np.zeros(5)}, "n is 4 by A's dimension 0, but 5 by x's dimension 0"),
        ({"n": 5}, "n is 5 by the argument, but 4 by A's dimension 0"),
        ({"m": 6}, "A is f64[n, m + 1], with m = 6, n = 4 of shape (4, 7), not (4, 6)"),
        ({"A": np.zeros((4, 0))}, "A's dimension 1 is 0, but m + 1 is that for no m of zero or more, with n = 4"),
        ({"n": -4}, "the size n is -4; it must be from 0 to"),
        ({"n": 2**56 + 1}, "the size n is 72057594037927937; it must be from 0 to 72057594037927936"),
        ({"n": 4.0}, "the size n must be an integer, not float 4.0"),
        ({"s": "1"}, "s must be a number of type f32, not str '1'"),
        ({"s": 0.1}, "s is 0.1, which is not a value of f32; round it first: numpy.float32(0.1)"),
        ({"s": 1e300}, "s is 1e+300, which is not a value of f32"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(LaunchError, match=re.escape(message)):
        bind(FN, arguments(**changes))


def test_arrays_that_are_only_read_may_be_read_only_and_shared():
    shared = np.zeros((4, 6))
    shared.flags.writeable = False
    bind(FN, arguments(A=shared, x=shared.reshape(-1)[:4]))


@pytest.mark.parametrize(("start", "overlaps"), [(0, True), (3, True), (4, False)])
def test_a_written_array_may_not_overlap_another(start, overlaps):
    memory = np.zeros(8)
    given = arguments(x=memory[start : start + 4], y=memory[:4])
    if overlaps:
        with pytest.raises(LaunchError, match="x and y share memory, and y is written; pass a copy of one of them"):
            bind(FN, given)
    else:
        bind(FN, given)


@pytest.mark.parametrize(
    ("shape", "actual", "size"),
    [
        ((mul(2, n),), (6,), 3),
        ((sub(mul(n, 3), 1),), (5,), 2),
        ((sub(10, n),), (4,), 6),
        ((const(3), n), (3, 7), 7),
        ((add(n, n),), (8,), 4),
    ],
)
def test_an_extent_is_solved_for_its_one_size(shape, actual, size):
    assert bind(nest("f", "n", [Array("A", i64, shape)]), {"A": np.zeros(actual, int)}).values["n"] == size


def test_an_extent_that_no_size_has_is_refused():
    with pytest.raises(LaunchError, match=r"A's dimension 0 is 5, but n \* 2 is that for no n of zero or more"):
        bind(nest("f", "n", [Array("A", i64, (mul(n, 2),))]), {"A": np.zeros(5, int)})


@pytest.mark.parametrize(("n", "m"), [(2**56, 0), (0, 2**56), (2**57, 0), (0, 2**57)])
def test_sizes_are_what_the_passes_count_on_whatever_shows_them(n, m):
    """Even where there is no element: loops over the other dimensions run."""
    fn = nest("f", "n m", [Array("A", f64, (var("n"), var("m")))])
    given = {"A": np.zeros((n, m))}
    if max(n, m) <= LARGEST_SIZE:
        assert bind(fn, given).values == {"n": n, "m": m}
    else:
        with pytest.raises(LaunchError, match=rf"the size \w is {2**57}; it must be from 0 to {LARGEST_SIZE}"):
            bind(fn, given)


def test_sizes_solve_one_after_another_and_products_are_checked():
    fn = nest("f", "n m", [Array("A", i64, (mul(n, m),)), Array("B", i64, (add(n, m), n))])
    bound = bind(fn, {"A": np.zeros(12, int), "B": np.zeros((7, 3), int)})
    assert bound.values == {"n": 3, "m": 4}
    with pytest.raises(LaunchError, match=re.escape("A's dimension 0 is 13, but n * m is that for no m")):
        bind(fn, {"A": np.zeros(13, int), "B": np.zeros((7, 3), int)})
    with pytest.raises(LaunchError, match=r"with m = 4, n = 3 of shape \(7, 3\), not \(8, 3\)"):
        bind(fn, {"A": np.zeros(12, int), "B": np.zeros((8, 3), int)})


def test_a_size_that_no_array_shows_must_be_given():
    fn = nest("f", "steps n", [X])
    with pytest.raises(LaunchError, match="the size steps cannot be seen in the shapes of the arrays; pass it as well"):
        bind(fn, {"x": np.zeros(3)})
    assert bind(fn, {"x": np.zeros(3), "steps": np.int32(7)}).values["steps"] == 7


def test_sizes_that_would_leave_an_array_are_refused():
    fn = nest("f", "n m", [X], loop("i", 0, m, store(X, (i,), 0.0)))
    valid = isl.Set("[n, m] -> { : 0 <= m <= n }")
    bind(fn, {"x": np.zeros(3), "m": 3}, valid)
    with pytest.raises(LaunchError, match="f cannot run with m = 4 and n = 3: it would leave its arrays, or what"):
        bind(fn, {"x": np.zeros(3), "m": 4}, valid)


def test_temporaries_that_outgrow_addresses_are_refused():
    fn = nest("f", "n", [], Alloc(Array("t", f64, (n, n))))
    with pytest.raises(LaunchError, match=re.escape("the temporary t, f64[n, n], outgrows 64 bits")):
        bind(fn, {"n": 2**31})


@pytest.mark.parametrize(
    ("dtype", "good", "bad"),
    [
        (f64, [1, 0.1, np.float32(0.5), float("inf"), float("nan"), np.array(2.0)], [2**53 + 1, 1j, [1.0]]),
        (f32, [np.float32(0.1), 3, -0.0], [0.1, 2**24 + 1]),
        (f16, [0.5, 65504], [65505, 1e6]),
        (i8, [-128, 127, 3.0, True], [128, -129, 0.5, float("nan"), float("inf")]),
        (u64, [0, 2**64 - 1], [-1, 2**64]),
        (boolean, [True, False, 0, 1, np.True_], [2, -1, 0.5]),
    ],
)
def test_scalars_are_taken_where_their_dtype_holds_them_exactly(dtype, good, bad):
    fn = nest("f", "", [], scalars=(Var("s", dtype),))
    for value in good:
        np.testing.assert_equal(bind(fn, {"s": value}).values["s"], value)
    for value in bad:
        with pytest.raises(LaunchError, match=r"s is .* not a value of|s must be a number"):
            bind(fn, {"s": value})
