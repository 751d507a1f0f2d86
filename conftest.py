"""Tests see the compiler of now, not what it once gave, and whole tracebacks; those that run CUDA text on the CPU are
skipped, with the reason, where there is no C++ compiler."""

from __future__ import annotations

import doctest
import os
from collections.abc import Iterator

import pytest

from polysched.errors import ToolchainError

os.environ["POLYSCHED_RESULTS"] = "off"
os.environ.setdefault("POLYSCHED_TRACEBACK", "full")  # what fails here is looked for in our code


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    yield from _skipping()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    yield from _skipping()


def _skipping() -> Iterator[None]:
    try:
        yield
    except ToolchainError as error:
        _skip_or_raise(error)
    except doctest.UnexpectedException as failure:
        _skip_or_raise(failure.exc_info[1])


def _skip_or_raise(error: BaseException) -> None:
    if str(error).startswith("no C++ compiler found"):
        pytest.skip(str(error))
    raise
