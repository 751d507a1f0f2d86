"""Contractions through the whole pipeline, on machines whose tiles are full at small sizes."""

from __future__ import annotations

import random

import nests
import numpy as np
import pytest
from contractions import MACHINES, check_contraction

import polysched as ps
from polysched.frontend.python import parse_nest

KERNELS = {
    "product": ("C[i, j] += A[i, k] * B[k, j]", "n", "n"),
    "product with a transposed factor": ("C[i, j] += A[i, k] * B[j, k]", "n", "n"),
    "product of both transposed": ("C[i, j] += A[k, i] * B[j, k]", "n", "n"),
    "product with itself": ("C[i, j] += A[i, k] * A[j, k]", "i + 1", "n"),
    "twice": ("C[i, j] += A[j, k] * B[i, k] + B[j, k] * A[i, k]", "i + 1", "n"),
    "triangular factor": ("C[i, j] += A[k, i] * B[k, j]", "n", "i"),
    "rows of its own": ("C[i, j] -= C[i, k] * C[j, k]", "i", "j"),
    "columns of its own": ("C[j, i] -= C[k, i] * C[k, j]", "i", "j"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_size_from_one_to_beyond_a_tile(name):
    statement, columns, depth = KERNELS[name]
    arrays = ", ".join(f'{array}: f64["n", "n"]' for array in "CAB")
    fn = parse_nest(
        f"def f({arrays}, n: size):\n    for i in range(n):\n        for j in range({columns}):\n"
        f"            for k in range({depth}):\n                {statement}",
        "kernels.py",
    )
    options = ps.Options(machine=MACHINES[0], contract_floats=False)  # tiles of 4 by 6 in registers, of 16 in caches
    done = ps.optimize(fn, options=options)
    assert "pragma GCC unroll" in done.source.text
    for size in (*range(1, 10), 11, 12, 13, 15, 16, 17):
        arguments = nests.arguments_for(fn, random.Random(size), size)
        expected = nests.outcome(fn, arguments)["C"]
        done(**arguments)
        np.testing.assert_array_equal(arguments["C"], expected, err_msg=f"n = {size}", strict=True)


@pytest.mark.parametrize("seed", range(20))
def test_random_contractions_equal_the_interpreter_bit_for_bit(seed):
    check_contraction(seed)


def test_a_loop_for_threads_of_a_cpu_is_serial_on_a_gpu():
    """No clause of OpenMP's is left of a loop that is on threads where that has a condition."""
    fn = parse_nest(
        """def f(C: f64["n", "n"], A: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += A[i, k] * A[j, k]""",
        "kernels.py",
    )
    for_threads = ps.Schedule(fn).parallel("j")
    assert " if(" in ps.optimize(fn, schedule=for_threads).source.text
    done = ps.optimize(fn, "cuda", schedule=for_threads.bind("i", "block.x"))
    assert " if(" not in done.source.text and "#pragma omp" not in done.source.text
    done.verify()
