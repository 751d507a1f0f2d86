import pytest
from by_hand import matmul
from edited import assert_same_results

from polysched import IllegalSchedule, InputError, Schedule

CACHED = Schedule(matmul).tile("i", "j", "k", sizes=(4, 8, 2)).cache_read("A", at="j_o")


def test_an_array_moves_to_shared_memory_and_to_that_of_all():
    assert [CACHED.set_scope("A_c", scope).draft.scop.arrays[-1].space for scope in ("shared", "local")] == [
        "shared",
        "private",
    ]
    moved = CACHED.set_scope("A_c", "global")
    assert "storage" not in str(moved)
    assert_same_results(matmul.function, moved)


def test_iterations_that_overwrite_each_other_are_refused():
    with pytest.raises(IllegalSchedule) as raised:
        CACHED.parallel("i_o").set_scope("A_c", "global")
    assert str(raised.value).splitlines()[0] == (
        "set_scope(A_c, global): anti dependence on A_c: S[i=0, j=0, k=0] must run before "
        "load_A[i_o=1, j_o=0, A0=4, A1=0], but iterations of loop 'i_o' would run at the same time (n = 5)"
    )


@pytest.mark.parametrize(
    ("array", "scope", "message"),
    [
        (
            "A",
            "shared",
            "'A' is a parameter: where it lives, and its shape, is up to the caller\n"
            "hint: cache_read('A', at=loop) makes an array of the loop's",
        ),
        ("D", "shared", "there is no array 'D'\nhint: those of the nest's own are: A_c"),
        ("A_c", "texture", "there is no scope 'texture'\nhint: the scopes are: private, local, shared, global"),
    ],
)
def test_wrong_arguments(array, scope, message):
    with pytest.raises(InputError) as raised:
        CACHED.set_scope(array, scope)
    assert str(raised.value) == message


def test_an_array_of_all_does_not_go_back():
    with pytest.raises(InputError) as raised:
        CACHED.set_scope("A_c", "global").set_scope("A_c", "private")
    assert str(raised.value) == (
        "'A_c' belongs to no loop\nhint: privatize(\"A_c\", at=\"i_o\") makes one for each iteration"
    )
    again = CACHED.set_scope("A_c", "global").privatize("A_c", at="i_o")
    assert "mark: storage:A_c_p" in str(again)
