"""Random nests over flat arrays keep every bit when their loops and arrays are taken apart."""

from __future__ import annotations

import random

import numpy as np
import pytest

from polysched.ir.interp import evaluate
from polysched.ir.verify import verify
from polysched.prelude.structure.structure import structured
from tests.codegen.flat_programs import flat_program
from tests.codegen.soundness import assert_same, result

SIZES = ((0, 2), (2, 0), (1, 3), (3, 1), (3, 4), (2, 2))


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_flat_programs_compute_the_same(first):
    changed = 0
    for seed in range(first, first + 50):
        fn = flat_program(random.Random(seed))
        verify(fn, "source")
        after = structured(fn)
        verify(after, "source")
        assert structured(after) is after
        changed += after is not fn
        for n, m in SIZES if after is not fn else ():
            assert_same_with_dimensions(fn, after, {"n": n, "m": m})
    assert changed > 0


def assert_same_with_dimensions(fn, after, sizes):
    """Arrays of `after` may have more dimensions; their elements lie as before."""
    flat = dict(sizes)
    for number, array in enumerate(fn.arrays):
        (extent,) = array.shape
        flat[array.name] = np.arange(evaluate(extent, sizes)) * (3 + 2 * number)
    shapes = {array.name: [evaluate(extent, sizes) for extent in array.shape] for array in after.arrays}
    shaped = {key: value.reshape(shapes[key]) if key in shapes else value for key, value in flat.items()}
    expected, actual = result(fn, flat), result(after, shaped)
    assert_same(expected, actual and {name: values.ravel() for name, values in actual.items()}, sizes)
