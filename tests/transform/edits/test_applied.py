"""polysched/transform/edits/base/applied.py: many edits, one check of the order that they leave."""

from __future__ import annotations

import random
from collections import Counter

import nests
import pytest
from by_hand import blur, matmul, stencil

from polysched import BudgetExceeded, Edit, IllegalSchedule, InputError, Options, PolyschedError, Schedule
from polysched.support import isl
from polysched.transform.edits.base import draft as draft_file
from polysched.transform.edits.base import edit as edit_file
from tests.edits import EDITS, check_results

GEMM = (
    Schedule(matmul)
    .tile("i", "j", "k", sizes=(64, 240, 256))
    .reorder("i_o", "k_o", "j_o")
    .tile("i", "j", sizes=(8, 24), names=("i_r", "j_r"))
    .reorder("j_r", "i_r", "k", "i", "j")
    .unroll("i")
    .vectorize("j")
    .parallel("i_o")
)


@pytest.fixture
def counts(monkeypatch) -> Counter[str]:
    """How often trees are checked, and put in normal form."""
    counted: Counter[str] = Counter()
    for file, name in ((edit_file, "first_violation"), (draft_file, "normal_form")):
        function = getattr(file, name)

        def counting(*args, name=name, function=function):
            counted[name] += 1
            return function(*args)

        monkeypatch.setattr(file, name, counting)
    return counted


def test_a_replay_checks_once(counts):
    replayed = GEMM.replay(matmul)
    assert counts == {"first_violation": 2}  # source order, and all edits together
    assert replayed.tree == GEMM.tree and replayed.history == GEMM.history


def test_edits_one_by_one_are_checked_one_by_one(counts):
    Schedule(matmul).reorder("k", "i").tile("k", sizes=(8,)).parallel("i")
    assert counts == {"first_violation": 4}


def test_a_normal_form_is_made_when_it_is_read(counts):
    schedule = Schedule(matmul).reorder("k", "i").tile("k", sizes=(8,))
    assert schedule.loops == ("k_o", "k", "j", "i") and counts["normal_form"] == 0
    assert str(schedule) == str(schedule) and counts["normal_form"] == 1


def test_an_order_in_between_may_be_illegal():
    there_and_back = [Edit.of("interchange", "i", "j"), Edit.of("interchange", "j", "i"), Edit.of("parallel", "j")]
    with pytest.raises(IllegalSchedule):
        Schedule(stencil).interchange("i", "j")
    assert Schedule(stencil).apply(there_and_back).tree == Schedule(stencil).parallel("j").tree


def test_the_edit_from_which_on_it_is_illegal_is_named_and_says_why():
    edits = [Edit.of("skew", "j", by="i"), Edit.of("tile", "i", "j", sizes=(4, 4)), Edit.of("reverse", "i_o")]
    more = [Edit.of("tile", "i", sizes=(2,)), Edit.of("unroll", "j"), Edit.of("unroll", "i")]
    start = Schedule(stencil)
    with pytest.raises(IllegalSchedule) as raised:
        start.apply([*edits, *more])
    assert raised.value.__notes__ == ['legal up to edit 2, illegal from edit 3 of the history: .reverse("i_o")']
    with pytest.raises(IllegalSchedule) as alone:
        start.apply(edits[:2]).reverse("i_o")
    assert str(raised.value) == str(alone.value)
    assert start.loops == ("i", "j") and not start.history.edits


def test_a_refusal_has_the_hint_that_it_has_alone():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(stencil).apply([Edit.of("tile", "i", "j", sizes=(2, 2)), Edit.of("parallel", "i_o")])
    assert raised.value.hint == 'skew("j", by="i") first'
    assert raised.value.__notes__ == ['in edit 1 of the history: .tile("i", "j", sizes=(2, 2))']


def test_what_cannot_be_made_of_an_illegal_tree_names_the_edit_before():
    edits = [Edit.of("parallel", "i"), Edit.of("tile", "i", sizes=(4,))]
    with pytest.raises(IllegalSchedule, match=r"^parallel\(i\): flow dependence on a"):
        Schedule(stencil).apply(edits)
    with pytest.raises(InputError, match="loop 'j' is marked parallel already") as raised:
        Schedule(stencil).apply([Edit.of("parallel", "j"), Edit.of("tile", "j", sizes=(4,))])
    assert raised.value.__notes__ == ['in edit 2 of the history: .tile("j", sizes=(4,))']


