"""Processes that work side by side, each under limits of time and memory, and die alone.

with Pool(2, memory=8 << 30) as pool:
    pool.map(45.0, build, [(job, one), (job, other)])       what each gave, or the error that says why not
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from polysched.errors import PolyschedError
from polysched.support.worker import Worker


class Pool:
    """Use it as a context manager, which ends all of them, whatever they do; so does a Ctrl-C."""

    def __init__(self, count: int, memory: int):
        self._workers = [Worker(memory) for _ in range(count)]

    def __enter__(self) -> Pool:
        for worker in self._workers:  # forked before there are threads
            worker.call(_START, os.getpid)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.close()

    def map(self, seconds: float, fn: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What each call gives, in order; a PolyschedError or a RuntimeError that it raised stands in its place."""
        free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            free.put(worker)

        def called(call: tuple[Any, ...]) -> Any:
            worker = free.get()
            try:
                return worker.call(seconds, fn, *call)
            except (PolyschedError, RuntimeError) as error:
                return error
            finally:
                free.put(worker)

        threads = ThreadPoolExecutor(len(self._workers))
        try:
            return list(threads.map(called, calls))
        except BaseException:  # a Ctrl-C: threads wait for processes, which are to end
            threads.shutdown(wait=False, cancel_futures=True)
            self.__exit__()
            raise
        finally:
            threads.shutdown(wait=False)


_START = 60.0
