import random
import re

import numpy as np
import pytest

from polysched.errors import LaunchError
from polysched.frontend.python import parse_nest
from polysched.ir.build import add, load, mul, store, var
from polysched.ir.dtypes import boolean, f16, f32, f64, i8, u64
from polysched.ir.nodes import LARGEST_SIZE, Alloc, Array, Var
from polysched.pipeline import optimize
from polysched.runtime.arguments import Binder
from polysched.support import isl
from tests.nests import loop, nest

n, m, i = var("n"), var("m"), var("i")
A, X, Y = Array("A", f64, (n, add(m, 1))), Array("x", f64, (n,)), Array("y", f64, (n,))
FN = nest("f", "n m", [A, X, Y], loop("i", 0, n, store(Y, (i,), load(X, i))), scalars=(Var("s", f32),))


def arguments(**changes):
    """Good ones, with changes; None leaves one out."""
    good = {"A": np.zeros((4, 6)), "x": np.zeros(4), "y": np.zeros(4), "s": 0.5}
    return {name: value for name, value in (good | changes).items() if value is not None}


def test_sizes_come_from_the_arrays():
    bound = Binder(FN)(arguments())
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
        ({"x": np.zeros(4, complex)}, "not complex128 of shape (4,); complex numbers are not supported"),
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
        ({"s": np.float64(0.1)}, "s is 0.1, which is not a value of f32; round it first: numpy.float32(0.1)"),
        ({"s": 1e300}, "s is 1e+300, which is not a value of f32: f32 ends at 3.40282e+38"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(LaunchError, match=re.escape(message)):
        Binder(FN)(arguments(**changes))


# --- what has fitted once


def test_equal_forms_are_checked_once():
    binder = Binder(FN)
    for _ in range(3):
        assert binder(arguments(s=0.25)).values == {"n": 4, "m": 5, "s": 0.25}
    assert binder(arguments(s=-0.0)).values["s"].hex() == "-0x0.0p+0"
    assert binder._fit.cache_info().misses == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda given: given["y"].setflags(write=False),
            "y is written, but the array given is read-only; pass a writable copy",
        ),
        (
            lambda given: given["x"].resize(5, refcheck=False),
            "n is 4 by the argument, but 5 by x's dimension 0",
        ),
        (
            lambda given: given.update(x=np.zeros((4, 1))),
            "x must be a numpy array f64[n], not float64 of shape (4, 1): 2 dimensions instead of 1",
        ),
        (
            lambda given: given.update(x=np.zeros(4, np.int64)),
            "x must be a numpy array f64[n], not int64 of shape (4,); convert it with .astype(numpy.float64)",
        ),
        (
            lambda given: given.update(x=np.zeros(8)[::2]),
            "x must be a numpy array f64[n], in C order without gaps; its strides are (16,); "
            "pass a copy: numpy.ascontiguousarray(x)",
        ),
        (
            lambda given: given.update(x=MISALIGNED),
            "x must be a numpy array f64[n], aligned to 8 bytes; pass x.copy()",
        ),
        (
            lambda given: given.update(x=given["y"]),
            "x and y share memory, and y is written; pass a copy of one of them",
        ),
        (
            lambda given: given.update(A=given["y"].base.reshape(4, 6)),
            "A and y share memory, and y is written; pass a copy of one of them",
        ),
        (lambda given: given.update(x=given["x"].tolist()), "x must be a numpy array f64[n], not list"),
        (lambda given: given.pop("x"), "f needs x too; it takes n, m, s, A, x, y"),
        (lambda given: given.update(z=1), "f has no parameter z; it takes n, m, s, A, x, y"),
        (lambda given: given.update(n=4.0), "the size n must be an integer, not float 4.0"),
        (lambda given: given.update(n=5), "n is 5 by the argument, but 4 by A's dimension 0"),
        (
            lambda given: given.update(s=np.float64(0.1)),
            "s is 0.1, which is not a value of f32; round it first: numpy.float32(0.1)",
        ),
    ],
)
def test_what_has_fitted_is_refused_once_it_does_not(change, message):
    """And fits again where it does."""
    binder, given = Binder(FN), arguments(y=np.zeros(24)[:4], n=4)
    binder(given)
    change(given)
    for _ in range(2):
        with pytest.raises(LaunchError) as error:
            binder(given)
        assert str(error.value) == message
    assert binder(arguments()).values == {"n": 4, "m": 5, "s": 0.5}


