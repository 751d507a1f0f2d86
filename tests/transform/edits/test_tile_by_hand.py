import pytest
from by_hand import matmul, stencil

from polysched import IllegalSchedule, InputError, Schedule


def test_loops_in_blocks():
    assert str(Schedule(matmul).tile("i", "j", sizes=(16, 32))) == """\
domain: { S[i, j, k] : 0 <= i < n and 0 <= j < n and 0 <= k < n }
  context: { : n >= 0 }
    band: permutable
      i_o: [S[i, j, k] -> floor((i)/16)] coincident
      j_o: [S[i, j, k] -> floor((j)/32)] coincident
      band: permutable
        i: [S[i, j, k] -> i] coincident
        j: [S[i, j, k] -> j] coincident
        k: [S[i, j, k] -> k]"""


def test_a_stencil_can_be_tiled_once_it_is_skewed():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(stencil).tile("i", "j", sizes=(4, 8))
    lines = str(raised.value).splitlines()
    assert lines[0] == (
        "tile(i, j, sizes=(4, 8)): flow dependence on a: S[i=0, j=8] must run before S[i=1, j=7] (N = 9)"
    )
    assert lines[-1] == 'hint: skew("j", by="i") first'
    assert Schedule(stencil).skew("j", by="i").tile("i", "j", sizes=(4, 8)).loops == ("i_o", "j_o", "i", "j")


def test_blocks_of_blocks_and_names():
    twice = Schedule(matmul).tile("i", sizes=(64,), names=("far",)).tile("i", sizes=(8,))
    assert twice.loops == ("far", "i_o", "i", "j", "k")


def test_blocks_of_negative_iterations_are_whole_too():
    schedule = Schedule(stencil).reverse("j").tile("j", sizes=(4,))
    assert "j_o: [S[i, j] -> floor((-j)/4)]" in str(schedule)


@pytest.mark.parametrize(
    ("loops", "sizes", "names", "message"),
    [
        (("i", "j"), (4,), (), "tile needs a positive size for each of i, j, not (4,)"),
        ((), (), (), "no loop is named"),
        (("i",), (0,), (), "tile needs a positive size for each of i, not (0,)"),
        (("i", "k"), (4, 4), (), "other loops are between i, k\nhint: reorder them first"),
        (("i",), (4,), ("j",), "the name 'j' is taken\nhint: the loops are: i, j, k"),
        (("i",), (4,), ("*",), "'*' is no name for a new loop\nhint: a name has letters, digits and _, as in 'i_o'"),
        (("i", "j"), (4, 4), ("a", "a"), "a name is given twice in a, a"),
        (("i", "j"), (4, 4), ("a",), "tile needs a name for each of the 2 loops over blocks, not ('a',)"),
    ],
)
def test_what_cannot_be_tiled(loops, sizes, names, message):
    with pytest.raises(InputError) as raised:
        Schedule(matmul).tile(*loops, sizes=sizes, names=names)
    assert str(raised.value) == message
