import re

import pytest

from polysched.errors import LaunchError
from polysched.ir.build import add, const, mul, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.nodes import Array
from polysched.runtime.extents import size_of, sizes_of
from tests.nests import nest

n, m = var("n"), var("m")


def of_shapes(sizes, **extents):
    """A function of arrays of these extents."""
    return nest("f", sizes, [Array(name, i64, shape) for name, shape in extents.items()])


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
    assert sizes_of(of_shapes("n", A=shape), {}, {"A": actual}) == {"n": size}


def test_an_extent_that_no_size_has_is_refused():
    with pytest.raises(LaunchError) as error:
        sizes_of(of_shapes("n", A=(mul(n, 2),)), {}, {"A": (5,)})
    assert str(error.value) == "A's dimension 0 is 5, but n * 2 is that for no n of zero or more"


def test_sizes_solve_one_after_another():
    fn = of_shapes("n m", A=(mul(n, m),), B=(add(n, m), n))
    assert sizes_of(fn, {}, {"A": (12,), "B": (7, 3)}) == {"n": 3, "m": 4}
    message = "A's dimension 0 is 13, but n * m is that for no m of zero or more, with n = 3"
    with pytest.raises(LaunchError, match=re.escape(message)):
        sizes_of(fn, {}, {"A": (13,), "B": (7, 3)})


def test_a_size_that_no_array_shows_must_be_given():
    fn = of_shapes("steps n", x=(n,))
    with pytest.raises(LaunchError, match="the size steps cannot be seen in the shapes of the arrays; pass it as well"):
        sizes_of(fn, {}, {"x": (3,)})
    assert sizes_of(fn, {"steps": 7}, {"x": (3,)}) == {"steps": 7, "n": 3}


def test_two_extents_that_differ_are_named():
    with pytest.raises(LaunchError, match="n is 3 by x's dimension 0, but 4 by y's dimension 0"):
        sizes_of(of_shapes("n", x=(n,), y=(n,)), {}, {"x": (3,), "y": (4,)})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (4.0, "the size n must be an integer, not float 4.0"),
        (-4, "the size n is -4; it must be from 0 to 72057594037927936"),
        (2**56 + 1, "the size n is 72057594037927937; it must be from 0 to 72057594037927936"),
    ],
)
def test_what_is_no_size_is_refused(given, message):
    with pytest.raises(LaunchError) as error:
        size_of("n", given)
    assert str(error.value) == message
