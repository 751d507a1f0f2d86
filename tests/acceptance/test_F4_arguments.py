"""F4: wrong arguments are refused before anything runs, and no array is touched."""

# ruff: noqa: F821 - nests are not ordinary Python: annotations name sizes by texts

import numpy as np
import pytest

import polysched as ps


def arguments():
    return {"a": np.arange(12.0).reshape(3, 4) + 1, "b": np.ones((3, 4)), "n": 3, "m": 4}


@ps.nest
def shift(a: ps.f64["n", "m"], b: ps.f64["n", "m"], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            b[i, j] = a[i, j] + 1.0


def read_only(array):
    array.flags.writeable = False
    return array


WRONG = {
    "missing array": (lambda given: given.pop("a"), "shift needs a too"),
    "shape": (lambda given: given.update(a=np.ones((3, 5))), "m is 4 by the argument, but 5 by a's dimension 1"),
    "rank": (lambda given: given.update(a=np.ones(12)), "1 dimensions instead of 2"),
    "dtype": (lambda given: given.update(a=np.ones((3, 4), "f4")), "not float32 of shape (3, 4)"),
    "not contiguous": (lambda given: given.update(a=np.ones((4, 3)).T), "pass a copy: numpy.ascontiguousarray(a)"),
    "read-only output": (lambda given: read_only(given["b"]), "b is written, but the array given is read-only"),
    "overlap": (lambda given: given.update(a=given["b"]), "a and b share memory, and b is written"),
    "size": (lambda given: given.update(n=-1), "the size n is -1"),
    "no array at all": (lambda given: given.update(b=[[0.0]]), "b must be a numpy array f64[n, m], not list"),
    "unknown name": (lambda given: given.update(c=1), "shift has no parameter c"),
}


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize(("spoil", "message"), WRONG.values(), ids=WRONG)
def test_F4_wrong_arguments_are_refused_and_no_array_is_touched(spoil, message, target):
    program = ps.optimize(shift, target).program
    given = arguments()
    spoil(given)
    before = {name: np.copy(value) for name, value in given.items()}
    with pytest.raises(ps.LaunchError) as error:
        program(**given)
    assert message in str(error.value)
    assert all(np.array_equal(given[name], before[name]) for name in given)


@pytest.mark.parametrize(("spoil", "message"), WRONG.values(), ids=WRONG)
def test_F4_wrong_arguments_are_refused_after_right_ones_too(spoil, message):
    compiled = ps.optimize(shift)
    given = arguments()
    compiled(**given)
    spoil(given)
    before = {name: np.copy(value) for name, value in given.items()}
    with pytest.raises(ps.LaunchError) as error:
        compiled(**given)
    assert message in str(error.value)
    assert all(np.array_equal(given[name], before[name]) for name in given)


def test_F4_right_arguments_run():
    given = arguments()
    ps.optimize(shift)(**given)
    assert np.array_equal(given["b"], given["a"] + 1)
