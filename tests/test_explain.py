"""polysched/explain: why each loop is or is not parallel, tiled, SIMD and fused, and what would change that."""

from __future__ import annotations

import random
import re

import nests
import pytest

import polysched as ps
from polysched.deps.coincidence import carried
from polysched.explain.text import explain
from polysched.ir.build import const, load, store, var
from polysched.ir.nodes import Array
from polysched.model.tree.nodes import Member, Parallel, marked_as
from polysched.operators.examples import gemm, jacobi_2d, seidel_2d, stencil
from polysched.support import isl
from tests.scops import bands_reached
from tests.transform.scheduled import random_scheduled, scheduled


def test_B6_the_whole_text_for_the_stencil():
    """i' = i, j' = i + j: permutable, neither is coincident, j' is parallel inside i', tiles along wavefronts."""
    assert ps.optimize(stencil, options=ps.Options(tile_sizes=(32, 64))).explain().rpartition("\npredicted at ")[0] == (
        "in the source\n"
        "  for i, examples.py:12\n"
        "    not parallel: flow on a, distance (1, -1..1), S[0, 1] -> S[1, 0] at N = 2, line 14\n"
        "    i, j cannot be tiled: flow on a, distance (1, -1), S[0, 1] -> S[1, 0] at N = 2, line 14\n"
        '      lifted by skew("j", by="i")\n'
        "    for j, line 13\n"
        "      parallel and SIMD\n"
        "in the schedule (pluto)\n"
        "  2 loops, permutable: any order of them is legal, and so is tiling\n"
        "    S[i, j] -> i\n"
        "      carries flow on a, distance (1, 0..2), S[0, 1] -> S[1, 0] at N = 2, line 14\n"
        "    S[i, j] -> i + j\n"
        "      carries flow on a, distance (1, 1..2), S[0, 0] -> S[1, 0] at N = 2, line 14; "
        "parallel inside the loops before it\n"
        "    no loop is parallel here, but tiles are, along wavefronts\n"
        "in the kernel\n"
        "  floor((i - j)/64) + floor((i + j)/64): wavefronts of tiles\n"
        "    floor((i + j)/64): tiles, on threads\n"
        "      i\n"
        "        i + j: SIMD"
    )


def source(fn, **options) -> str:
    """What is said of the loops as they stand in the source."""
    return ps.Schedule(fn, options=ps.Options(**options)).explain().removeprefix("in the source\n")


def test_a_product_of_matrices():
    assert source(gemm) == (
        "  for i, examples.py:19\n"
        "    parallel\n"
        "    i, j can be tiled\n"
        "    for j, line 20\n"
        "      parallel\n"
        "      for k, line 22\n"
        "        not parallel nor SIMD: flow on C, distance (0, 0, 1), S1[0, 0, 0] -> S1[0, 0, 1] at n = 2, line 23\n"
        "          also output on C\n"
        "          lifted by Options(reorder_reductions=True)\n"
        "        not tiled with j: statements of line 21 are in that loop too\n"
        '          lifted by distribute("j")'
    )
    assert "parallel and SIMD as a reduction of C\n" in source(gemm, reorder_reductions=True)


def test_seidel_is_tiled_after_skews_and_parallel_along_wavefronts():
    assert source(seidel_2d) == (
        "  for t, examples.py:39\n"
        "    not parallel: flow on A, distance (1, -1..0, -1..1), S[0, 1, 1] -> S[1, 1, 1] "
        "at tsteps = 2, n = 3, line 42\n"
        "      also anti on A, output on A\n"
        "    t, i, j cannot be tiled: flow on A, distance (1, -1, -1..1), S[0, 2, 1] -> S[1, 1, 2] "
        "at tsteps = 2, n = 4, line 42\n"
        "      also anti on A\n"
        '      lifted by skew("i", by="t") and skew("j", by="t") and skew("j", by="i")\n'
        "    for i, line 40\n"
        "      not parallel: flow on A, distance (0, 1, -1..1), S[0, 1, 1] -> S[0, 2, 2] "
        "at tsteps = 1, n = 4, line 42\n"
        "        also anti on A\n"
        '        lifted by skew("i", by="t", factor=2) and reorder("i", "t"): t is parallel inside\n'
        "      for j, line 41\n"
        "        not parallel nor SIMD: flow on A, distance (0, 0, 1), S[0, 1, 1] -> S[0, 1, 2] "
        "at tsteps = 1, n = 4, line 42\n"
        "          also anti on A\n"
        '          lifted by skew("j", by="i", factor=2) and reorder("j", "i"): i is parallel inside'
    )


