from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.config.constraints import factors, share_at_most
from polysched.model.tree.nodes import Band, Parallel, Vector, mark_of, marks_in, walk
from polysched.model.tree.text import show_tree


@ps.nest
def matmul(C: ps.f64["n", "n"], A: ps.f64["n", "n"], B: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


@ps.nest
def jacobi(a: ps.f64["n"], b: ps.f64["n"], T: ps.size, n: ps.size):
    for t in range(T):
        for i in range(1, n - 1):
            b[i] = a[i - 1] + a[i] + a[i + 1]
        for i in range(1, n - 1):
            a[i] = b[i]


@ps.nest
def blur(c: ps.f64["n"], b: ps.f64["n"], a: ps.f64["n"], n: ps.size):
    for i in range(1, n - 1):
        b[i] = a[i - 1] + a[i] + a[i + 1]
    for i in range(2, n - 2):
        c[i] = b[i - 1] + b[i + 1]


def made(nest, *constraints, **options) -> ps.Compiled:
    return ps.optimize(nest, options=ps.Options(constraints=constraints, **options))


def loops(done: ps.Compiled) -> list[str]:
    """The members of all bands of the kernel's tree, for the first statement there."""
    lines = (line.strip() for line in show_tree(done.tree).splitlines())
    return [line.partition("-> ")[2].partition("]")[0].partition(";")[0] for line in lines if line.startswith("[")]


# --- values


def test_constraints_read_as_they_are_written():
    texts = [
        'order("S", "i", "2t + i", "t + _*j", "_")',
        'innermost("S", "j")',
        "outer_parallel()",
        'outer_parallel("S0", "S1")',
        "max_skew(0)",
        'max_skew(2, "S*")',
        'separate("S0", "S1")',
        'separate("S*", depth=1)',
        'together("S0", "S1", "S2")',
        'together("S*", depth=2)',
        'tile_sizes("S", (32, 0))',
    ]
    assert [str(eval(text, {name: getattr(ps, name) for name in ps.__all__})) for text in texts] == texts


def test_the_factors_of_a_row():
    assert factors("i") == {"i": 1}
    assert factors("2t + i - 3*j") == {"t": 2, "i": 1, "j": -3}
    assert factors("-i") == {"i": -1}
    assert factors("t + _*i") == {"t": 1, "i": None}
    assert factors("_") is None


@pytest.mark.parametrize("row", ["", "1", "i + 1", "i j", "i + i", "i *", "floor(i/2)"])
def test_what_is_no_row(row):
    with pytest.raises(ps.InputError) as raised:
        ps.order("S", row)
    right = 'it is a sum of iterators, as in "i", "2t + i" or "t + _*i"'
    nothing = "it has the same value everywhere"
    assert str(raised.value) == f"'{row}' is no loop\nhint: {right if row else nothing}"


def test_which_pairs_are_separate():
    two, one = ps.separate("a*", "b*"), ps.separate("a*")
    assert share_at_most(two, "a1", "b2") and share_at_most(two, "b2", "a1")
    assert not share_at_most(two, "a1", "a2") and share_at_most(one, "a1", "a2")
    assert not share_at_most(one, "a1", "b1") and not share_at_most(one, "a1", "a1")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: ps.order("S"), 'order("S") names no loop\nhint: as in order("S", "i", "j")'),
        (lambda: ps.max_skew(-1), "max_skew(-1) is negative\nhint: 0 is no skewing"),
        (
            lambda: ps.tile_sizes("S", (0, 0)),
            'tile_sizes has (0, 0) for sizes\nhint: as in tile_sizes("S", (32, 64)), or 0 for none',
        ),
        (
            lambda: ps.Options(constraints=("i",)),
            'option constraints is (\'i\',), but is a tuple of constraints, as in (order("S", "i", "j"), max_skew(1))',
        ),
    ],
)
def test_wrong_values(wrong, message):
    with pytest.raises(ps.InputError) as raised:
        wrong()
    assert str(raised.value) == message


# --- the kernel


def test_the_kernel_keeps_the_order_that_was_asked_for():
    done = made(matmul, ps.order("S", "i", "k", "j"), tile=False, parallel=False)
    assert loops(done) == ["i", "k", "j"]
    assert done.rungs["constraints"] == 'met: order("S", "i", "k", "j")'
    assert loops(made(matmul, tile=False, parallel=False)) != ["i", "k", "j"], "registers want another one"


def test_threads_take_no_loop_out_of_its_order():
    done = made(matmul, ps.order("S", "k", "i", "j"), tile=False, register_tiles=False)
    assert loops(done) == ["k", "i", "j"]
    plain = made(matmul, tile=False, register_tiles=False)
    assert [type(mark) for mark in marks_in(plain.tree)] == [Parallel, Vector]


def test_what_must_stay_innermost_runs_as_simd():
    done = made(matmul, ps.innermost("S", "i"))
    lanes = next(node for node in walk(done.tree) if mark_of(node, Vector))
    assert isinstance(lanes, Band) and loops(done)[-1] == "i"


@pytest.mark.parametrize("tile", [False, True])
def test_sums_on_lanes(tile):
    done = made(matmul, ps.innermost("S", "k"), reorder_reductions=True, tile=tile)
    assert "#pragma omp simd reduction(+:" in done.source.text and done.verify(n=37)


