import random

import pytest

from polysched.codegen.memory.linearize import linearize
from polysched.ir.build import add, const, load, mul, store, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Alloc, Array, Store
from polysched.ir.text import show
from tests.nests import arguments_for, canonical, loop, nest, outcome, random_nest

n, m, i, j = (var(name) for name in "nmij")


def address(shape, *index):
    """The one subscript that A[index] becomes."""
    array = Array("A", f64, shape)
    flat = linearize(nest("f", "n m", [array], store(array, index, 0.0)))
    assert isinstance(flat.body[0], Store)
    (subscript,) = flat.body[0].index
    return show(subscript)


@pytest.mark.parametrize(
    ("shape", "index", "expected"),
    [
        ((n, m), (i, j), "i * m + j"),
        ((n, m), (add(i, 1), sub(j, 1)), "(i + 1) * m + j - 1"),
        ((n, const(8)), (add(i, 1), sub(j, 1)), "i * 8 + j + 7"),
        ((n, const(8)), (sub(i, 1), add(j, 8)), "i * 8 + j"),
        ((const(4), const(8)), (const(2), const(3)), "19"),
        ((n, m, const(3)), (i, j, const(2)), "i * (m * 3) + j * 3 + 2"),
        ((n, n, n), (i, i, j), "i * (n * n) + i * n + j"),
        ((const(1), n), (const(0), j), "j"),
        ((n, m), (i, sub(j, i)), "i * m + j - i"),
    ],
)
def test_the_address_is_a_sum_with_its_constant_last(shape, index, expected):
    assert address(shape, *index) == expected


def test_arrays_of_one_dimension_and_none_stay():
    vector, scalar = Array("v", f64, (n,)), Array("s", f64, ())
    fn = nest("f", "n", [vector, scalar], loop("i", 0, n, store(scalar, (), add(load(scalar), load(vector, i)))))
    assert linearize(fn) is fn


def test_temporaries_are_linearised_too():
    local, out = Array("t", f64, (n, const(4)), "private"), Array("out", f64, (n,))
    body = (Alloc(local), loop("i", 0, n, store(local, (i, const(1)), 2.0), store(out, (i,), load(local, i, const(1)))))
    flat = linearize(nest("f", "n", [out], *body))
    assert flat.body[0] == Alloc(Array("t", f64, (mul(n, 4),), "private"))


@pytest.mark.parametrize("fn", [*canonical(), *(random_nest(random.Random(seed)) for seed in range(20))])
def test_results_stay(fn):
    flat = linearize(fn)
    assert all(len(array.shape) <= 1 for array in flat.arrays)
    arguments = arguments_for(fn, random.Random(1), n=4)
    expected = outcome(fn, arguments)
    shapes = {name: array.shape for name, array in expected.items()}
    flattened = {
        name: value.reshape(-1) if name in shapes and value.ndim > 1 else value for name, value in arguments.items()
    }
    actual = outcome(flat, flattened)
    for name in expected:
        assert actual[name].reshape(shapes[name]).tobytes() == expected[name].tobytes()