def test_what_is_shown_by_values_has_the_order_before_it_checked():
    edits = [Edit.of("interchange", "i", "j"), Edit.of("cache_read", "a", at="j"), Edit.of("interchange", "j", "i")]
    with pytest.raises(IllegalSchedule, match=r"^interchange\(i, j\): flow"):
        Schedule(stencil).apply(edits)


def test_edits_of_a_nest_with_copies_are_checked_by_its_values():
    edits = [
        Edit.of("tile", "i", sizes=(4,)),
        Edit.of("cache_read", "a", at="i_o"),
        Edit.of("unroll", "a0", factor=2),
        Edit.of("vectorize", "i"),
    ]
    one_by_one = Schedule(blur).tile("i", sizes=(4,)).cache_read("a", at="i_o").unroll("a0", factor=2).vectorize("i")
    assert Schedule(blur).apply(edits).tree == one_by_one.tree
    with pytest.raises(IllegalSchedule, match="parallel"):
        Schedule(stencil).cache_write("a", at="i").apply([Edit.of("unroll", "j", factor=2), Edit.of("parallel", "i")])


def test_what_is_not_decided_in_time_is_refused():
    start = Schedule(matmul, options=Options(isl_operations=20))
    with pytest.raises(IllegalSchedule, match=r'^\.reorder\("k", "i"\): whether that is legal was not decided in time'):
        start.apply([Edit.of("reorder", "k", "i"), Edit.of("parallel", "i")])


def test_a_normal_form_that_is_not_found_in_time_is_no_tree(monkeypatch):
    def failing(*_):
        raise isl.Error("original tableau does not correspond to original basic map")

    schedule = Schedule(matmul).reorder("k", "i")
    monkeypatch.setattr(draft_file, "normal_form", failing)
    with pytest.raises(BudgetExceeded, match=r"which loops are permutable .* was not decided in time: isl failed"):
        print(schedule)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Edit("melt"), "there is no edit 'melt'\nhint: the edits are: assume, "),
        (Edit("skew", ("j",)), '.skew("j"): missing a required argument: \'by\''),
        (Edit("skew", ("j", 1)), "'by' of skew is a string, not 1"),
    ],
)
def test_what_is_no_edit(edit, message):
    with pytest.raises(InputError) as raised:
        Schedule(stencil).apply([edit])
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("seed", range(60))
def test_random_edits_at_once_are_what_they_are_one_by_one(seed):
    """What is refused one by one may be legal at once, where a later edit mends it; then it computes the same."""
    rng = random.Random(seed)
    fn = nests.random_nest(rng, statements=3, depth=2)
    schedule = Schedule(fn)
    legal, proposed = schedule, []
    for _ in range(6):
        name = rng.choice(sorted(EDITS))
        args, kwargs = EDITS[name](rng, legal)
        try:
            legal = getattr(legal, name)(*args, **kwargs)
            proposed.append(legal.history.edits[-1])
        except IllegalSchedule:
            if rng.random() < 0.3:
                proposed.append(Edit.of(name, *args, **kwargs))
        except InputError:
            continue
    if len(legal.history.edits) == len(proposed):
        at_once = schedule.apply(proposed)
        assert at_once.tree == legal.tree and at_once.history == legal.history
        return
    try:
        check_results(fn, schedule.apply(proposed), rng)
    except PolyschedError as error:
        assert error.__notes__


def test_factors_of_many_edits_that_change_values_are_bounded_too():
    copies = [Edit.of("cache_read", name, at="i") for name in "AB"]
    skews = [Edit.of("skew", "j", by="i", factor=2**30), *[Edit.of("skew", "k", by="j", factor=2**31 - 1)] * 7]
    with pytest.raises(InputError, match="too large to count with"):
        Schedule(matmul).apply([*copies, *skews])
