"""polysched/transform/analysis/sizes.py: how large tiles are."""

from __future__ import annotations

from dataclasses import replace

import nests
import pytest
import scops

from polysched.config.machine import Machine
from polysched.config.options import Options
from polysched.deps.dataflow import dependences
from polysched.frontend.python import parse_nest
from polysched.ir.nodes import Function
from polysched.model.extract import extract
from polysched.model.tree.nodes import Band, walk
from polysched.strategy.cpu import strides
from polysched.transform.analysis.roles import Around
from polysched.transform.analysis.sizes import Block, register_block, tile_sizes, values_of
from tests.transform.scheduled import band, scheduled, written

WIDE = Machine(vector_bytes=64, vector_registers=32, l1=32 << 10, l2=1 << 20)
SMALL = Machine(vector_bytes=16, vector_registers=8, l1=512, l2=4 << 10)
NONE = Machine(vector_bytes=8, vector_registers=2, l1=0, l2=0)


def nest(text: str) -> Function:
    return parse_nest("def f(" + text.strip(), "sizes.py")


PRODUCT = nest("""
C: f64["n", "m"], A: f64["n", "p"], B: f64["p", "m"], n: size, m: size, p: size):
    for i in range(n):
        for j in range(m):
            for k in range(p):
                C[i, j] += A[i, k] * B[k, j]
""")
ROW = nest("""
y: f64["m"], A: f64["n", "m"], x: f64["n"], n: size, m: size):
    for i in range(n):
        for j in range(m):
            y[j] += A[i, j] * x[i]
""")
DOT = nest("""
y: f64["n"], A: f64["n", "m"], x: f64["m"], n: size, m: size):
    for i in range(n):
        for j in range(m):
            y[i] += A[i, j] * x[j]
""")
ROWS = nest("""
C: f64["n", "n"], A: f64["n", "m"], n: size, m: size):
    for i in range(n):
        for j in range(n):
            for k in range(m):
                C[i, j] += A[i, k] * A[j, k]
""")
FOURTEEN_ROWS = nest("""
C: f64[14, 480], A: f64[14, 512], B: f64[512, 480]):
    for i in range(14):
        for j in range(480):
            for k in range(512):
                C[i, j] += A[i, k] * B[k, j]
""")
COPY = nest("""
A: f64["n", "n"], B: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            A[i, j] = B[i, j]
""")
PAIRS = nest("""
A: f64["n", "n"], B: f64["n", "2 * n"], n: size):
    for i in range(n):
        for j in range(n):
            A[i, j] = B[i, 2 * j] + B[i, 2 * j + 1]
""")
WINDOW = nest("""
A: f64["n", "n"], B: f64["n", "n"], w: f64[3], n: size):
    for i in range(n):
        for j in range(2, n):
            A[i, j] = w[0] * B[i, j - 2] + w[1] * B[i, j - 1] + w[2] * B[i, j]
""")
TRANSPOSE = nest("""
A: f64["n", "n"], B: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            A[i, j] = B[j, i]
""")


def sizes(fn: Function, machine: Machine = WIDE, **options) -> dict[str, int] | None:
    """The size along each loop of the only band of several members."""
    made = scheduled(fn)
    tree = written(made, strides)
    (band,) = (node for node in walk(tree) if isinstance(node, Band) and len(node.members) > 1)
    around = Around((), made.deps.coincidence)
    found = tile_sizes(band, made.scop, around, Options(machine=machine, **options))
    names = [str(member.function).rpartition("[(")[2].partition(")]")[0] for member in band.members]
    return None if found is None else dict(zip(names, found, strict=True))


def test_a_block_of_each_factor_of_a_product_fits_a_cache():
    """A column of blocks of B, 256 by 24 elements, a half more than L1; its tile, 256 by 240, in half of L2."""
    assert sizes(PRODUCT) == {"i": 64, "k": 256, "j": 240}


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (ROW, {"i": 0, "j": 512}),
        (DOT, None),
        (ROWS, {"i": 128, "k": 256, "j": 240}),
        (FOURTEEN_ROWS, {"i": 56, "k": 256, "j": 240}),
        (COPY, None),
        (PAIRS, None),
        (WINDOW, None),
        (nests.seidel_2d(), {"t": 16, "t + i": 16, "2t + i + j": 16}),
    ],
    ids=["update of a row", "dot products", "packed", "blocks of 7", "copy", "pairs", "window", "stencil"],
)
def test_sizes_follow_what_is_reused(fn, expected):
    assert sizes(fn) == expected


def test_far_strides_get_tiles_with_longer_rows():
    found = sizes(TRANSPOSE)
    assert found is not None and 0 < found["i"] < found["j"]


def test_sizes_follow_the_machine():
    assert sizes(PRODUCT, SMALL) == {"i": 32, "k": 16, "j": 12}
    assert sizes(PRODUCT, NONE) == {"i": 32, "k": 8, "j": 3}
    assert sizes(ROW, NONE) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((5,), {"i": 5, "k": 5, "j": 5}),
        ((5, 7), {"i": 5, "k": 5, "j": 7}),
        ((4, 5, 6), {"i": 4, "k": 5, "j": 6}),
        ((4, 5, 6, 7), {"i": 4, "k": 5, "j": 7}),
    ],
    ids=str,
)
def test_given_sizes_are_taken(given, expected):
    assert sizes(PRODUCT, tile_sizes=given) == expected


