# ruff: noqa: F821, UP037
"""polysched/codegen/gpu/tensor.py: kernels of tensor instructions, run on the CPU under the checker of races.

Arguments are small integers, whose sums are exact in any order: results are held against NumPy's to the bit.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product as product_of

import numpy as np
import pytest
from fuzz_tensor import check_tensor
from tensor_products import LAYOUTS, SMALL, Tiles, by_hand, check_product, product, product_for, whole_numbers

import polysched as ps
from polysched.errors import InputError
from polysched.model.instructions.mma import INSTRUCTIONS
from polysched.runtime.emulated.check import check
from polysched.runtime.emulated.emulate import emulate
from polysched.runtime.emulated.findings import CheckReport

# What edges cut: nothing, rows, columns, terms, or all; and rows that do not begin lines.
WHOLE = 64, 32, 96
SIZES = WHOLE, (40, 32, 64), (32, 24, 64), (32, 32, 72), (72, 40, 104), (33, 31, 77), (40, 32, 70), (32, 30, 64)
FEW = (8, 8, 8), (1, 1, 1), (40, 40, 24), (40, 40, 32), (33, 17, 5)  # no more chunks than are copied ahead
NONE = (16, 16, 0), (0, 16, 32), (16, 0, 32), (0, 0, 0)


def made(layout: str = "nn", tiles: Tiles = SMALL) -> ps.Compiled:
    nest = product_for(tiles.instruction, layout)
    return ps.optimize(nest, "cuda", schedule=by_hand(nest, tiles))


def check_sizes(done: ps.Compiled, layout: str, every: tuple[tuple[int, int, int], ...]) -> None:
    for sizes in every:
        report = check_product(done, layout, **dict(zip("nmd", sizes, strict=True)))
        if sizes == WHOLE:
            require_no_conflicts(report)


def require_no_conflicts(report: CheckReport) -> None:
    """Copies and loads meet no bank of shared memory twice at once."""
    shared = [traffic for traffic in report.traffic if traffic.shared]
    assert {traffic.array for traffic in shared} in ({"A_0", "B_0"}, {"shared_memory_"})  # declared, or given
    assert {traffic.does for traffic in shared} == {"reads", "copies asynchronously"}
    assert [str(traffic) for traffic in shared if traffic.excess > 1] == []


def test_a_product_is_that_of_numpy_bit_for_bit():
    done = made()
    arguments = whole_numbers(done.nest, n=40, m=56, d=104)
    wanted = arguments["C"] + arguments["A"].astype("f4") @ arguments["B"].astype("f4")
    emulate(done.source, done.nest)(**arguments)
    np.testing.assert_array_equal(arguments["C"], wanted, strict=True)


# The first of them are quick.
CASES = [("tt", 3), ("nn", 2), ("nt", 4), ("tn", 2), ("nn", 4), ("nt", 3), ("tn", 4)]


@pytest.mark.parametrize(("layout", "stages"), CASES)
def test_each_layout_at_sizes_that_edges_cut(layout, stages):
    check_sizes(made(layout, replace(SMALL, stages=stages)), layout, (*SIZES, *FEW, *NONE))


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "stages"), [("nn", 2), ("nt", 3), ("tn", 4), ("tt", 2)])
def test_it_is_verified(layout, stages):
    done = made(layout, Tiles(64, 64, 32, 32, 32, stages))
    for sizes in ({"n": 136, "m": 72, "d": 168}, {"n": 75, "m": 66, "d": 71}):
        done.verify(**sizes)


@pytest.mark.parametrize("layout", ["tn", "nt"])
@pytest.mark.parametrize("instruction", ["mma.m16n8k8.f64", "mma.m8n8k4.f64"])
def test_doubles(instruction, layout):
    check_sizes(made(layout, Tiles(32, 32, 16, 16, 16, 3, instruction)), layout, (*SIZES, *FEW, *NONE))


@pytest.mark.parametrize("layout", ["nt", "tn", *(pytest.param(each, marks=pytest.mark.slow) for each in ("nn", "tt"))])
def test_floats_that_are_cut(layout):
    """Terms next to each other are loaded by rows, others one by one."""
    done = made(layout, Tiles(32, 32, 32, 16, 16, 3, "mma.m16n8k8.tf32"))
    assert ("polysched_ldmatrix(&" in done.source.text) == (layout != "tn")
    check_sizes(done, layout, (*SIZES, *FEW, *NONE))


def test_bytes():
    check_sizes(made("nt", Tiles(32, 32, 64, 16, 16, 3, "mma.m16n8k32.s8")), "nt", (*SIZES, *FEW, *NONE))


def test_sums_of_bytes_wrap_around():
    done = made("nt", Tiles(32, 32, 64, 16, 16, 2, "mma.m16n8k32.s8"))
    arguments = whole_numbers(done.nest, n=16, m=16, d=64)
    for name, least in ("A", -128), ("B", -128), ("C", 2**31 - 1):
        arguments[name][:] = least
    emulate(done.source, done.nest)(**arguments)
    assert (arguments["C"] == 2**31 - 1 + 64 * 2**14 - 2**32).all()


# --- what is loaded, and from where


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("columns", [16, 48, 80, 128])
def test_rows_of_any_length_meet_no_bank_twice(layout, columns):
    """A row of 48 halves has 6 lines, of which two trade places at a time; 128 are as long as all banks twice."""
    done = made(layout, Tiles(columns, columns, 64, columns, 16))
    require_no_conflicts(check_product(done, layout, n=columns, m=columns, d=128))


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("instruction", ["mma.m16n8k8.f64", "mma.m8n8k4.f64"])
def test_doubles_meet_no_bank_twice(instruction, layout):
    done = made(layout, Tiles(48, 48, 16, 16, 16, 3, instruction))
    require_no_conflicts(check_product(done, layout, n=48, m=96, d=64))


@pytest.mark.slow
def test_arrays_that_begin_within_a_line_are_copied_by_elements():
    """One element further, nothing can be copied 16 bytes at a time."""
    done = made()
    arguments = whole_numbers(done.nest, n=40, m=24, d=64)
    wanted = product("nn", **arguments)
    A = np.empty(40 * 64 + 1, np.float16)[1:].reshape(40, 64)
    A[:] = arguments["A"]
    emulate(done.source, done.nest)(**arguments | {"A": A})
    np.testing.assert_array_equal(arguments["C"], wanted, strict=True)


@pytest.mark.slow
def test_more_than_a_kernel_may_declare_is_given_by_its_launch():
    done = made("nn", Tiles(128, 64, 64, 32, 16, 3))
    host = done.source.host
    assert "POLYSCHED_SHARED(nn_k0, 73728);" in host and "polysched_shared = 0;" in host
    assert "extern __shared__ __align__(128) char shared_memory[];" in done.source.device
    assert "POLYSCHED_SHARED" not in made().source.text


@pytest.mark.slow
def test_more_than_a_stack_has_is_no_memory_of_a_thread():
    """It was freed by each of them at the end of the kernel."""
    done = made("nn", Tiles(16, 144, 32, 16, 48, 4, "mma.m8n8k4.f64"))
    assert "147456" in done.source.text or "163840" in done.source.text
    assert "free(" not in done.source.device
    check_product(done, "nn", n=16, m=16, d=32)


# --- what else a nest may be


@ps.nest
def from_five(C: ps.f32["n", "m"], A: ps.f16["d", "n"], B: ps.f16["m", "d"], n: ps.size, m: ps.size, d: ps.size):
    for i in range(5, n):
        for j in range(11, m):
            for k in range(d):
                C[i, j] += ps.f32(A[k, i]) * ps.f32(B[j, k])


@pytest.mark.slow
def test_rows_and_columns_that_begin_within_a_tile():
    done = ps.optimize(from_five, "cuda", schedule=by_hand(from_five))
    for n, m, d in ((40, 40, 64), (70, 24, 40), (33, 37, 35), (5, 11, 32), (3, 40, 32)):
        arguments = whole_numbers(done.nest, n=n, m=m, d=d)
        wanted = arguments["C"].copy()
        wanted[5:, 11:] = product("tt", **arguments)[5:, 11:]
        report = done.check(**arguments)
        assert report.findings == (), str(report)
        np.testing.assert_array_equal(arguments["C"], wanted, strict=True)


@ps.nest
def scaled(C: ps.f64["n", "m"], A: ps.f64["n", "d"], B: ps.f64["d", "m"], alpha: ps.f64,
           n: ps.size, m: ps.size, d: ps.size):  # fmt: skip
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += alpha * A[i, k] * B[k, j]


@pytest.mark.slow
def test_a_factor_is_scaled_when_it_is_loaded():
    tiles = Tiles(32, 32, 16, 16, 16, 2, "mma.m8n8k4.f64")
    done = ps.optimize(scaled, "cuda", schedule=by_hand(scaled, tiles))
    arguments = whole_numbers(done.nest, n=40, m=24, d=40)
    wanted = arguments["C"] + 3.0 * arguments["A"] @ arguments["B"]
    assert done.check(**arguments, alpha=3.0).findings == ()
    np.testing.assert_array_equal(arguments["C"], wanted, strict=True)


@pytest.mark.slow
def test_a_factor_is_scaled_by_infinity():
    """Terms beyond the last are zeros, which times infinity would be no number."""
    tiles = Tiles(32, 32, 16, 16, 16, 2, "mma.m8n8k4.f64")
    done = ps.optimize(scaled, "cuda", schedule=by_hand(scaled, tiles))
    arguments = whole_numbers(done.nest, n=40, m=24, d=37)
    arguments["A"], arguments["B"] = (np.abs(arguments[name]) + 1 for name in "AB")
    emulate(done.source, done.nest)(**arguments, alpha=np.inf)
    assert np.isposinf(arguments["C"]).all()


@ps.nest
def every_other_tap(Y: ps.f32["h", "w", "f"], D: ps.f16["h + 1", "w + 4", 64], W: ps.f16[2, 6, 64, "f"],
                    h: ps.size, w: ps.size, f: ps.size):  # fmt: skip
    for y in range(h):
        for x in range(w):
            for j in range(f):
                for r in range(2):
                    for s in range(0, 6, 2):
                        for k in range(64):
                            Y[y, x, j] += ps.f32(D[y + r, x + s, k]) * ps.f32(W[r, s, k, j])


@pytest.mark.slow
def test_a_loop_around_chunks_that_steps_by_two():
    done = ps.optimize(every_other_tap, "cuda")
    assert "mma.sync" in done.source.text
    arguments = whole_numbers(done.nest, h=2, w=70, f=40)
    wanted, D, W = (arguments[name].astype("f4") for name in "YDW")
    for r, s in product_of(range(2), range(0, 6, 2)):
        wanted += D[r : r + 2, s : s + 70] @ W[r, s]
    report = done.check(**arguments)
    assert report.findings == (), str(report)
    np.testing.assert_array_equal(arguments["Y"], wanted, strict=True)


@ps.nest
def some_planes(C: ps.f32["q", 2, 2, "n", "m"], A: ps.f16["q", "n", "d"], B: ps.f16["q", "d", "m"],
                q: ps.size, n: ps.size, m: ps.size, d: ps.size):  # fmt: skip
    for i in range(n):
        for j in range(m):
            for p in range(q):
                for u in range(2):
                    for v in range(2):
                        if 64 * p <= i:
                            for k in range(d):
                                C[p, u, v, i, j] += ps.f32(A[p, i, k]) * ps.f32(B[p, k, j])


@pytest.mark.slow
def test_warps_that_are_not_of_one_mind():
    """How many planes a loop runs over depends on the row: not all warps of a block would meet its barriers."""
    done = ps.optimize(some_planes, "cuda")
    assert "mma.sync" not in done.source.text
    done.verify(q=2, n=72, m=8, d=8)


# --- faults that are put in on purpose

RING = Tiles(32, 32, 32, 16, 16, 3)
WAIT = r"__pipeline_wait_prior\(1\);"
FAULTS = {  # what is replaced, by what, and what the checker says; "": the result is wrong
    "no wait": (WAIT, "", "in flight"),
    "b registers swapped": (r"(s\d+ \* 4) \+ (s\d+) \* 2\b", r"\1 + (1 - \2) * 2", ""),
    "swizzles of stores only": (r"\((s\d+) \^ \(\((s\d+) >> 1\) & 3\)\) \* 8;", r"\1 * 8;", ""),
    "a wait for one chunk less": (WAIT, "__pipeline_wait_prior(2);", "in flight"),
    "no commit": (r"__pipeline_commit\(\);", "", "in flight"),
    "no barrier after a wait": (WAIT + r"\n *__syncthreads\(\);", "__pipeline_wait_prior(1);", "race|in flight"),
    "a slot that is in use": (r"\((s\d+) \+ 2\) % 3 \* 1024", r"\1 % 3 * 1024", "race|in flight"),
    "the slot of the next chunk": (r"\((s\d+) \+ 1\) % 3 \* 1024", r"\1 % 3 * 1024", ""),
    "a chunk twice": (r"\((s\d+) \+ 2\) \* 32", r"(\1 + 1) * 32", ""),
    "rows in place of columns": (r"polysched_ldmatrix_trans\(&s", "polysched_ldmatrix(&s", ""),
    "no zeros beyond the edge": (r", 16, (?=[^;]*\?)[^;]*\);", ", 16, 0);", "out of bounds"),
    "rows by elements": (r"n & 7|m & 7|d & 7", "0", "misaligned|out of bounds"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name):
    pattern, by, kinds = FAULTS[name]
    done = made("nn", RING)
    text, count = re.subn(pattern, by, done.source.text)
    assert count, "there is something to break"
    found, is_right = findings(done, text)
    if kinds:
        assert any(re.fullmatch(kinds, kind) for kind in found), found
    else:
        assert not is_right


SITES = {  # what is replaced at one place, by what, how many places there are, and which of them
    r"__syncthreads\(\);": ("", 12, (2, 3, 7, 9, 11)),
    r"__pipeline_wait_prior\(\d\);": ("", 7, (1, 2, 5, 6)),
    r"__pipeline_commit\(\);": ("", 7, (0, 2, 6)),
    r"\((s\d+) \+ 2\) % 3": (r"(\1 + 1) % 3", 2, (0, 1)),
    r"\((s\d+) \+ 1\) % 3": (r"(\1 + 2) % 3", 4, (0, 2)),
    r"(s\d+) % 3(?! )": (r"(\1 + 1) % 3", 2, (0, 1)),
    r", 16, 0\)": (", 8, 0)", 6, (0, 5)),
    r"\? 0 : 16\)": ("? 0 : 0)", 8, (0, 6)),
    r" \^ ": (" | ", 29, (0, 2, 24)),
    r"polysched_ldmatrix_trans\(&s": ("polysched_ldmatrix(&s", 8, (0, 7)),
    r"polysched_ldmatrix\(&s": ("polysched_ldmatrix_trans(&s", 8, (1, 3)),
}


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "site"), [(name, site) for name, (*_, some) in SITES.items() for site in some])
def test_a_fault_at_one_place_is_found(pattern, site):
    """Left out: barriers and waits of which another one does the work, and zeros that no sum takes up."""
    by, many, _ = SITES[pattern]
    done = made("nn", RING)
    head, mark, kernels = done.source.text.partition("_k0: blocks")
    places = list(re.finditer(pattern, kernels))
    assert len(places) == many
    at = places[site]
    found, is_right = findings(done, f"{head}{mark}{kernels[: at.start()]}{at.expand(by)}{kernels[at.end() :]}")
    assert found or not is_right


def findings(done: ps.Compiled, text: str) -> tuple[set[str], bool]:
    """The kinds of what the checker finds in the text, and whether results are right."""
    run = check(replace(done.source, text=text), done.nest)
    found, is_right = set(), True
    for sizes in ({"n": 72, "m": 40, "d": 168}, {"n": 33, "m": 33, "d": 97}):
        arguments = whole_numbers(done.nest, **sizes)
        wanted = product("nn", **arguments)
        found |= {finding.kind for finding in run(**arguments).findings}
        is_right &= np.array_equal(arguments["C"], wanted)
    return found, is_right


# --- at random


def random_tiles(rng: random.Random) -> Tiles:
    """Of as many warps as a block may have."""
    while True:
        warp_rows, warp_columns = (16 * rng.choice((1, 1, 2, 3)) for _ in range(2))
        rows, columns = warp_rows * rng.choice((1, 2, 3)), warp_columns * rng.choice((1, 2, 3, 4))
        instruction = rng.choice(("mma.m16n8k16.f16", "mma.m16n8k16.f16", *INSTRUCTIONS))
        least = 2 * INSTRUCTIONS[instruction].terms
        chunk = least * rng.choice((1, 2, 3) if least < 32 else (1, 2))
        if rows * columns <= 96 * 96:
            return Tiles(rows, columns, chunk, warp_rows, warp_columns, rng.choice((2, 3, 4, 5)), instruction)


def random_sizes(rng: random.Random, tiles: Tiles) -> tuple[int, int, int]:
    """Multiples of a line, or not."""
    most = 2 * tiles.rows, 2 * tiles.columns, (tiles.stages + 2) * tiles.chunk
    step: Callable[[int], int] = (lambda size: size // 8 * 8) if rng.random() < 0.6 else (lambda size: size)
    n, m, d = (step(rng.randint(0, size)) for size in most)
    return n, m, d


@pytest.mark.parametrize("seed", range(8))
def test_random_tiles(seed):
    rng = random.Random(seed)
    tiles = random_tiles(rng)
    layout = "nt" if tiles.instruction.endswith("s8") else rng.choice(list(LAYOUTS))
    try:
        done = made(layout, tiles)
    except InputError as error:
        assert "bytes" in str(error), str(error)
        return
    check_sizes(done, layout, tuple(random_sizes(rng, tiles) for _ in range(4)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_sums(seed):
    """Strides, offsets, triangles, batches, taps, of any type: equal to C in source order."""
    check_tensor(seed)
