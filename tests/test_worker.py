"""polysched/support/worker.py: calls that run away or die end, and the next one is served."""

from __future__ import annotations

import ctypes
import os
import sys
import time

import pytest

from polysched.errors import BudgetExceeded, InputError
from polysched.support.worker import Worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what ends a process differs")


def square(x):
    return x * x


def process():
    return os.getpid()


def refuse(message):
    raise InputError(message, hint="write less")


def fail():
    raise KeyError("x")


def crash():
    ctypes.string_at(0)


def leave():
    os._exit(3)


def hoard():
    return len(bytearray(64 << 30))


def test_one_process_serves_many_calls():
    with Worker() as worker:
        assert worker.call(20, square, 7) == 49
        assert worker.call(20, process) == worker.call(20, process) != os.getpid()


@pytest.mark.parametrize(
    ("seconds", "fn", "arguments", "message"),
    [
        (0.2, time.sleep, (60,), "it took more than 0.2 s"),
        (20, crash, (), "the process that compiles it died, as of a stack overflow"),
        (20, leave, (), "the process that compiles it died of status 3"),
        (20, hoard, (), "it needs more than 16.0 GiB of memory"),
    ],
    ids=["slow", "crash", "exit", "memory"],
)
def test_a_death_is_a_reason_and_the_next_call_is_served(seconds, fn, arguments, message):
    with Worker(memory=16 << 30) as worker:
        with pytest.raises(BudgetExceeded, match=f"^{message}$"):
            worker.call(seconds, fn, *arguments)
        assert worker.call(20, square, 3) == 9


def test_errors_are_those_of_the_call():
    with Worker() as worker:
        with pytest.raises(InputError, match="no nest\nhint: write less"):
            worker.call(20, refuse, "no nest")
        with pytest.raises(RuntimeError, match="KeyError: 'x'"):
            worker.call(20, fail)
        assert worker.call(20, square, 3) == 9


def test_nothing_is_left_of_it():
    with Worker() as worker:
        left = worker.call(20, process)
    with pytest.raises(ProcessLookupError):
        os.kill(left, 0)