def test_one_binder_for_many_calls_answers_as_one_for_each():
    rng = random.Random(0)
    memory = np.zeros(64)
    valid = isl.Set("[n, m] -> { : m <= n + 1 }")
    binder = Binder(FN, valid)
    answers = set()
    for _ in range(300):
        n, m, dtype = rng.choice((0, 2, 3)), rng.choice((2, 3)), rng.choice(("f8", "f8", "f4"))
        given = {"A": np.zeros((n, m + 1), dtype), "s": rng.choice((1, 0.5, 1e40))}
        for name in "xy":
            start = rng.randrange(60)
            given[name] = memory[start : start + n]
            given[name].flags.writeable = rng.random() < 0.8
        if rng.random() < 0.3:
            given["n"] = rng.choice((2, 3))
        remembered = answer(binder, given)
        assert remembered == answer(Binder(FN, valid), given)
        answers.add(remembered.partition(" ")[0])
    assert answers == {"A", "f", "n", "s", "x", "y", "fits:"}
    assert binder._fit.cache_info().hits > 50


def answer(binder, given):
    """The values and addresses, or the refusal."""
    try:
        bound = binder(given)
    except LaunchError as error:
        return str(error)
    return f"fits: {bound.values}, {[view.at for view in bound.arrays.values()]}"


def test_arrays_that_are_only_read_may_be_read_only_and_shared():
    shared = np.zeros((4, 6))
    shared.flags.writeable = False
    Binder(FN)(arguments(A=shared, x=shared.reshape(-1)[:4]))


@pytest.mark.parametrize(("start", "overlaps"), [(0, False), (1, True), (4, True), (7, True), (8, False)])
def test_a_written_array_may_not_overlap_another(start, overlaps):
    memory = np.zeros(12)
    given = arguments(x=memory[start : start + 4], y=memory[4:8])
    if overlaps:
        with pytest.raises(LaunchError, match="x and y share memory, and y is written; pass a copy of one of them"):
            Binder(FN)(given)
    else:
        Binder(FN)(given)


def test_an_array_without_elements_overlaps_none():
    fn = nest("f", "n m", [Y, Array("z", f64, (m,))], loop("i", 0, n, store(Y, (i,), 0.0)))
    memory = np.zeros(4)
    Binder(fn)({"y": memory, "z": memory[2:][:0]})


def test_products_of_sizes_that_may_be_counted_in_one_do_not_wrap():
    fn = nest("f", "n m", [X], loop("i", 0, mul(n, m)))
    with pytest.raises(LaunchError) as error:
        Binder(fn)({"x": np.zeros(2), "m": 2**56})
    assert str(error.value) == "with m = 72057594037927936 and n = 2, n * m in f outgrows 72057594037927936"


@pytest.mark.parametrize(("n", "m"), [(2**56, 0), (0, 2**56), (2**57, 0), (0, 2**57)])
def test_sizes_are_what_the_passes_count_on_whatever_shows_them(n, m):
    """Even where there is no element: loops over the other dimensions run."""
    fn = nest("f", "n m", [Array("A", f64, (var("n"), var("m")))])
    given = {"A": np.zeros((n, m))}
    if max(n, m) <= LARGEST_SIZE:
        assert Binder(fn)(given).values == {"n": n, "m": m}
    else:
        with pytest.raises(LaunchError, match=rf"the size \w is {2**57}; it must be from 0 to {LARGEST_SIZE}"):
            Binder(fn)(given)


def test_sizes_that_would_leave_an_array_are_refused():
    fn = nest("f", "n m", [X], loop("i", 0, m, store(X, (i,), 0.0)))
    valid = isl.Set("[n, m] -> { : 0 <= m <= n }")
    Binder(fn, valid)({"x": np.zeros(3), "m": 3})
    with pytest.raises(LaunchError, match="f cannot run with m = 4 and n = 3: it would leave its arrays, or what"):
        Binder(fn, valid)({"x": np.zeros(3), "m": 4})


def test_temporaries_that_outgrow_addresses_are_refused():
    fn = nest("f", "n", [], Alloc(Array("t", f64, (n, n))))
    with pytest.raises(LaunchError, match=re.escape("the temporary t, f64[n, n], outgrows 64 bits")):
        Binder(fn)({"n": 2**31})


