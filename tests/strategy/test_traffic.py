"""polysched/strategy/grid.py, codegen/gpu/staging_plan.py: what the warps of a grid load and store at once."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.frontend.python import parse_nest

MATRICES = "c: f32[n, n], a: f32[n, n], b: f32[n, n], n: size"
COLUMNS = (
    "def f(y: f32[m], a: f32[n, m], n: size, m: size):",
    "    for j in range(m):",
    "        for i in range(n):",
    "            y[j] += a[i, j]",
)
NUMBERS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def parsed(head: str, *lines: str) -> ps.Compiled:
    """`def f(head)` around the lines."""
    return ps.optimize(parse_nest("\n".join((f"def f({head}):", *lines)), "nests.py"), "cuda")


def per_request(done: ps.Compiled, does: str, name: str, **arrays: np.ndarray) -> float:
    """Sectors of global memory, or cycles of shared memory, for each request to the array, on average."""
    report = done.check(**arrays)
    assert report.is_silent, report
    lines = [line for line in report.traffic if (line.does, line.array) == (does, name)]
    return sum(line.cost for line in lines) / sum(line.requests for line in lines)


def cube(n: int) -> np.ndarray:
    return np.arange(n**3, dtype=np.float32).reshape(n, n, n)


@pytest.mark.parametrize("order", ["ijk", "ikj", "kij"])
def test_transposes_in_three_dimensions_read_and_write_whole_sectors_in_any_order_of_loops(order):
    loops = [f"{'    ' * (k + 1)}for {name} in range(n):" for k, name in enumerate(order)]
    done = parsed("b: f32[n, n, n], a: f32[n, n, n], n: size", *loops, f"{'    ' * 4}b[k, j, i] = a[i, j, k]")
    a, b = cube(32), np.zeros((32, 32, 32), np.float32)
    assert per_request(done, "reads", "a", a=a, b=b) == per_request(done, "writes", "b", a=a, b=b) == 4
    assert per_request(done, "reads", "a_0", a=a, b=b) == per_request(done, "writes", "a_0", a=a, b=b) == 1
    assert np.array_equal(b, a.transpose(2, 1, 0))


def test_threads_along_the_first_of_three_dimensions_of_a_copy_meet_different_banks():
    rows = (
        "    for i in range(n):",
        "        for h in range(4):",
        "            for k in range(8):",
        "                y[i] += a[i, h, k] * x[h, k]",
    )
    done = parsed("y: f32[n], a: f32[n, 4, 8], x: f32[4, 8], n: size", *rows)
    arrays = {"y": np.zeros(128, np.float32), "a": np.ones((128, 4, 8), np.float32), "x": np.ones((4, 8), np.float32)}
    assert per_request(done, "reads", "a_0", **arrays) == 1
    assert per_request(done, "writes", "a_0", **arrays) == 2
    done.verify(n=130)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_rows_of_a_turned_copy_are_an_odd_number_of_words_apart(dtype):
    done = parsed(f"b: {dtype}[n, n], a: {dtype}[n, n], n: size", *SQUARE)
    a = np.ones((64, 64), NUMBERS[dtype])
    assert per_request(done, "reads", "a_0", a=a, b=np.zeros_like(a)) == max(1, a.itemsize // 4)


def requests(done: ps.Compiled, name: str, **arrays: np.ndarray) -> int:
    """To the array in global memory."""
    return sum(line.requests for line in done.check(**arrays).traffic if line.array == name)


def product(term: str, terms: str = "range(n)", head: str = MATRICES, **options: bool) -> ps.Compiled:
    lines = "    for i in range(n):", "        for j in range(n):", f"            for k in {terms}:"
    nest = parse_nest("\n".join((f"def f({head}):", *lines, f"                c[i, j] += {term}")), "nests.py")
    return ps.optimize(nest, "cuda", options=ps.Options(tensor="off", **options))


def square(n: int) -> dict[str, np.ndarray]:
    return {name: np.ones((n, n), np.float32) for name in "abc"}


@pytest.mark.parametrize(
    "done",
    [product("a[i, k] * b[k, j]", "range(i + 1)"), product("a[i, k] * b[k, j]", shared_memory=False)],
    ids=["triangle", "without copies"],
)
def test_threads_without_copies_read_whole_sectors_and_their_sums_stay_in_registers(done):
    arrays = square(128)
    assert per_request(done, "reads", "b", **arrays) < 2.1  # 16 neighbours, for two rows
    assert requests(done, "c", **arrays) < 0.1 * requests(done, "b", **arrays)
    done.verify(n=37)


def test_sums_stay_in_registers_where_a_subscript_keeps_copies_from_being_made():
    done, arrays = product("a[i // 2, k] * b[k, j]"), square(128)
    assert requests(done, "c", **arrays) == 2 * 128 * 128 // 32  # before and after all terms
    assert per_request(done, "reads", "b", **arrays) == 2
    done.verify(n=37)


TWO = (
    "def f(c: f32[n, m], a: f32[n, 3, l], b: f32[3, l, m], n: size, m: size, l: size):",
    "    for i in range(n):",
    "        for j in range(m):",
    "            c[i, j] = 0",
    "            for r in range(3):",
    "                for k in range(l):",
    "                    c[i, j] += a[i, r, k] * b[r, k, j]",
)
WITHOUT_START = *TWO[:3], *TWO[4:]


@pytest.mark.parametrize("lines", [TWO, WITHOUT_START], ids=["started", "continued"])
def test_a_sum_over_loops_of_several_bands_has_a_tile_in_registers_and_copies(lines):
    done = ps.optimize(parse_nest("\n".join(lines), "nests.py"), "cuda", options=ps.Options(tensor="off"))
    (kernel,) = done.source.kernels
    assert kernel.note.endswith("a, b copied to shared memory, 12544 bytes; 64 elements of c in registers")
    arrays = {"c": (64, 128), "a": (64, 3, 16), "b": (3, 16, 128)}
    given = {name: np.ones(shape, np.float32) for name, shape in arrays.items()}
    assert requests(done, "c", **given) == (2 if lines is WITHOUT_START else 1) * 64 * 128 // 32
    done.verify(n=9, m=17, l=18)


@pytest.mark.parametrize("reorder_reductions", [False, True])
def test_rows_of_sums_over_loops_of_several_bands_are_read_by_whole_warps(reorder_reductions):
    lines = (
        "def f(y: f32[n], a: f32[n, p, m], x: f32[p, m], n: size, p: size, m: size):",
        "    for i in range(n):",
        "        for h in range(p):",
        "            for k in range(m):",
        "                y[i] += a[i, h, k] * x[h, k]",
    )
    options = ps.Options(reorder_reductions=reorder_reductions)
    done = ps.optimize(parse_nest("\n".join(lines), "nests.py"), "cuda", options=options)
    y, a, x = (np.ones(shape, np.float32) for shape in ((128,), (128, 3, 64), (3, 64)))
    assert per_request(done, "reads", "a", y=y, a=a, x=x) == 4
    done.verify(n=9, p=3, m=37)


def test_terms_under_a_condition_are_in_no_chunks():
    """Nothing is copied for them."""
    lines = "    for i in range(n):", "        for j in range(n):", "            if a[i, j] > 0:"
    head = "y: f32[n], a: f32[n, n], n: size"
    done = parsed(head, *lines, "                y[i] += a[i, j]")
    assert ".tile(\"j\"" not in done.schedule.script
    assert ".tile(\"j\"" in parsed(head, *lines[:2], "            y[i] += a[i, j]").schedule.script


def test_sums_of_columns_are_loaded_and_stored_once():
    nest = parse_nest("\n".join(COLUMNS), "nests.py")
    done, a = ps.optimize(nest, "cuda"), np.ones((100, 32), np.float32)
    assert requests(done, "y", y=np.zeros(32, np.float32), a=a) == 2
    done.verify()


SQUARE = "    for i in range(n):", "        for j in range(n):", "            b[j, i] = a[i, j]"