@ps.nest
def scaled(b: ps.f64["n"], a: ps.f64["n"], t: ps.f64[1], n: ps.size):
    for i in range(n):
        t[0] = 2.0 * a[i]
        b[i] = t[0] + a[i]


@ps.nest
def squares(s: ps.f64[1], t: ps.f64[1], a: ps.f64["n"], n: ps.size):
    for i in range(n):
        t[0] = 2.0 * a[i]
        s[0] += t[0] * t[0]


def test_a_scalar_that_is_written_and_read_in_each_iteration_is_privatized():
    assert source(scaled) == (
        "  for i, test_explain.py:96\n"
        "    not parallel nor SIMD: anti on t, distance (1), S1[0] -> S0[1] at n = 2, line 98 -> 97\n"
        "      also output on t\n"
        '      lifted by privatize("t", at="i")'
    )
    ps.Schedule(scaled).privatize("t", "i").parallel("i")
    assert 'lifted by Options(reorder_reductions=True) and privatize("t", at="i")' in source(squares)


def test_not_one_that_carries_a_value_from_before():
    @ps.nest
    def sometimes(b: ps.f64["n"], a: ps.f64["n"], t: ps.f64[1], n: ps.size):
        for i in range(n):
            if i > 3:
                t[0] = 2.0 * a[i]
            b[i] = t[0] + a[i]

    assert "not parallel nor SIMD: anti on t" in source(sometimes)
    assert "lifted" not in source(sometimes)


def test_reads_of_what_comes_later_are_read_from_a_copy():
    @ps.nest
    def left(a: ps.f64["n + 1"], n: ps.size):
        for i in range(n):
            a[i] = a[i + 1] + 1.0

    assert "not parallel nor SIMD: anti on a, distance (1)" in source(left)
    assert "lifted by read a from a copy made before i" in source(left)


def test_another_loop_is_parallel_outside_and_columns_are_far_apart():
    @ps.nest
    def columns(c: ps.f64["n"], a: ps.f64["n", "n"], n: ps.size):
        for k in range(n):
            for i in range(n):
                c[i] += a[i, k] * 2.0

    text = source(columns)
    assert 'or reorder("i", "k"): i is parallel outside\n' in text
    assert "SIMD steps over more than one element of a[i, k]" in text

    @ps.nest
    def transposed(b: ps.f64["n", "n"], a: ps.f64["n", "n"], n: ps.size):
        for j in range(n):
            for i in range(n):
                b[i, j] = a[i, j] * 2.0

    assert "SIMD steps over more than one element of b[i, j], a[i, j]" in source(transposed)
    assert 'lifted by reorder("i", "j"): all strides along j are 0 or 1' in source(transposed)


@ps.nest
def reversed_(c: ps.f64["n"], b: ps.f64["n"], a: ps.f64["n"], n: ps.size):
    for i in range(n):
        b[i] = 2.0 * a[i]
    for i in range(n):
        c[i] = b[n - 1 - i]


@ps.nest
def blur(c: ps.f64["n"], b: ps.f64["n"], a: ps.f64["n"], n: ps.size):
    for i in range(1, n - 1):
        b[i] = a[i - 1] + a[i] + a[i + 1]
    for i in range(2, n - 2):
        c[i] = b[i - 1] + b[i + 1]


def test_loops_that_cannot_be_fused():
    assert source(reversed_) == (
        "  for i, test_explain.py:164\n"
        "    parallel and SIMD\n"
        "  for i (called i_2), test_explain.py:166\n"
        "    parallel and SIMD\n"
        "    not fused with i: illegal, whatever the shift, for flow on b, distance (*), S0[1] -> S1[0] at n = 2, "
        "line 165 -> 167"
    )


def test_loops_that_are_not_fused_since_they_would_not_be_parallel():
    assert source(blur) == (
        "  for i, test_explain.py:172\n"
        "    parallel and SIMD\n"
        "  for i (called i_2), test_explain.py:174\n"
        "    parallel and SIMD\n"
        '    not fused with i: legal, by fuse("i", "i_2"), shifted by 1, but not parallel, for flow on b, '
        "distance (-1..1), S0[3] -> S1[2] at n = 5, line 173 -> 175"
    )


