"""Updates of tensors: in place where nothing that is still read is lost, stores that nobody sees left out."""

import random

import numpy as np
import pytest
from op_programs import agree

import polysched as ps

n = ps.var("n")
A = ps.placeholder((n,), ps.f32, "A")


def body(*outputs):
    return "\n".join(map(str, ps.function("f", [A], list(outputs)).body))


def test_an_update_that_reads_what_was_stored_before_it_is_made_in_place():
    B = ps.compute((n,), lambda i: ps.exp(A[i]), "B")
    C = ps.update(B, (n // 2,), lambda i: ((2 * i,), B[2 * i + 1] + 1.0), "C")
    assert (
        body(C)
        == """\
for i in 0..n:
    C[i] = exp(A[i])
for i in 0..floordiv(n, 2):
    C[i * 2] = C[i * 2 + 1] + 1.0f32"""
    )


def test_a_sum_over_what_it_is_stored_to_needs_a_copy():
    B = ps.compute((n,), lambda i: ps.exp(A[i]), "B")
    k = ps.reduce_axis(n, "k")
    C = ps.update(B, (1,), lambda i: ((i,), ps.sum(B[k], axis=k)), "C")
    assert (
        body(C)
        == """\
alloc B: private f32[n]
for i in 0..n:
    B[i] = exp(A[i])
    C[i] = B[i]
for i in 0..1:
    C[i] = 0.0f32
    for k in 0..n:
        C[i] = C[i] + B[k]"""
    )


@pytest.mark.parametrize(
    ("line", "copies"),
    [
        ("c[0] = c[1]", False),
        ("c[1:] = c[:1]", False),
        ("c[:-1] += c[1:]", False),  # each iteration reads what later ones store
        ("c[1:] = c[:-1]", True),
        ("c[::-1] -= c", True),
        ("c[2] = c[3:].sum()", False),
        ("c[0] = c.sum()", False),
        ("c[i] = c[0]", True),  # which elements are stored depends on data
        ("c[i] += 1", True),  # of equal indices the last counts
        ("np.add.at(c, i, c[0])", True),
    ],
)
def test_copies_only_where_values_would_be_lost(line, copies):
    text = f"def f(a: ps.f64[6], i: ps.i64[3]):\n    c = np.sin(a)\n    {line}\n    return c"
    nest = agree(text, **_arguments()).nest
    assert ("c_0[" in str(nest)) == copies, nest


def test_what_else_is_read_before_is_computed_between_the_stores():
    text = """\
def f(a: ps.f64["n"]):
    c = np.zeros(3)
    c[0] = a[0]
    e = np.exp(c)
    c[1] = e[0] + c[0]
    c[2] = e[1]
    return c
"""
    nest = agree(text, a=_arguments()["a"][:5]).nest
    assert "private f64[3]" in str(nest)
    assert "c_1" not in str(nest)


def test_a_chain_that_reads_what_it_has_stored_needs_no_start():
    text = """\
def f(a: ps.f64[4]):
    c = np.zeros(4)
    c[0] = a[0]
    for k in range(1, 4):
        c[k] = c[k - 1] / 2 + a[k]
    return c
"""
    nest = agree(text, a=_arguments()["a"][:4]).nest
    assert [str(stmt) for stmt in nest.body] == [
        "c[0] = a[0]",
        "c[1] = c[0] / 2.0 + a[1]",
        "c[2] = c[1] / 2.0 + a[2]",
        "c[3] = c[2] / 2.0 + a[3]",
    ]


def test_what_is_read_later_keeps_its_values():
    agree("def f(a: ps.f64[6]):\n    c = a * 2\n    d = c.copy()\n    d[0] = 1\n    return c, d", a=_arguments()["a"])


@pytest.mark.parametrize("seed", range(12))
def test_random_chains(seed):
    chance = random.Random(seed)
    parts = ["0", "-1", ":", "1:", ":-1", "::2", "1::2", "::-1", ":3", "3:", "i"]
    lines = []
    for _ in range(5):
        to, of = chance.choice(parts), chance.choice(parts)
        lengths = {"0": 1, "-1": 1, ":": 6, "1:": 5, ":-1": 5, "::2": 3, "1::2": 3, "::-1": 6, ":3": 3, "3:": 3, "i": 3}
        value = f"c[{of}]" if lengths[of] in (1, lengths[to]) else f"c[{of}].sum()"
        lines.append(f"c[{to}] {chance.choice(['=', '+=', '-='])} {value}{chance.choice(['', ' + a[0]', ' * 2'])}")
    text = "\n    ".join(["def f(a: ps.f64[6], i: ps.i64[3]):", "c = a * 3", *lines, "return c"])
    agree(text, **_arguments())


def _arguments():
    return {"a": np.arange(1.0, 7.0), "i": np.array([4, 1, 4])}
