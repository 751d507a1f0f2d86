"""polysched/codegen/gpu/{registers,ends}.py: elements that a thread makes stay in registers."""

from __future__ import annotations

import random

import numpy as np
import pytest
from nests import arguments_for, assert_same_outcome, loop, nest

import polysched as ps
from polysched.codegen.gpu.registers import in_registers
from polysched.frontend.python import parse_nest
from polysched.ir.build import Operand, add, binary, floordiv, load, mul, store, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array, Const, Expr, For, Function, If, Stmt
from polysched.ir.text import show

b, c, h, i, j, k, m, n, t = (var(name) for name in "bchijkmnt")
C, A, X = Array("C", f64, (n,)), Array("A", f64, (n, m)), Array("x", f64, (n,))
ZERO = store(C, (t,), Const(0.0, f64))
SUM = loop("k", 0, m, store(C, (t,), add(load(C, t), load(A, t, k))))
FINISH = store(C, (t,), binary("max", load(C, t), load(X, t)))


def part(name: str, start: Expr, trips: int, end: Operand, *body: Stmt, kind: str) -> For:
    return loop(name, start, binary("min", end, add(start, trips)), *body, kind=kind)


def kernel(*body: Stmt, end: Operand = n) -> Function:
    """Blocks of 16 threads, t."""
    threads = part("t", mul(16, b), 16, end, *body, kind="thread.x")
    return nest("f", "n m", [C, A, X], loop("b", 0, add(floordiv(sub(end, 1), 16), 1), threads, kind="block.x"))


def changed(fn: Function) -> str:
    """What each thread runs then, after it was seen to compute the same."""
    new = in_registers(fn)
    for size in (1, 3, 17):
        assert_same_outcome(fn, new, arguments_for(fn, random.Random(size), size))
    return "unchanged" if new == fn else show(new)


def test_an_element_that_starts_from_a_constant_is_stored_once_and_never_loaded():
    assert changed(kernel(ZERO, SUM, FINISH)).split("(thread.x):\n")[1] == """\
            alloc C_0: private f64[]
            C_0[] = 0.0
            for k in 0..m:
                C_0[] = C_0[] + A[t, k]
            C[t] = max(C_0[], x[t])"""


def test_one_that_is_scaled_first_is_loaded_once():
    scaled = store(C, (t,), mul(load(C, t), 2.0))
    assert changed(kernel(scaled, SUM)).split("(thread.x):\n")[1] == """\
            alloc C_0: private f64[]
            C_0[] = C[t] * 2.0
            for k in 0..m:
                C_0[] = C_0[] + A[t, k]
            C[t] = C_0[]"""


def points(name: str, *body: Stmt) -> For:
    return part(name, mul(4, t), 4, n, *body, kind="unrolled")


def test_a_sum_alone_stays_in_registers_for_all_chunks_of_its_loop():
    update = store(C, (j,), add(load(C, j), load(A, j, k)))
    chunk = part("k", mul(8, c), 8, m, points("j", update), kind="serial")
    chunks = loop("c", 0, floordiv(add(m, 7), 8), chunk)
    text = changed(kernel(chunks, end=add(floordiv(sub(n, 1), 4), 1)))
    assert text.split("+ 4:\n")[1].split("\n            else:")[0] == """\
                if 0 < floordiv(m + 7, 8) && 8 * 0 < min(m, 8 * 0 + 8):
                    alloc C_0: private f64[4]
                    for q2 in 0..4 (unrolled):
                        C_0[q2] = C[t * 4 + q2]
                    for c in 0..floordiv(m + 7, 8):
                        for k in 8 * c..min(m, 8 * c + 8):
                            for q1 in 0..4 (unrolled):
                                C_0[q1] = C_0[q1] + A[t * 4 + q1, k]
                    for q3 in 0..4 (unrolled):
                        C[t * 4 + q3] = C_0[q3]"""


def test_elements_that_are_only_stored_are_not_loaded():
    stored = loop("k", 0, m, points("j", store(C, (j,), load(A, j, k))))
    assert changed(kernel(stored, end=add(floordiv(sub(n, 1), 4), 1))) == "unchanged"


def test_points_that_not_all_terms_are_for_are_left_to_other_passes():
    """A triangle: the bounds of the points tell of k."""
    update = store(C, (j,), add(load(C, j), load(A, j, k)))
    inside = loop("j", binary("max", k, mul(4, t)), binary("min", n, add(mul(4, t), 4)), update, kind="unrolled")
    assert changed(kernel(loop("k", 0, m, inside), end=add(floordiv(sub(n, 1), 4), 1))) == "unchanged"


def test_threads_of_several_points_have_as_many_registers_if_all_are_in_the_domain():
    update = store(C, (j,), add(load(C, j), load(A, j, k)))
    zero, finish = store(C, (h,), Const(0.0, f64)), store(C, (i,), binary("max", load(C, i), load(X, i)))
    rows = add(floordiv(sub(n, 1), 4), 1)
    text = changed(kernel(points("h", zero), loop("k", 0, m, points("j", update)), points("i", finish), end=rows))
    assert text.split("(thread.x):\n")[1] == """\
            t = b * 16 + q8
            if n >= t * 4 + 4:
                alloc C_0: private f64[4]
                for q2 in 0..4 (unrolled):
                    C_0[q2] = 0.0
                for k in 0..m:
                    for q1 in 0..4 (unrolled):
                        C_0[q1] = C_0[q1] + A[t * 4 + q1, k]
                for q3 in 0..4 (unrolled):
                    C[t * 4 + q3] = max(C_0[q3], x[t * 4 + q3])
            else:
                if n >= t * 4 + 1:
                    for q4 in 4 * t..min(n, 4 * t + 4):
                        C[q4] = 0.0
                    for q5 in 0..m:
                        for q6 in 4 * t..min(n, 4 * t + 4):
                            C[q6] = C[q6] + A[q6, q5]
                    for q7 in 4 * t..min(n, 4 * t + 4):
                        C[q7] = max(C[q7], x[q7])"""


