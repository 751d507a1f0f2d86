"""What a kernel reads of the array that it stores to is copied only if it stores to nothing of the copy."""

from __future__ import annotations

import pytest

import polysched as ps
from polysched.frontend.python import parse_nest


def update(first: str, terms: str, left: str = "A[i, k]", right: str = "A[k, j]") -> ps.Compiled:
    """A panel's product taken from the rest of its matrix."""
    text = f"""
def update(A: f64[n, n], B: f64[n, n], n: size):
    for i in range({first}, n):
        for j in range({first}, n):
            for k in {terms}:
                A[i, j] -= {left} * {right}
"""
    return ps.optimize(parse_nest(text, "update.py"), "cuda")


def note(done: ps.Compiled) -> str:
    (kernel,) = done.source.kernels
    return kernel.note


def test_panels_beside_what_is_stored_are_copied():
    done = update("32", "range(32)")
    assert note(done).endswith("A copied to shared memory, 25088 bytes; 64 elements of A in registers")
    done.verify(n=101)


def test_a_chunk_that_reaches_into_what_is_stored_is_not():
    """The second chunk of 16 terms would end at 32, in rows that other blocks store."""
    done = update("24", "range(24)", left="B[i, k]")
    assert note(done) == "blocks of 16 x 8 threads; 64 elements of A in registers"
    done.verify(n=101)


@pytest.mark.parametrize(
    ("first", "terms", "left", "right"),
    [
        ("16", "range(17)", "A[i, k]", "A[k, j]"),  # the last term is the first that is stored
        ("16", "range(16)", "A[i, k + 1]", "A[k, j]"),
        ("16", "range(16)", "A[i, k]", "A[k + 1, j]"),
    ],
)
def test_what_is_stored_is_not_kept_in_registers(first: str, terms: str, left: str, right: str):
    done = update(first, terms, left, right)
    assert not any("in registers" in kernel.note and "copied" in kernel.note for kernel in done.source.kernels)
    done.verify(n=40)
