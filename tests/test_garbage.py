"""The garbage collector is called for less often while a nest is compiled, and as before then."""

from __future__ import annotations

import gc
import threading

import pytest

import polysched as ps
from polysched import pipeline
from polysched.operators.examples import stencil
from polysched.support.limits import rare_garbage


@pytest.fixture(autouse=True)
def usual():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_usual_thresholds_come_back():
    with rare_garbage:
        assert gc.get_threshold() == (50_000, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)
    with pytest.raises(ZeroDivisionError), rare_garbage:
        raise ZeroDivisionError
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("thresholds", [(0, 10, 10), (100_000, 5, 5)])
def test_who_collects_less_often_still_is_left_alone(thresholds):
    gc.set_threshold(*thresholds)
    with rare_garbage:
        assert gc.get_threshold() == thresholds
    assert gc.get_threshold() == thresholds


def test_they_come_back_when_the_last_thread_is_out():
    is_inside, may_end = threading.Event(), threading.Event()

    def other() -> None:
        with rare_garbage:
            is_inside.set()
            may_end.wait(10)

    thread = threading.Thread(target=other)
    with rare_garbage:
        thread.start()
        assert is_inside.wait(10)
    assert gc.get_threshold() == (50_000, 10, 10)
    may_end.set()
    thread.join()
    assert gc.get_threshold() == (700, 10, 10)


def test_a_nest_is_compiled_so(monkeypatch):
    seen, compiled = [], pipeline._compiled
    monkeypatch.setenv("POLYSCHED_RESULTS", "off")
    monkeypatch.setattr(pipeline, "_compiled", lambda *given: (seen.append(gc.get_threshold()), compiled(*given))[1])
    ps.optimize(stencil)
    assert seen == [(50_000, 10, 10)] and gc.get_threshold() == (700, 10, 10)