@pytest.mark.parametrize(
    "body",
    [
        pytest.param((SUM,), id="nothing before or after: accumulate sees to it"),
        pytest.param((ZERO, FINISH), id="no loop"),
        pytest.param((ZERO, loop("k", 0, m, store(C, (t,), add(load(C, t), load(C, k))))), id="others in the loop"),
        pytest.param((If(binary("<", t, m), (ZERO,)), SUM), id="perhaps not stored first"),
    ],
)
def test_left_in_memory(body):
    fn = kernel(*body)
    assert in_registers(fn) == fn


def parsed(*lines: str) -> Function:
    arrays = 'C: f64["n", "m"], A: f64["n", "p"], B: f64["p", "m"], b: f64["m"], n: size, m: size, p: size'
    return parse_nest("\n".join((f"def f({arrays}):", *(f"    {line}" for line in lines))), "nests.py")


PRODUCT = (
    "for i in range(n):",
    "    for j in range(m):",
    "        {first}",
    "        for k in range(p):",
    "            C[i, j] += A[i, k] * B[k, j]",
    "        {last}",
)


@pytest.mark.parametrize(
    ("first", "last", "shared"),
    [
        ("C[i, j] = 0.0", "C[i, j] = max(C[i, j] + b[j], 0.0)", True),
        ("C[i, j] = C[i, j] * 0.5", "C[i, j] = C[i, j] / 3.0", True),
        ("C[i, j] = b[j]", "C[i, j] = C[i, j] / 3.0", False),
    ],
)
def test_a_product_with_both_ends_is_one_kernel_that_is_right(first, last, shared):
    fn = parsed(*(line.format(first=first, last=last) for line in PRODUCT))
    done = ps.optimize(fn, "cuda", options=ps.Options(shared_memory=shared, tensor="off"))
    assert len(done.source.kernels) == 1
    assert "64 elements of C in registers" in done.source.text
    assert ("__shared__" in done.source.text) == shared
    rng = np.random.default_rng(1)
    for n, m, p in ((1, 1, 0), (64, 128, 16), (67, 130, 19)):
        C, A, B, b = (rng.random(shape) for shape in ((n, m), (n, p), (p, m), (m,)))
        start = {"C[i, j] = 0.0": 0 * C, "C[i, j] = b[j]": b + 0 * C}.get(first, C * 0.5)
        total = start + A @ B
        wanted = np.maximum(total + b, 0) if "max" in last else total / 3
        report = done.check(C=C, A=A, B=B, b=b)
        assert report.is_silent, str(report)
        np.testing.assert_allclose(C, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "last", ["C[j, i] = C[i, j]", "C[j, i] = C[i, j] * 2.0", "C[i, j] = C[i, j] / 3.0", "b[j] = C[i, j]"]
)
@pytest.mark.parametrize("tensor", ["off", "exact"])
def test_half_of_a_symmetric_product(last, tensor):
    """The last store at a point may be to another element: on the diagonal it is the same one."""
    lines = (
        "for i in range(n):",
        "    for j in range(i, n):",
        "        C[i, j] = 0.0",
        "        for k in range(p):",
        "            C[i, j] += A[i, k] * A[j, k]",
        f"        {last}",
    )
    text = 'def f(C: f64["n", "n"], A: f64["n", "p"], b: f64["n"], n: size, p: size):'
    fn = parse_nest("\n".join((text, *(f"    {line}" for line in lines))), "nests.py")
    done = ps.optimize(fn, "cuda", options=ps.Options(tensor=tensor))
    rng = np.random.default_rng(2)
    C, A, b = (rng.random(shape) for shape in ((67, 67), (67, 19), (67,)))
    total, wanted = A @ A.T, {"C": C.copy(), "b": b.copy()}
    upper = np.triu_indices(67)
    wanted["C"][upper] = total[upper] / (3 if "/" in last else 1)
    if "C[j, i]" in last:
        wanted["C"] = total * np.where(np.tri(67), 2 if "2.0" in last else 1, 1)
    if "b[j]" in last:
        wanted["b"] = np.diag(total)
    assert done.check(C=C, A=A, b=b).is_silent
    np.testing.assert_allclose(C, wanted["C"], rtol=1e-12)
    np.testing.assert_allclose(b, wanted["b"], rtol=1e-12)
    is_one = "b[j]" not in last  # which takes the last row's
    ways = 2 if tensor == "exact" else 1  # in which arrays may lie
    assert (len(done.source.kernels) == ways) == is_one and "C_0[" in done.source.text


def test_what_the_kernel_stores_itself_is_not_copied():
    lines = (
        "for i in range(n):",
        "    for j in range(n):",
        "        D[i, j] = b[j] + 1.0",
        "        for k in range(n):",
        "            C[i, j] += A[i, k] * A[k, j] * D[i, j]",
    )
    text = 'def f(C: f64["n", "n"], A: f64["n", "n"], D: f64["n", "n"], b: f64["n"], n: size):'
    fn = parse_nest("\n".join((text, *(f"    {line}" for line in lines))), "nests.py")
    done = ps.optimize(fn, "cuda")
    C, A, D, b = (np.random.default_rng(3).random(shape) for shape in ((35, 35), (35, 35), (35, 35), (35,)))
    wanted = C + A @ A * (b + 1)
    assert done.check(C=C, A=A, D=D, b=b).is_silent
    np.testing.assert_allclose(C, wanted, rtol=1e-12)
    (kernel,) = done.source.kernels
    assert "shared" not in kernel.note
