from __future__ import annotations

import random

import numpy as np

from polysched.solve.independence import complement, is_independent


def test_the_complement_of_a_diagonal():
    assert complement(((1, 1),), 2) == ((-1, 1),)
    assert complement((), 2) == ((1, 0), (0, 1))
    assert complement(((1, 2), (0, 1)), 2) == ()


def test_independence_is_exact():
    assert is_independent((2, 3), ((2, 2),))
    assert not is_independent((3, 3), ((2, 2),))
    assert not is_independent((), ())


def test_random_bases():
    rng = random.Random(3)
    for _ in range(200):
        depth = rng.randint(1, 4)
        rows = tuple(tuple(rng.randint(-2, 2) for _ in range(depth)) for _ in range(rng.randint(0, depth)))
        basis = complement(rows, depth)
        rank = int(np.linalg.matrix_rank(np.array(rows).reshape(-1, depth))) if rows else 0
        assert len(basis) == depth - rank
        assert all(np.dot(a, b) == 0 for a in rows for b in basis)
