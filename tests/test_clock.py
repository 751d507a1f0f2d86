"""polysched/support/clock.py and isl.within: limits by the clock that reach into single calls of isl."""

from __future__ import annotations

import math
import os
import random
import signal
import threading
import time
from itertools import pairwise

import pytest

from polysched.errors import BudgetExceeded
from polysched.support import clock, isl

pytestmark = pytest.mark.skipif(isl._CONTEXT is None, reason="this system has no POSIX timers")


def slow() -> isl.Map:
    """A relation of which the lexicographic maximum takes isl minutes, in one call."""
    rng = random.Random(0)
    union = isl.Map("[n] -> { [i, j] -> [a, b, c, d, e] : false }")
    for _ in range(40):
        sums = [" + ".join(f"{rng.randint(-5, 5)}{x}" for x in "abcde") for _ in range(6)]
        facts = [f"{total} >= {rng.randint(-50, 50)}" for total in sums]
        facts += ["0 <= a, b, c, d, e <= n", "(a + b + i) mod 3 = 1", "(c + 2d + j) mod 5 = 2"]
        union = union.union(isl.Map(f"[n] -> {{ [i, j] -> [a, b, c, d, e] : {' and '.join(facts)} }}"))
    return union


SLOW = slow()


def works() -> bool:
    return isl.Set("{ [i] : 0 <= i < 3 }").lexmax().is_equal(isl.Set("{ [2] }"))


def test_one_call_of_isl_ends_in_time_and_the_next_works():
    start = time.monotonic()
    with pytest.raises(BudgetExceeded, match="isl ran out of time"), isl.within(0.3):
        SLOW.lexmax()
    assert time.monotonic() - start < 10  # 0.35 s on an idle machine
    assert works()


def test_the_limit_outside_holds_inside_of_others():
    survived = 0
    with pytest.raises(BudgetExceeded, match="isl ran out of time"), isl.within(0.7):
        for _ in range(100):
            with pytest.raises(BudgetExceeded), isl.within(0.2):
                SLOW.lexmax()
            assert works()
            survived += 1
    assert 1 <= survived <= 3
    assert works()


def test_an_inner_limit_that_is_longer_changes_nothing():
    with pytest.raises(BudgetExceeded), isl.within(0.2), isl.within(100.0):
        SLOW.lexmax()
    assert works()


def test_a_block_that_ends_in_time_leaves_no_alarm():
    with isl.within(0.05):
        assert works()
    time.sleep(0.1)
    assert works()


def test_a_ring_after_the_last_call_of_isl_does_no_harm():
    with isl.within(0.05):
        assert works()
        time.sleep(0.2)
    assert works()


def test_no_time_at_all_is_an_error_at_once():
    with pytest.raises(BudgetExceeded), isl.within(0.0):
        pytest.fail("the block must not run")


def test_errors_of_isl_for_other_reasons_stay_what_they_are():
    with pytest.raises(isl.Error), isl.within(10.0):
        isl.Set("{ [i] : ").is_empty()
    assert works()


def test_a_failure_inside_of_isl_leaves_it_undecided():
    with pytest.raises(BudgetExceeded, match=r"^isl failed: some assertion$"), isl.within(10.0):
        assert works()
        raise isl.Error("some assertion")
    assert works()


def test_a_question_that_takes_too_long_has_the_safe_answer():
    assert isl.decided(lambda: SLOW.lexmax().is_empty(), unknown="unknown", seconds=0.2) == "unknown"
    assert isl.decided(lambda: SLOW.is_empty(), unknown="unknown") is False


def test_a_child_of_fork_has_alarms_of_its_own():
    with isl.within(0.05):
        pass
    child = os.fork()
    if child == 0:
        try:
            with isl.within(0.2):
                SLOW.lexmax()
        except BudgetExceeded:
            os._exit(0 if works() else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_child_forked_while_another_thread_has_its_turn_goes_on():
    begun, over = threading.Event(), threading.Event()

    def hold() -> None:
        with isl.within(100.0):
            begun.set()
            over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        with isl.within(100.0):
            os._exit(0 if works() else 1)
    over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_child_forked_inside_of_a_limit_leaves_it_in_peace():
    with isl.within(100.0):
        child = os.fork()
    if child == 0:
        os._exit(0 if works() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_limit_is_that_of_its_thread_alone():
    left: list[float] = []
    with clock.running(0.5):
        thread = threading.Thread(target=lambda: left.append(clock.Deadline.after(20.0).left))
        thread.start()
        thread.join()
    assert left[0] > 10


def test_deadlines_are_within_what_runs():
    assert clock.left() == math.inf
    with clock.running(100.0) as outer, clock.running(200.0) as inner:
        assert inner.end == outer.end
        assert clock.Deadline.after(1000.0).end == outer.end
        ends = [clock.Deadline.after(seconds).end for seconds in (10.0, 20.0, 30.0)]
        assert all(one < other for one, other in pairwise(ends))
        clock.check("a search")
    with clock.running(0.0), pytest.raises(BudgetExceeded, match="a search ran out of time"):
        clock.check("a search")
    assert clock.left() == math.inf
