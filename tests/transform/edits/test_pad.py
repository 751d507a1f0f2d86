import pytest
from by_hand import matmul
from edited import assert_same_results

from polysched import InputError, Schedule
from polysched.ir.nodes import Const

CACHED = Schedule(matmul).tile("i", "j", "k", sizes=(4, 8, 2)).cache_read("B", at="k_o")


def test_rows_are_further_apart():
    padded = CACHED.pad("B_c", 1)
    assert CACHED.draft.scop.arrays[-1].shape == (Const(2), Const(8))
    assert padded.draft.scop.arrays[-1].shape == (Const(2), Const(9))
    assert padded.tree == CACHED.tree
    assert_same_results(matmul.function, padded)
    assert_same_results(matmul.function, padded.double_buffer("B_c").pad("B_c", 0, extra=3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("B_c", 2), "'B_c' has no dimension 2\nhint: it has 2, counted from 0"),
        (("B_c", 1, -1), "pad by -1 elements changes nothing, or takes some away\nhint: give a positive number"),
        (
            ("B", 1),
            "'B' is a parameter: where it lives, and its shape, is up to the caller\n"
            "hint: cache_read('B', at=loop) makes an array of the loop's",
        ),
    ],
)
def test_what_cannot_be_padded(arguments, message):
    with pytest.raises(InputError) as raised:
        CACHED.pad(*arguments)
    assert str(raised.value) == message
