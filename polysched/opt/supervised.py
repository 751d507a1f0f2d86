"""A file rewritten by a process that may die: of clang, of a deep recursion, of too much memory or time.

It reads and compiles region by region. One that fails, or brings it down, keeps its text, and the others go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from polysched.errors import BudgetExceeded, InputError, PolyschedError
from polysched.frontend.c.file.source import require_cpp
from polysched.frontend.c.read import CFile, open_c
from polysched.opt.regions import Job, Outcome, Rewritten, assembled, outcome_of, place_of
from polysched.support.entry import entry
from polysched.support.worker import Worker

SECONDS = 45.0  # for each region: beyond the budget of `optimize`, for what that does not reach into
MEMORY = 8 << 30


@dataclass(frozen=True, kw_only=True)
class Input:
    """A C file, and how it is to be read."""

    path: str
    data: bytes
    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    pure: tuple[str, ...] = ()
    is_for_cpp: bool = False  # it must be C++, too


def rewrite_supervised(given: Input, job: Job, *, keep_going: bool = True) -> Rewritten:
    """As `rewrite`, but a region that cannot be compiled keeps its text; InputError for it unless `keep_going`.

    InputError also for what is wrong with the whole file.
    """
    with Worker(MEMORY) as worker:
        try:
            spans: Sequence[tuple[int, int, str]] = worker.call(SECONDS, _spans, given)
        except (BudgetExceeded, RuntimeError) as error:
            raise InputError(f"{given.path} cannot be read: {error}") from error
        if unknown := job.scripts.keys() - (names := [name for _, _, name in spans]):
            raise InputError(f"'{given.path}' has no region '{min(unknown)}'", hint=f"it has: {', '.join(names)}")
        outcomes: list[Outcome] = []
        for k, (begin, end, name) in enumerate(spans):
            try:
                outcomes.append(worker.call(SECONDS, _outcome, given, job, k))
            except (PolyschedError, RuntimeError) as error:
                why, place = str(error), place_of(given.path, given.data, begin, name)
                if isinstance(error, RuntimeError):
                    why = f"polysched failed: {error}"
                if not why.startswith(f"{given.path}:"):
                    why = f"{place}: {why}"
                if not keep_going:
                    raise InputError(why) from error
                outcomes.append(Outcome(begin=begin, end=end, place=place, summary=why, is_refused=True))
    return assembled(given.data, outcomes, job)


@entry
def _spans(given: Input) -> list[tuple[int, int, str]]:
    if given.is_for_cpp:
        require_cpp(given.path, given.data, given.include, given.define)
    return list(_opened(given).spans)


@entry
def _outcome(given: Input, job: Job, k: int) -> Outcome:
    return outcome_of(_opened(given).region(k), given.data, job)


@lru_cache(maxsize=1)
def _opened(given: Input) -> CFile:
    return open_c(given.path, given.include, given.define, given.pure, given.data)
