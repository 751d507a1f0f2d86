import pytest
from by_hand import blur, matmul, stencil

from polysched import InputError, Schedule, f64, nest, optimize, size
from polysched.transform.edits.base.loops import chain, loop, loops, matching, nested


@nest
def several(a: f64["n", "n"], b: f64["n"], n: size):
    for i in range(n):
        for j in range(n):
            a[i, j] = a[i, j] + 1.0
        for j in range(n):
            b[i] = b[i] + a[i, j]
    for i in range(n - 1, -1, -1):
        b[i] = b[i] * 2.0


TREE = Schedule(several).draft.nested


def test_loops_are_called_by_what_they_count_and_numbered_where_that_is_taken():
    assert Schedule(several).loops == ("i", "j", "j_2", "i_2")
    assert Schedule(stencil).skew("j", by="i").loops == ("i", "j")  # a name stays with its loop
    assert Schedule(stencil, "ilp").loops == ("i", "i+j")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("j*", ("j", "j_2")),
        ("S1.j", ("j_2",)),  # as the user wrote it
        ("S0.*", ("i", "j")),
        ("S[01].i", ("i",)),
        ("j_2", ("j_2",)),
    ],
)
def test_patterns(pattern, found):
    assert matching(TREE, pattern) == found


def test_what_a_loop_knows():
    inner = loop(TREE, "j_2")
    assert inner.statements == ("S1",)
    assert [band.members[0].name for band in inner.around] == ["i"]
    assert loop(TREE, "S1.j") == inner


def test_a_band_of_several_members_is_taken_apart_and_names_stay():
    tree = nested(optimize(stencil).scheduled.tree)
    assert [each.name for each in loops(tree)] == ["i", "i+j"]
    assert nested(tree) == tree


def test_a_name_that_a_number_was_given_to_is_not_taken_twice():
    assert Schedule(several).tile("j", sizes=(4,), names=("j_3",)).loops == ("i", "j_3", "j", "j_2", "i_2")
    with pytest.raises(InputError, match="the name 'j_2' is taken\nhint: the loops are: i, j, j_2, i_2"):
        Schedule(several).tile("j", sizes=(4,), names=("j_2",))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("k", "there is no loop 'k'\nhint: the loops are: i, j, j_2, i_2"),
        ("j?2", None),
        ("S*.j", "'S*.j' may be any of the loops j, j_2\nhint: name one of them"),
    ],
)
def test_one_loop_is_found_or_none(name, message):
    if message is None:
        assert loop(TREE, name).name == "j_2"
        return
    with pytest.raises(InputError) as raised:
        loop(TREE, name)
    assert str(raised.value) == message


def test_no_loop_fits_a_pattern():
    with pytest.raises(InputError, match=r"no loop fits 'S3.\*'\nhint: the loops are: i, j, j_2, i_2"):
        matching(TREE, "S3.*")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("i", "j"), "a sequence of S0 and S1 is between the loops 'i' and 'j'"),
        (("j", "j_2"), "loop 'j_2' is not inside of loop 'j'"),
        (("i", "i"), "a loop is named twice in i, i"),
    ],
)
def test_loops_that_are_not_nested(names, message):
    with pytest.raises(InputError) as raised:
        chain(TREE, names)
    assert str(raised.value) == message


def test_a_mark_between_loops_is_told():
    tree = Schedule(matmul).parallel("j").draft.nested
    with pytest.raises(InputError, match="the mark parallel is between the loops 'i' and 'k'\nhint: edit loops before"):
        chain(tree, ("i", "k"))


@pytest.mark.parametrize(
    "edit",
    [
        lambda schedule: schedule.interchange("i", "j"),
        lambda schedule: schedule.reorder("j", "i"),
        lambda schedule: schedule.tile("i", "j", sizes=(8, 8)),
        lambda schedule: schedule.diamond("i", "j", 8),
        lambda schedule: schedule.wavefront("i", "j"),
        lambda schedule: schedule.split("i", 8),
    ],
)
def test_a_mark_stays_with_its_loop(edit):
    """It would be about another one if loops around could come or go."""
    with pytest.raises(InputError) as raised:
        edit(Schedule(matmul).parallel("i"))
    assert str(raised.value) == "loop 'i' is marked parallel already\nhint: edit loops before they are marked"


def test_loops_of_other_nests():
    assert Schedule(matmul).loops == ("i", "j", "k")
    assert Schedule(blur).loops == ("i", "i_2")


@nest
def down(a: f64["n"], n: size):
    for i in range(n - 1, -1, -1):
        for j in range(n - 1, 0, -2):
            a[i] += a[j]


def test_a_loop_that_runs_down_is_called_by_its_iterator():
    schedule = Schedule(down)
    assert schedule.loops == ("i", "j")
    assert schedule.split("j", 4).loops == ("i", "j_o", "j")
    with pytest.raises(InputError, match="there is no loop '-j'"):
        schedule.unroll("-j")
