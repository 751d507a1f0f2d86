"""polysched/support/trace.py: every step is timed, recorded, dumped on request, and named in an exception."""

from __future__ import annotations

import pytest

from polysched.support.trace import record, step


def double(value: int, times: int = 1, *, plus: int = 0) -> int:
    return value * 2**times + plus


def keep(value: object) -> object:
    return value


def test_a_step_returns_what_its_function_does_and_is_recorded():
    with record() as events:
        assert step("double", double, 5, 2, plus=1) == 21
    (event,) = events
    assert (event.name, event.changed, event.value) == ("double", True, 21) and event.seconds >= 0


def test_the_same_object_back_means_unchanged():
    with record() as events:
        step("keep", keep, [])
        step("copy", list, [])
    assert [event.changed for event in events] == [False, True]


def test_nothing_is_recorded_outside_of_the_block():
    step("before", double, 1)
    with record() as events:
        pass
    step("after", double, 1)
    assert events == []


def test_steps_inside_of_steps_come_first():
    with record() as events:
        step("outer", lambda value: step("inner", double, value) + 1, 1)
    assert [event.name for event in events] == ["inner", "outer"]


def test_recorders_may_be_nested():
    with record() as outer:
        step("one", double, 1)
        with record() as inner:
            step("two", double, 1)
        step("three", double, 1)
    assert [event.name for event in outer] == ["one", "two", "three"]
    assert [event.name for event in inner] == ["two"]


def test_a_recorder_ends_with_its_block_even_by_an_exception():
    with pytest.raises(ZeroDivisionError), record() as events:
        step("one", double, 1)
        step("fail", lambda value: value / 0, 1)
    step("later", double, 1)
    assert [event.name for event in events] == ["one"]


def test_an_exception_says_which_step_and_on_what_from_the_inside_out():
    with pytest.raises(ZeroDivisionError) as error:
        step("outer", lambda value: step("inner", lambda x: x / 0, value + 1), 1)
    assert error.value.__notes__ == ["in step 'inner', on: 2", "in step 'outer', on: 1"]


def test_a_long_input_is_cut_and_put_on_one_line():
    with pytest.raises(ZeroDivisionError) as error:
        step("fail", lambda text: 1 / 0, "a\n  b " + "x" * 300)
    assert error.value.__notes__ == ["in step 'fail', on: a b " + "x" * 196 + " ..."]


@pytest.mark.parametrize(
    ("wanted", "dumped"),
    [
        ("", ""),
        ("double", "--- double\n6\n"),
        ("keep", "--- keep\n(unchanged)\n"),
        ("keep,double", "--- double\n6\n--- keep\n(unchanged)\n"),
        ("all", "--- double\n6\n--- keep\n(unchanged)\n"),
        ("doub", ""),
        ("doubled", ""),
    ],
)
def test_the_environment_names_the_steps_to_dump(wanted, dumped, monkeypatch, capsys):
    monkeypatch.setenv("POLYSCHED_DUMP", wanted)
    step("double", double, 3)
    step("keep", keep, "text")
    captured = capsys.readouterr()
    assert captured.err == dumped and captured.out == ""


def test_without_the_variable_nothing_is_dumped(monkeypatch, capsys):
    monkeypatch.delenv("POLYSCHED_DUMP", raising=False)
    step("double", double, 3)
    assert capsys.readouterr().err == ""