@pytest.mark.parametrize(
    ("dtype", "good", "bad"),
    [
        (f64, [1, 0.1, np.float32(0.5), float("inf"), float("nan"), np.array(2.0)], [np.int64(2**53 + 1), 1j, [1.0]]),
        (f32, [np.float32(0.1), 3, -0.0], [np.float64(0.1), np.array(0.1), np.int32(2**24 + 1)]),
        (f16, [0.5, 65504], [np.float32(65505), np.float64(1e6)]),
        (i8, [-128, 127, 3.0, True], [128, -129, 0.5, float("nan"), float("inf")]),
        (u64, [0, 2**64 - 1], [-1, 2**64]),
        (boolean, [True, False, 0, 1, np.True_], [2, -1, 0.5]),
    ],
)
def test_scalars_are_taken_where_their_dtype_holds_them_exactly(dtype, good, bad):
    fn = nest("f", "", [], scalars=(Var("s", dtype),))
    for value in good:
        np.testing.assert_equal(Binder(fn)({"s": value}).values["s"], value)
    for value in bad:
        with pytest.raises(LaunchError, match=r"s is .* not a value of|s must be a number"):
            Binder(fn)({"s": value})


@pytest.mark.parametrize("dtype", [f16, f32, f64])
@pytest.mark.parametrize("value", [0.3, -1e-9, 65504, 65505, 1e4 / 3, 2049, 4097, 3.1e-8, 2**24 + 1])
def test_a_python_number_is_rounded_to_the_nearest_float(dtype, value):
    fn = nest("f", "", [], scalars=(Var("s", dtype),))
    with np.errstate(over="ignore"):
        nearest = np.float64(value).astype(dtype.numpy)
    if np.isinf(nearest):
        with pytest.raises(LaunchError, match=f"which is not a value of {dtype}: {dtype} ends at"):
            Binder(fn)({"s": value})
    else:
        assert Binder(fn)({"s": value}).values["s"] == nearest


@pytest.mark.parametrize(("dtype", "value", "end"), [(f16, 65520.0, "65504"), (f32, 1e39, "3.4"), (f64, 10**400, "1")])
def test_a_number_beyond_all_floats_is_refused(dtype, value, end):
    fn = nest("f", "", [], scalars=(Var("s", dtype),))
    with pytest.raises(LaunchError, match=re.escape(f"which is not a value of {dtype}: {dtype} ends at {end}")):
        Binder(fn)({"s": value})


def test_a_rounded_scalar_gives_what_numpy_gives():
    source = 'def f(x: f32["n"], n: size, thr: f32):\n    for i in range(n):\n        x[i] = x[i] * thr\n'
    x = np.linspace(0, 1, 7, dtype=np.float32)
    expected = x * 0.3
    optimize(parse_nest(source, "f.py"))(x=x, thr=0.3)
    np.testing.assert_array_equal(x, expected)


def test_defaults_of_scalars_and_of_sizes_that_no_array_shows():
    source = 'def f(x: f64["n"], by: f64 = 3, n: size = 7, m: size = 2): pass'
    bind_them = Binder(parse_nest(source, "f.py"))
    x = np.zeros(4)
    assert bind_them({"x": x}).values == {"n": 4, "m": 2, "by": 3.0}
    assert bind_them({"x": x, "by": 0.5, "m": 1}).values == {"n": 4, "m": 1, "by": 0.5}
    with pytest.raises(LaunchError, match="needs x too"):
        bind_them({})


MOVED = """
def moved(a: f64["n"], b: f64["n"], by: f64, n: size):
    for i in range(n):
        b[i] = a[i] + by
"""


def test_arguments_may_come_in_order():
    done, a, b = optimize(parse_nest(MOVED, "moved.py")), np.arange(3.0), np.zeros(3)
    done(a, b, 1.0)
    assert b.tolist() == [1.0, 2.0, 3.0]
    done(a, b, n=3, by=2.0)
    assert b.tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("in_order", "named", "message"),
    [
        ((0.0,) * 5, {}, "moved takes a, b, by, n: 4 arguments, and 5 are given"),
        ((np.zeros(3),), {"a": np.zeros(3)}, "moved is given a twice, by its place and by its name"),
    ],
)
def test_arguments_that_do_not_fit_their_order(in_order, named, message):
    with pytest.raises(LaunchError, match=message):
        optimize(parse_nest(MOVED, "moved.py"))(*in_order, **named)
