from by_hand import stencil

from polysched import Schedule
from polysched.config.plain import called
from polysched.transform.edits.base.edit import Step, after, first, text_of
from polysched.transform.edits.order.skew import skew
from polysched.transform.edits.order.tile import tile


def test_a_step_is_what_it_says():
    steps = [Step.of(skew, "j", by="i"), Step.of(skew, "j", by="i", factor=2)]
    assert text_of(steps) == 'skew("j", by="i").skew("j", by="i", factor=2)'
    assert after(Schedule(stencil).draft, steps).tree == Schedule(stencil).skew("j", by="i", factor=3).tree


def test_arguments_are_as_in_python():
    assert called("tile", "i", sizes=(4,), names=("a", "b")) == 'tile("i", sizes=(4,), names=("a", "b"))'
    assert called("cache_read", "A", at=None) == 'cache_read("A", at=None)'


def test_an_edit_after_steps():
    text, edit = first(
        Schedule(stencil).draft, [Step.of(skew, "j", by="i")], lambda draft: tile(draft, "i", "j", sizes=(4, 8))
    )
    assert text == 'skew("j", by="i") first'
    assert edit().tree == Schedule(stencil).skew("j", by="i").tile("i", "j", sizes=(4, 8)).tree
