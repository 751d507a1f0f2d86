"""polysched/transform/edits/run/tensorize.py: tensor instructions by hand, what it refuses, and scripts of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from by_hand import matmul
from tensor_products import SMALL, Tiles, by_hand, check_product, nn, of_types, on_threads, tiled, tt

import polysched as ps
from polysched import InputError, Schedule, optimize

NAME = "mma.m16n8k16.f16"


def test_tiles_of_warps_are_made_by_instructions():
    schedule = on_threads(nn, SMALL).tensorize("i", "j", "k", NAME, stages=2)
    assert str(schedule) == """\
domain: { S[i, j, k] : 0 <= i < n and 0 <= j < m and 0 <= k < d }
  context: { : n >= 0 and m >= 0 and d >= 0 }
    mark: map:block.y
      band:
        i_b: [S[i, j, k] -> floor((i)/32)] coincident
        mark: map:block.x
          band:
            j_b: [S[i, j, k] -> floor((j)/32)] coincident
            mark: map:thread.z
              band:
                i_w: [S[i, j, k] -> floor((i)/16)] coincident
                mark: map:thread.y
                  band:
                    j_w: [S[i, j, k] -> floor((j)/16)] coincident
                    band:
                      k_c: [S[i, j, k] -> floor((k)/32)]
                      mark: tensor:mma.m16n8k16.f16:2
                        band:
                          k: [S[i, j, k] -> k]
                          band: permutable
                            i: [S[i, j, k] -> i] coincident
                            j: [S[i, j, k] -> j] coincident"""
    done = optimize(nn, target="cuda", schedule=schedule)
    assert done.declined == () and done.fallbacks == {}
    aligned, other = done.source.kernels
    assert aligned.block == other.block == (32, 2, 2)
    assert aligned.note == (
        "blocks of 32 x 2 x 2 threads; A, B copied to shared memory, a chunk ahead, 8192 bytes; "
        "products by mma.m16n8k16.f16; 8 elements of C in registers"
    )
    assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in done.source.text
    assert "ldmatrix.sync.aligned.m8n8.x4.shared.b16" in done.source.text
    check_product(done, "nn", n=70, m=72, d=104)


TILES = Tiles(32, 32, 32, 16, 32)


def test_loops_in_any_order():
    """Rows, columns and terms are what they are called, wherever they stand."""
    orders = [on_threads(tt, TILES), on_threads(tt, TILES).reorder("k", "j", "i")]
    one, other = (str(each.tensorize("i", "j", "k", NAME)) for each in orders)
    assert one == other


def test_columns_may_be_rows():
    """The left factor is that of the rows, whichever it is."""
    done = optimize(nn, target="cuda", schedule=on_threads(nn, TILES).tensorize("j", "i", "k", NAME, stages=2))
    with pytest.raises(InputError, match="not a multiple of 16"):
        on_threads(nn, Tiles(32, 32, 32, 8, 32)).tensorize("j", "i", "k", NAME)
    check_product(done, "nn", n=40, m=24, d=40)


def test_terms_of_a_size_that_is_assumed():
    """No loop over chunks is needed."""
    tiles = Schedule(nn, "ilp").assume("d == 64").tile("i", "j", sizes=(32, 32))
    tiles = tiles.tile("i", sizes=(16,), names=("i_w",)).reorder("i_o", "j_o", "i_w", "k", "i", "j")
    assert "tensor:mma" in str(tiles.bind("i_w", "thread.y").tensorize("i", "j", "k", NAME))


# --- scripts


def test_it_is_replayed_and_read_again():
    schedule = by_hand(nn)
    assert ".tensorize(\"i\", \"j\", \"k\", \"mma.m16n8k16.f16\", stages=2)" in schedule.script
    scope = {"ps": ps, "nn": nn}
    exec(schedule.script, scope)
    again = [
        schedule.replay(nn),
        Schedule.from_json(nn, schedule.to_json()),
        scope["schedule"],
        Schedule(nn, schedule.tree),
    ]
    assert {str(each) for each in again} == {str(schedule)}
    assert "mark: tensor:mma.m16n8k16.f16:2" in str(Schedule.from_yaml(nn, schedule.to_yaml()))
    texts = {optimize(nn, target="cuda", schedule=each).source.text for each in (schedule, again[1])}
    assert len(texts) == 1


# --- what is refused


@ps.nest
def two(C: ps.f32["n", "m"], D: ps.f32["n"], A: ps.f16["n", "d"], B: ps.f16["d", "m"],
        n: ps.size, m: ps.size, d: ps.size):  # fmt: skip
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += ps.f32(A[i, k]) * ps.f32(B[k, j])
                D[i] = ps.f32(A[i, k])


@ps.nest
def largest(C: ps.f32["n", "m"], A: ps.f16["n", "d"], B: ps.f16["d", "m"], n: ps.size, m: ps.size, d: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] = max(C[i, j], ps.f32(A[i, k]) * ps.f32(B[k, j]))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda: by_hand(nn, replace(SMALL, instruction="wgmma")),
            "there is no instruction 'wgmma'\n"
            "hint: the instructions are: mma.m16n8k16.f16, mma.m16n8k8.tf32, mma.m16n8k32.s8, mma.m16n8k8.f64, "
            "mma.m8n8k4.f64",
        ),
        (
            lambda: by_hand(of_types("nn", "i8", "i32"), Tiles(32, 32, 64, 16, 16, 3, "mma.m16n8k32.s8")),
            "S accesses C[i, j], A[i, k], B[k, j], and mma.m16n8k32.s8 C[i, j], A[i, k], B[j, k]\n"
            "hint: A and B are read along 'k' by 16 elements that are next to each other, and have no terms but these",
        ),
        (lambda: by_hand(nn, replace(SMALL, stages=1)), "tensorize needs 2 to 8 stages, not 1"),
        (lambda: by_hand(nn, replace(SMALL, stages=9)), "tensorize needs 2 to 8 stages, not 9"),
        (
            lambda: by_hand(nn, replace(SMALL, stages=2.0)),
            "'stages' of tensorize is a whole number below 2**31, not 2.0",
        ),
        (
            lambda: by_hand(nn, Tiles(48, 64, 32, 24, 32)),
            "loop 'i' has 24 iterations, not a multiple of 16\nhint: tile it by a multiple of 16",
        ),
        (
            lambda: by_hand(nn, Tiles(64, 48, 32, 32, 24)),
            "loop 'j' has 24 iterations, not a multiple of 16\nhint: tile it by a multiple of 16",
        ),
        (
            lambda: by_hand(nn, Tiles(64, 64, 16, 32, 32)),
            "loop 'k' has 16 iterations, not a multiple of 32\nhint: tile it by a multiple of 32",
        ),
        (
            lambda: Schedule(nn, "ilp").tile("i", "j", sizes=(32, 32)).tensorize("i", "j", "k", NAME),
            "loop 'k' has as many iterations as the sizes say, not a multiple of 32\nhint: tile it by a multiple of 32",
        ),
        (
            lambda: tiled(nn).bind("i_w", "thread.y").bind("j_w", "thread.x").tensorize("i", "j", "k", NAME),
            "loop 'j_w' is on threadIdx.x, which is for the lanes of a warp\n"
            "hint: bind it to threadIdx.y or threadIdx.z",
        ),
        (
            lambda: tiled(nn).bind("i_b", "block.x").tensorize("i", "j", "k", NAME),
            "no loop around 'i' is on threads\nhint: bind the loops over tiles to threadIdx.y and threadIdx.z",
        ),
        (
            lambda: tiled(nn).bind("i_b", "block.x").bind("j_w", "thread.y").tensorize("i", "j", "k", NAME),
            "loop 'j_b' is between loops on axes\nhint: bind it to an axis, too, or reorder the loops",
        ),
        (
            lambda: by_hand(matmul),
            "S is no sum of products for mma.m16n8k16.f16\n"
            "hint: it is as C[i, j] += f32(A[i, k]) * f32(B[k, j]), of f16",
        ),
        (
            lambda: by_hand(nn, replace(SMALL, instruction="mma.m8n8k4.f64")),
            "S is no sum of products for mma.m8n8k4.f64\n"
            "hint: it is as C[i, j] += A[i, k] * B[k, j], of f64",
        ),
        (
            lambda: by_hand(largest),
            "S is no sum of products for mma.m16n8k16.f16\n"
            "hint: it is as C[i, j] += f32(A[i, k]) * f32(B[k, j]), of f16",
        ),
        (
            lambda: Schedule(two).tensorize("i", "j", "k", NAME),
            "there are loops or statements inside of i, j, k\nhint: distribute them",
        ),
        (
            lambda: tiled(nn).tensorize("i_w", "j_w", "k_c", NAME),
            "there are loops or statements inside of i_w, j_w, k_c\nhint: distribute them",
        ),
        (
            lambda: tiled(nn).tensorize("i", "j", "q", NAME),
            "there is no loop 'q'\nhint: the loops are: i_b, j_b, i_w, j_w, k_c, i, j, k",
        ),
        (lambda: tiled(nn).tensorize("i", "i", "k", NAME), "a loop is named twice in i, i, k"),
        (
            lambda: by_hand(nn, Tiles(128, 128, 32, 16, 16)),
            "a block would have 8 x 8 warps, and it has at most 32",
        ),
        (
            lambda: by_hand(nn).tensorize("i", "j", "k", NAME),
            "loop 'k' is marked tensor already\nhint: edit loops before they are marked",
        ),
    ],
)
def test_what_is_refused(edit, message):
    with pytest.raises(InputError) as raised:
        edit()
    assert str(raised.value) == message


@pytest.mark.parametrize(("target", "language"), [("c", "C"), ("opencl", "OpenCL"), ("hip", "HIP")])
def test_targets_that_have_none(target, language):
    with pytest.raises(InputError) as raised:
        optimize(nn, target=target, schedule=by_hand(nn))
    assert str(raised.value) == (
        f"the schedule has loops for mma.m16n8k16.f16, which {language} has not\n"
        "hint: targets that have it are cuda"
    )


@ps.nest
def part(C: ps.f32["n", "m"], A: ps.f16["n", "2*d"], B: ps.f16["2*d", "m"], n: ps.size, m: ps.size, d: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += ps.f32(A[i, k]) * ps.f32(B[k, j])


@ps.nest
def shifted(C: ps.f32["n", "m"], A: ps.f16["n", "d + 1"], B: ps.f16["d", "m"], n: ps.size, m: ps.size, d: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += ps.f32(A[i, k + 1]) * ps.f32(B[k, j])


@ps.nest
def half_a_line(C: ps.f32["n", "m"], A: ps.f16["n", "d"], B: ps.f16["d", "m + 4"], n: ps.size, m: ps.size, d: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += ps.f32(A[i, k]) * ps.f32(B[k, j + 4])


@pytest.mark.parametrize(
    ("nest", "accesses"),
    [
        (part, "C[i, j], A[i, k], B[k, j]"),
        (shifted, "C[i, j], A[i, k + 1], B[k, j]"),
        (half_a_line, "C[i, j], A[i, k], B[k, j + 4]"),
    ],
    ids=["not all terms", "terms from the second on", "no whole lines"],
)
def test_both_access_patterns_are_told(nest, accesses):
    with pytest.raises(InputError) as raised:
        by_hand(nest)
    assert str(raised.value) == (
        f"S accesses {accesses}, and mma.m16n8k16.f16 C[i, j], A[i, k], B[k, j], or A or B turned\n"
        "hint: A and B are read along a loop by 8 elements that are next to each other, and have no terms but these"
    )


def test_chunks_of_many_terms():
    schedule = by_hand(nn, Tiles(64, 64, 96, 32, 32))
    assert "polysched_mma" in optimize(nn, target="cuda", schedule=schedule).source.text


@ps.nest
def pairs(x: ps.size, c: ps.size, o: ps.size, D: ps.f16["x + 1", "c"], W: ps.f16["c", "o"], Y: ps.f32[2, "x", "o"]):
    for p in range(2):
        for i in range(x):
            for f in range(o):
                for k in range(c):
                    Y[p, i, f] += ps.f32(D[i + p, k]) * ps.f32(W[k, f])


@ps.nest
def diagonals(C: ps.f32[31], A: ps.f16[16, 32], B: ps.f16[32, 16]):
    for k in range(32):
        for i in range(16):
            for j in range(16):
                C[i + j] += ps.f32(A[i, k]) * ps.f32(B[k, j])


def test_rows_that_warps_share_in_part_are_refused():
    """The second warp reads rows one further: what a line of shared memory holds would not be a tile's."""
    tiles = Schedule(pairs, "ilp").tile("i", "f", sizes=(32, 32)).tile("k", sizes=(32,))
    warps = tiles.reorder("i_o", "f_o", "p", "k_o", "i", "f", "k")
    warps = warps.bind("i_o", "block.y").bind("f_o", "block.x").bind("p", "thread.y")
    with pytest.raises(InputError, match="tensor instructions cannot run loop 'k' as it is tiled"):
        optimize(pairs, target="cuda", schedule=warps.tensorize("i", "f", "k", NAME, stages=3))


def test_sums_that_several_elements_of_a_tile_share_are_refused():
    schedule = Schedule(diagonals, "source").tile("i", "j", sizes=(16, 16)).reorder("i_o", "j_o", "k", "i", "j")
    schedule = schedule.bind("i_o", "block.x").bind("j_o", "thread.y")
    with pytest.raises(InputError, match="tensor instructions cannot run"):
        optimize(diagonals, target="cuda", schedule=schedule.tensorize("i", "j", "k", NAME, stages=2))