def test_tiles_have_the_sizes_asked_for():
    done = made(matmul, ps.order("S", "i", "k", "j"), ps.tile_sizes("S", (4, 0, 8)))
    assert loops(done)[:2] == ["floor((i)/4)", "floor((j)/8)"]
    done = made(jacobi, ps.tile_sizes("*", (16, 64)))
    assert loops(done)[:2] == ["floor((t)/16) + floor((2t + i)/64)", "floor((2t + i)/64)"], "no diamonds: not even"


def test_tiles_of_loops_in_several_bands():
    done = made(jacobi, ps.order("*", "t", "i"), ps.tile_sizes("S0", (4, 32)), ps.tile_sizes("S1", (4, 64)))
    assert loops(done) == ["floor((t)/4)", "t", "floor((i)/32)", "i", "floor((i)/64)", "i"]
    rng = np.random.default_rng(1)
    a, b = rng.random(200), rng.random(200)
    expected = a.copy()
    for _ in range(7):
        expected[1:-1] = expected[:-2] + expected[1:-1] + expected[2:]
    done(a=a, b=b, T=7)
    np.testing.assert_allclose(a, expected)


@pytest.mark.parametrize(
    ("constraints", "options", "message"),
    [
        (
            (ps.tile_sizes("S0", (16, 16)), ps.tile_sizes("S1", (16, 32))),
            {},
            'tile_sizes("S0", (16, 16)) and tile_sizes("S1", (16, 32)) differ, but S0 and S1 have loops in common\n'
            "hint: ask for them to be separate",
        ),
        (
            (ps.tile_sizes("S0", (16,)),),
            {"tile": False},
            'tile_sizes("S0", (16,)): there are no tiles with the option tile=False',
        ),
        (
            (ps.tile_sizes("S0", (16, 16, 16)),),
            {},
            'tile_sizes("S0", (16, 16, 16)): S0 has only 2 of these 3 loops\nhint: its loops are: t, i',
        ),
    ],
)
def test_tiles_that_cannot_be(constraints, options, message):
    with pytest.raises(ps.InputError) as raised:
        made(jacobi, *constraints, **options)
    assert str(raised.value) == message


def test_a_grid_has_no_order():
    done = ps.optimize(matmul, "cuda", options=ps.Options(constraints=(ps.order("S", "k", "i"),)))
    assert done.rungs["constraints"] == 'met before loops went to the grid: order("S", "k", "i")'


def test_sizes_of_tiles_are_for_cpus():
    with pytest.raises(ps.InputError) as raised:
        ps.optimize(matmul, "cuda", options=ps.Options(constraints=(ps.tile_sizes("S", (8, 8)),)))
    assert str(raised.value) == 'tile_sizes("S", (8, 8)) is for CPUs: the tiles of a GPU are blocks of its grid'


def test_tiles_that_would_take_the_first_loop_from_the_threads():
    with pytest.raises(ps.IllegalSchedule) as raised:
        made(matmul, ps.order("S", "i", "k", "j"), ps.outer_parallel(), ps.tile_sizes("S", (0, 8)))
    assert str(raised.value) == 'tile_sizes("S", (0, 8)) and outer_parallel() contradict each other'


def test_a_schedule_by_hand_must_meet_them_too():
    hand = ps.Schedule(matmul).reorder("k", "i", "j")
    options = ps.Options(constraints=(ps.order("S", "i"),))
    with pytest.raises(ps.IllegalSchedule) as raised:
        ps.optimize(matmul, schedule=hand, options=options)
    assert str(raised.value) == 'the schedule given does not meet order("S", "i")'
    assert loops(ps.optimize(matmul, schedule=ps.Schedule(matmul), options=options))


def test_a_schedule_by_hand_may_begin_with_them():
    hand = ps.Schedule(matmul, "ilp", options=ps.Options(constraints=(ps.order("S", "k", "j"),)))
    assert hand.loops == ("k", "j", "i")


def test_fused_by_force():
    plain, done = made(blur), made(blur, ps.together("S*"))
    assert loops(plain) == ["i", "i"] and loops(done) == ["i"]
    assert done.verify(n=20)


def test_separate_nests_share_no_blocks_either():
    done = made(jacobi, ps.separate("S0", "S1", depth=1))
    assert loops(done) == ["t", "i", "i"]


@ps.nest
def product(C: ps.f32[40, 40], A: ps.f32[40, 40], B: ps.f32[40, 40]):
    for i in range(40):
        for j in range(40):
            for k in range(40):
                C[i, j] += A[i, k] * B[k, j]


@pytest.mark.parametrize(
    ("constraint", "is_product"),
    [
        (ps.order("S", "i", "j", "k"), True),
        (ps.order("S", "k", "i", "j"), False),
        (ps.innermost("S", "j"), False),
        (ps.tile_sizes("S", (8, 8, 8)), False),
        (ps.outer_parallel("S"), True),
    ],
)
def test_products_give_way(constraint, is_product):
    """The loops of a product are in an order of its own, and have no tiles."""
    done = made(product, constraint)
    assert ("packed:S" in show_tree(done.tree)) == is_product
    done.verify()