def test_the_schedule_says_why_nests_are_apart():
    text = ps.optimize(gemm).explain()
    assert "then S1\n    not fused with the loops before: these are 2 deep, those here 3\n" in text
    text = ps.optimize(blur).explain()
    assert "then S1\n    not fused with the loops before: legal, shifted by 1, but not parallel, for flow on b" in text


def test_independent_loops_are_parallel():
    assert text_of_bands(copy()) == (
        "2 loops, permutable: any order of them is legal, and so is tiling\n"
        "  S[i, j] -> i\n"
        "    parallel\n"
        "  S[i, j] -> j\n"
        "    parallel"
    )


def copy():
    i, j, n = var("i"), var("j"), var("n")
    a, b = Array("a", ps.f64, (n, n)), Array("b", ps.f64, (n, n))
    inner = nests.loop("j", 0, n, store(b, (i, j), load(a, i, j)))
    return nests.nest("copy", "n", [a, b], nests.loop("i", 0, n, inner))


def text_of_bands(fn) -> str:
    """What is said of the schedule."""
    done = scheduled(fn)
    return bands_in(explain(done.scop, done.deps, done.tree, found="pluto"))


def bands_in(text: str) -> str:
    lines = text.partition("in the schedule (pluto)\n")[2].splitlines()
    return "\n".join(line.removeprefix("  ") for line in lines)


def test_one_loop_is_never_called_permutable_and_has_no_lines_where_the_source_is_unknown():
    assert text_of_bands(nests.reversed_sweep()) == (
        "1 loop\n  S[i] -> -i\n    carries flow on A, distance (1), S[1] -> S[0] at n = 3"
    )
    assert source(nests.reversed_sweep()).startswith("  for i\n    not parallel nor SIMD: flow on A")


def test_marks_are_told():
    done = scheduled(copy())
    marked = explain(done.scop, done.deps, marked_as(done.tree.child.child, Parallel()), found="pluto")
    bands = text_of_bands(copy()).replace("-> i\n    parallel\n", "-> i (parallel)\n")
    assert bands_in(marked) == f"{bands}\nin the kernel\ni: on threads\n  j"


@pytest.mark.parametrize(
    ("rows", "right", "kernel"),
    [
        (90, "kj", "i, j, k: products of packed matrices"),
        (3, "jk", "i, j, k: products of rows and columns, a sum for each lane"),
    ],
)
def test_products_are_told(rows, right, kernel):
    c, a, b = (Array(name, ps.i32, (const(90), const(90))) for name in "CAB")
    product = nests.mul(load(a, var("i"), var("k")), load(b, *map(var, right)))
    update = store(c, (var("i"), var("j")), nests.add(load(c, var("i"), var("j")), product))
    loops = nests.loop("i", 0, rows, nests.loop("j", 0, 90, nests.loop("k", 0, 90, update)))
    fn = nests.nest("product", "", [c, a, b], loops)
    assert f"in the kernel\n  {kernel}\npredicted on " in ps.optimize(fn).explain()


def test_a_schedule_by_hand_names_its_edits_and_loops():
    text = ps.Schedule(stencil).skew("j", by="i").parallel("j").explain()
    assert 'in the schedule (.skew("j", by="i").parallel("j"))\n' in text
    assert text.endswith("    1 loop\n      j: S[i, j] -> i + j (parallel)\nin the kernel\n  i\n    i + j: on threads")


def test_tiles_along_wavefronts_are_no_news_below_them():
    """The loops over tiles are those wavefronts already, and the points of a tile are no tiles."""
    told = "no loop is parallel here, but tiles are, along wavefronts"
    tiles = ps.Schedule(stencil).skew("j", by="i").tile("i", "j", sizes=(16, 64))
    assert told in ps.Schedule(stencil).skew("j", by="i").explain()
    assert tiles.explain().count(told) == 1
    assert told not in tiles.wavefront("i_o", "j_o").explain()
    assert told not in tiles.wavefront("i_o", "j_o").parallel("j_o").explain()