def test_a_single_loop_and_the_loops_of_tiles_have_no_tiles():
    made = scheduled(PRODUCT)
    (band,) = (node for node in walk(made.tree) if isinstance(node, Band))
    around = Around((), made.deps.coincidence)
    assert tile_sizes(Band(band.members[:1], True), made.scop, around, Options()) is None


@pytest.mark.parametrize(("columns", "is_cut"), [(256, False), (4096, True)])
def test_blocks_of_whole_rows_would_run_in_the_order_that_there_is(columns, is_cut):
    fn = nest(f"""
a: f32[256, {columns}], b: f32[256, {columns}]):
    for i in range(1, 256):
        for j in range({columns}):
            a[i, j] = a[i - 1, j] + b[i, j]
""")
    assert (sizes(fn) is not None) == is_cut


@pytest.mark.parametrize(
    ("machine", "dtype", "block"),
    [
        (WIDE, "f64", Block(8, 24)),
        (WIDE, "f32", Block(8, 48)),
        (Machine(), "f64", Block(4, 12)),
        (SMALL, "i32", Block(4, 12)),
        (NONE, "f64", Block(4, 3)),
    ],
)
def test_register_blocks_are_three_vectors_wide(machine, dtype, block):
    scop = scheduled(nest(f'a: {dtype}["n"], n: size):\n    for i in range(n):\n        a[i] = 0')).scop
    assert register_block(scop.statements[0], scop, machine) == block


@pytest.mark.parametrize(
    ("domain", "along", "values", "rows", "fewer_rows"),
    [
        ("0 <= i < 14", "i", range(14), 7, 2),
        ("0 <= i < 13", "i", range(13), 8, 4),
        ("0 <= i < 3", "i", range(3), 8, 3),
        ("7 <= i < 21", "i", range(7, 21), 7, 4),
        ("1 <= i < 15", "i", range(1, 15), 8, 4),
        ("0 <= i < 12", "i - 6", range(-6, 6), 6, 3),
        ("0 <= i < 1010", "i", range(1010), 8, 4),  # one of many blocks may be partial
        ("0 <= i < n", "i", None, 8, 4),
        ("0 <= i < 14 and n > 5", "i", range(14), 7, 2),
        ("n <= i < n + 14", "i", None, 8, 4),
        ("0 <= i", "i", None, 8, 4),
    ],
)
def test_as_many_rows_as_fill_the_loop_if_at_least_half_do(domain, along, values, rows, fewer_rows):
    scop = scops.scop("[n] -> { : }" if "n" in domain else "{ : }", scops.stmt(f"{{ S[i] : {domain} }}", writes="C[i]"))
    (member,), (statement,) = band(f"S[i] -> {along}").members, scop.statements
    assert values_of(member, statement) == values
    assert register_block(statement, scop, WIDE, member).rows == rows
    assert register_block(statement, scop, SMALL, member).rows == fewer_rows


@pytest.mark.parametrize(
    ("length", "wide", "small"),
    [
        (48, Block(8, 24), Block(4, 6)),
        (32, Block(12, 16), Block(6, 4)),  # two vectors, and as many sums
        (40, Block(8, 24), Block(6, 4)),
        (46, Block(8, 24), Block(4, 6)),  # which no number of vectors fills
        (1600, Block(8, 24), Block(4, 6)),
    ],
)
def test_as_many_columns_as_fill_the_loop(length, wide, small):
    scop = scops.scop("{ : }", scops.stmt(f"{{ S[j] : 0 <= j < {length} }}", writes="C[j]"))
    (member,), (statement,) = band("S[j] -> j").members, scop.statements
    assert register_block(statement, scop, WIDE, vector=member) == wide
    assert register_block(statement, scop, SMALL, vector=member) == small


def test_as_many_columns_as_fill_a_tile():
    scop = scops.scop("[n] -> { : }", scops.stmt("{ S[j] : 0 <= j < n }", writes="C[j]"))
    named, (statement,) = replace(band("S[j] -> j").members[0], name="j"), scop.statements
    widths = [register_block(statement, scop, WIDE, vector=named, tiles={"j": n}).columns for n in (0, 72, 128, 504)]
    assert widths == [24, 24, 16, 24]


WEIGHTS = """
out: f32[3, 3, 256], data: f32[16, {rows} + 2, 58, 256], grad: f32[16, {rows}, 56, 256]):
    for r in range(3):
        for s in range(3):
            for c in range(256):
                for n in range(16):
                    for y in range({rows}):
                        for x in range(56):
                            out[r, s, c] += data[n, y + r, x + s, c] * grad[n, y, x, c]
"""


def weights(rows: int, machine: Machine) -> dict[str, int]:
    """The sizes for its loops, in any order."""
    scop = extract(nest(WEIGHTS.format(rows=rows)))
    loops = band(*(f"S[r, s, c, n, y, x] -> {loop}" for loop in "rscnyx"), coincident=(0, 1, 2))
    around = Around((), dependences(scop, reorder_reductions=True).coincidence)
    found = tile_sizes(loops, scop, around, Options(machine=machine))
    assert found is not None
    return dict(zip("rscnyx", found, strict=True))


@pytest.mark.parametrize(("rows", "l2", "n", "y"), [(56, 1 << 20, 1, 4), (4, 1 << 20, 1, 16), (56, 8 << 10, 16, 16)])
def test_further_loops_of_a_sum_get_tiles_that_fit_l2_if_any_do(rows, l2, n, y):
    """Along s the same rows are used three times: they have to be there still."""
    found = weights(rows, replace(WIDE, l2=l2))
    assert (found["n"], found["y"]) == (n, y)
