import pytest
from nests import jacobi_1d, jacobi_2d
from nests import lu as lu_by_dots

from polysched import IllegalSchedule, InputError, Schedule, f64, nest, size


@nest
def gemm(C: f64["n", "n"], A: f64["n", "n"], B: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            C[i, j] = 0.0
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


@nest
def lu(A: f64["n", "n"], n: size):
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] = A[i, k] / A[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]


def refused(edit) -> InputError:
    with pytest.raises(InputError) as raised:
        edit()
    return raised.value


def test_other_statements_go_before_the_loops():
    error = refused(lambda: Schedule(gemm).reorder("i", "k", "j"))
    assert str(error) == (
        "a sequence of S0 and S1 is between the loops 'j' and 'k'\n"
        "hint: distribute(\"i\") first, then write 'i_2' for 'i' and 'j_2' for 'j'"
    )
    done = Schedule(gemm).distribute("i").reorder("i_2", "k", "j_2")
    assert done.loops == ("i", "j", "i_2", "k", "j_2")


def test_or_into_them_and_what_is_fused_is_skewed():
    error = refused(lambda: Schedule(jacobi_1d()).tile("t", "i", sizes=(4, 4)))
    assert str(error) == (
        "a sequence of S0 and S1 is between the loops 't' and 'i'\n"
        'hint: fuse("i", "i_2").skew("i", by="t", factor=2) first'
    )
    done = Schedule(jacobi_1d()).fuse("i", "i_2").skew("i", by="t", factor=2).tile("t", "i", sizes=(4, 4))
    assert done.loops == ("t_o", "i_o", "t", "i")


def test_as_often_as_there_are_sequences():
    error = refused(lambda: Schedule(jacobi_2d()).tile("t", "i", "j", sizes=(4, 4, 4)))
    assert error.hint == 'fuse("i", "i_2").fuse("j", "j_2").skew("i", by="t", factor=2).skew("j", by="i") first'
    fused = Schedule(jacobi_2d()).fuse("i", "i_2").fuse("j", "j_2")
    fused.skew("i", by="t", factor=2).skew("j", by="i").tile("t", "i", "j", sizes=(4, 4, 4))


def test_patterns_are_for_loops_here_too():
    error = refused(lambda: Schedule(jacobi_1d()).wavefront("t", "S1.i"))
    assert error.hint == "fuse(\"i\", \"i_2\").skew(\"i\", by=\"t\", factor=2) first, then write 'i' for 'i_2'"


@pytest.mark.parametrize(
    ("fn", "loops", "message"),
    [
        (lu, ("k", "i_2", "j"), "a sequence of S0 and S1 is between the loops 'k' and 'i_2'"),
        (lu_by_dots(), ("i", "j_2", "k_2"), "a sequence of S0, S1 and S2 is between the loops 'i' and 'j_2'"),
    ],
)
def test_nothing_is_said_where_nothing_helps(fn, loops, message):
    assert str(refused(lambda: Schedule(fn).tile(*loops, sizes=(4, 4, 4)))) == message
    with pytest.raises(IllegalSchedule):
        Schedule(fn).distribute(loops[0])


@nest
def empty(A: f64["n", "n"], n: size):
    for i in range(3, 3):
        for j in range(n):
            A[i, j] = 1.0
        for k in range(n):
            A[k, i] = 2.0


def test_statements_that_never_run_may_be_between_loops():
    error = refused(lambda: Schedule(empty).wavefront("i", "j"))
    assert error.message == "a sequence of statements that never run is between the loops 'i' and 'j'"