def test_a_schedule_by_hand_with_marks_is_the_kernel():
    s = ps.Schedule(stencil).skew("j", by="i").tile("i", "j", sizes=(16, 64)).wavefront("i_o", "j_o").parallel("j_o")
    kernel = (
        "in the kernel\n"
        "  floor(i/16) + floor((i + j)/64): wavefronts of tiles\n"
        "    floor((i + j)/64): tiles, on threads\n"
        "      i\n"
        "        i + j"
    )
    assert s.explain().endswith(kernel)
    assert ps.optimize(stencil, schedule=s).explain().endswith(kernel)


def test_fallbacks_are_named():
    text = ps.optimize(stencil, options=ps.Options(scheduler="source")).explain()
    assert "in the schedule (source order with parallel loops found)\n" in text
    done = ps.optimize(stencil, options=ps.Options(solve_seconds=0.0))
    assert "given up: pluto: " in done.explain()


def test_only_the_loops_around_a_line():
    text = ps.optimize(jacobi_2d).explain(line=31)
    assert re.findall("for (.), .*?([0-9]+)\n", text) == [("t", "28"), ("i", "29"), ("j", "30")]
    assert ps.optimize(jacobi_2d).explain(line=29) == text, "that of a loop"
    with pytest.raises(ps.InputError) as error:
        ps.optimize(jacobi_2d).explain(line=5)
    assert str(error.value) == "line 5 has no loop or statement of 'jacobi_2d'\nhint: there are: 31, 34"


@pytest.mark.parametrize("seed", range(20))
def test_random_nests_each_loop_is_parallel_or_has_a_witness(seed):
    done = random_scheduled(seed)
    bands = list(bands_reached(done.tree, done.deps.coincidence))
    members = [(m, reaching) for band, reaching in bands for m in band.members if _runs(m, done.scop.domain)]
    verdicts = [carried(member, reaching).is_empty() for member, reaching in members]
    words = re.findall(r"^ +(parallel$|carries )", text_of_bands(done.fn), re.MULTILINE)
    assert words == ["parallel" if verdict else "carries " for verdict in verdicts]


def _runs(member: Member, instances: isl.UnionSet) -> bool:
    return not member.schedule.intersect_domain(instances).is_empty()


def test_the_random_nests_have_loops_of_both_kinds():
    texts = [text_of_bands(nests.random_nest(random.Random(seed))) for seed in range(4)]
    assert any("parallel" in t for t in texts) and any("carries" in t for t in texts)


EDIT = re.compile(r"(skew|reorder|distribute|fuse|privatize)\([^()]*\)")


@pytest.mark.parametrize("seed", range(26))
def test_random_nests_what_is_said_to_be_legal_is(seed):
    """Every edit proposed is tried by hand, and so are tiles, interchanges and threads that are said to be legal."""
    schedule = ps.Schedule(nests.random_nest(random.Random(seed)))
    for line in schedule.explain().splitlines():
        names = line.strip().removesuffix(" can be tiled").split(", ")
        if line.endswith(" can be tiled"):
            schedule.tile(*names, sizes=(3,) * len(names))
        if EDIT.search(line):
            edited = schedule
            for edit in EDIT.finditer(line):
                edited = eval(f"edited.{edit[0]}")
            for free in re.findall(r": (\S+) is parallel", line):
                edited.parallel(free)


def test_the_random_nests_have_proposals_of_all_kinds():
    proposed = {
        name for seed in (0, 10, 6) for name in EDIT.findall(source(nests.random_nest(random.Random(seed))))
    }
    assert proposed == {"skew", "reorder", "distribute", "fuse", "privatize"}


def test_two_branches_that_share_a_statement_are_told_apart():
    """Tiles cut in two run the same statements under other loops."""

    @ps.nest
    def lu(A: ps.f64["n", "n"], n: ps.size):
        for k in range(n):
            for i in range(k + 1, n):
                A[i, k] /= A[k, k]
                for j in range(k + 1, n):
                    A[i, j] -= A[i, k] * A[k, j]

    tiled = ps.Schedule(lu, "ilp").tile("k", "i", "k_2", sizes=(8, 8, 8), names=("K", "I", "J"))
    text = tiled.split_set("I", "I <= K").split_set("J", "J <= K").interchange("I_2", "J_2").explain()
    assert "not fused with the loops before" in text
