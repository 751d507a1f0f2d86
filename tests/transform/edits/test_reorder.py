import pytest
from by_hand import matmul, stencil
from nests import seidel_2d

from polysched import IllegalSchedule, Schedule


def test_loops_change_places():
    assert str(Schedule(matmul).reorder("k", "i", "j")) == """\
domain: { S[i, j, k] : 0 <= i < n and 0 <= j < n and 0 <= k < n }
  context: { : n >= 0 }
    band: permutable
      k: [S[i, j, k] -> k]
      i: [S[i, j, k] -> i] coincident
      j: [S[i, j, k] -> j] coincident"""


def test_loops_that_are_not_named_stay():
    assert Schedule(matmul).reorder("k", "i").loops == ("k", "j", "i")
    assert Schedule(matmul).reorder("j", "i").reorder("i", "j").tree == Schedule(matmul).tree
    assert Schedule(matmul).interchange("i", "k").loops == Schedule(matmul).interchange("k", "i").loops


def test_an_order_that_breaks_a_dependence_is_refused():
    before = Schedule(stencil)
    with pytest.raises(IllegalSchedule) as raised:
        before.interchange("i", "j")
    head, *source = str(raised.value).splitlines()
    assert head == (
        "interchange(i, j): flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)"
    )
    assert source[1].strip() == "a[i + 1, j + 1] = a[i, j + 2] + a[i, j + 1] + a[i, j]"
    assert before.loops == ("i", "j")  # nothing has changed


@pytest.mark.parametrize(
    ("edit", "hint"),
    [
        (lambda s: s.interchange("t", "i"), 'skew("i", by="t") first'),
        (lambda s: s.reorder("t", "j", "i"), 'skew("j", by="i") first'),
        (lambda s: s.reorder("j", "i", "t"), 'skew("i", by="t").skew("j", by="t").skew("j", by="i") first'),
    ],
)
def test_the_skews_that_it_needs_are_named(edit, hint):
    seidel = Schedule(seidel_2d())
    with pytest.raises(IllegalSchedule) as raised:
        edit(seidel)
    assert raised.value.hint == hint
    edit(eval(f"seidel.{hint.removesuffix(' first')}"))
