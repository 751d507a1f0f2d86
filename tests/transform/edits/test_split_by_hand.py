import pytest
from by_hand import blur, matmul, stencil
from edited import assert_holds, on_random_nests
from nests import lu, reversed_sweep, strided, triangular

from polysched import IllegalSchedule, InputError, Options, Schedule, f64, i32, nest, optimize, size
from polysched.codegen.lower import lower
from polysched.ir.text import show


@nest
def thirty(a: f64["30"]):
    for i in range(30):
        a[i] = 1.0


GUARDED = """\
domain: { S0[i] : 0 < i <= -2 + n; S1[i] : 2 <= i <= -3 + n }
  context: { : n >= 0 }
    sequence
      filter: S0
        band:
          io: [S0[i] -> floor((-1 + i)/8)] coincident
          mark: full:8
            band:
              ii: [S0[i] -> (-1 + i) mod 8] coincident
      filter: S1
        band:
          i_2: [S1[i] -> i] coincident"""

LOOPS = """\
def blur(c: f64[n], b: f64[n], a: f64[n], n: size):
    for c0 in 0..floordiv(n - 3, 8) + 1:
        for c1 in 0..8:
            if 8 * c0 + c1 < n - 2:
                b[8 * c0 + c1 + 1] = a[8 * c0 + c1 + 1 - 1] + a[8 * c0 + c1 + 1] + a[8 * c0 + c1 + 1 + 1]
    for c2 in 2..n - 2:
        c[c2] = b[c2 - 1] + b[c2 + 1]"""


def test_with_a_guard_the_inner_loop_runs_in_full():
    schedule = Schedule(blur).split("i", 8, tail="guard", names=("io", "ii"))
    assert str(schedule) == GUARDED
    assert show(lower(schedule.tree, schedule.draft.scop)) == LOOPS


def test_cut_is_a_tile_of_one_loop():
    assert Schedule(matmul).split("i", 32).tree == Schedule(matmul).tile("i", sizes=(32,)).tree
    by_hand = Schedule(stencil).skew("j", by="i").split("i", 4).split("j", 8).reorder("i_o", "j_o", "i", "j")
    assert by_hand.tree == Schedule(stencil).skew("j", by="i").tile("i", "j", sizes=(4, 8)).tree


def test_exact_blocks_need_a_proof():
    with pytest.raises(InputError) as raised:
        Schedule(matmul).split("i", 32, tail="exact")
    assert str(raised.value) == (
        "loop 'i' runs 1 times when n = 1, which is no multiple of 32\n"
        "hint: assume what makes it one, or give tail='guard' or tail='cut'"
    )
    with pytest.raises(InputError, match="runs 30 times, which is no multiple of 4"):
        Schedule(thirty).split("i", 4, tail="exact")
    exact = Schedule(matmul).assume("n % 32 == 0").split("i", 32, tail="exact")
    text = show(lower(exact.tree, exact.draft.scop))
    assert "for c1 in 0..31 + 1:" in text and "if" not in text and "min" not in text


def test_blocks_are_of_iterations_whatever_the_stride():
    schedule = Schedule(strided()).split("i", 8, tail="guard")
    assert "i_o: [S[i] -> floor((i)/16)]" in str(schedule)
    assert "i_o: [S[i] -> floor((i)/16)]" in str(Schedule(strided()).split("i", 8))


@pytest.mark.parametrize("tail", ["cut", "guard"])
@pytest.mark.parametrize(
    ("fn", "loop"),
    [(stencil.function, "j"), (strided(), "i"), (reversed_sweep(), "i"), (lu(), "j_2"), (triangular(), "i")],
)
def test_loops_of_all_shapes(fn, loop, tail):
    assert_holds(fn, lambda schedule: schedule.split(loop, 3, tail=tail))


def test_a_full_loop_may_be_unrolled():
    schedule = Schedule(blur).split("i", 4, tail="guard").unroll("i")
    assert "      mark: full:4\n            mark: unroll\n" in str(schedule)
    text = show(lower(schedule.tree, schedule.draft.scop))
    assert "for c1 in 0..4 (unrolled):\n            if 4 * c0 + c1 < n - 2:" in text
    done = optimize(blur, schedule=schedule, options=Options(parallel=False))
    assert "for (int64_t c1 = 0; c1 < 4; c1++)" in done.source.text


def test_a_full_loop_stays_in_its_iterations():
    schedule = Schedule(stencil).split("j", 4, tail="guard")
    with pytest.raises(IllegalSchedule, match=r"S\[i=0, j=1\] never runs: its loop ends before \(N = 2\)"):
        schedule.reverse("j")


@pytest.mark.parametrize(
    ("size", "tail", "names", "message"),
    [
        (0, "cut", (), "a block needs a positive number of iterations, not 0"),
        (4, "round", (), "there is no tail 'round'\nhint: the tails are cut, guard, exact"),
        (4, "cut", ("i", "j"), "the name 'j' is taken\nhint: the loops are: j"),
        (4, "cut", ("*", "i"), "'*' is no name for a new loop\nhint: a name has letters, digits and _, as in 'i_o'"),
        (4, "cut", ("a",), "split makes two loops, and they cannot be called ('a',)"),
    ],
)
def test_what_is_no_split(size, tail, names, message):
    with pytest.raises(InputError) as raised:
        Schedule(stencil).split("i", size, tail, names)
    assert str(raised.value) == message


@pytest.mark.parametrize("tail", ["cut", "guard", "exact"])
def test_random_nests_stay_as_they_are(tail):
    size = 1 if tail == "exact" else 3
    assert on_random_nests(range(3), lambda schedule, loop: schedule.split(loop, size, tail=tail)) > 5


def test_a_guard_of_one_iteration_stays_with_its_loop():
    """isl leaves out the loop inside, in a part of the outer one that it takes apart."""

    @nest
    def parts(D: i32[1], B: i32["n + 1"], n: size):
        for i in range(n):
            if i < 1:
                D[0] = min(D[0], B[i])
            else:
                D[0] = D[0] + (B[i] + D[0])

    guarded = Schedule(parts, "ilp").fuse("i", "i_2").split("i", 1, tail="guard")
    assert optimize(parts, schedule=guarded).verify(n=9)
