"""Jobs in processes of their own, several at a time, of which one has the GPU; one that takes too long is ended.

    for job, measured in run_all(jobs, measure, arch, ...):
        print(measured)                                         as they come
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from benchmarks.gpu.measure import Job, Measured

_BEFORE = 60.0  # seconds to compile all variants, and to run the C target
Worker = Callable[[Job, str, Connection], None]


@dataclass
class _Running:
    job: Job
    process: BaseProcess
    pipe: Connection
    until: float  # on the clock of time.monotonic
    left: list[str] = field(default_factory=list)  # variants that nothing is known of
    is_ready: bool = False
    has_ended: bool = False


def run_all(
    jobs: Sequence[Job], work: Worker, arch: str, *, at_once: int, limit: float, deadline: float
) -> Iterator[tuple[Job, Measured]]:
    """What the jobs send, as it comes; a variant may take `limit` seconds on the GPU, what is before a minute.

    Nothing goes on after `deadline`, of time.monotonic().
    """
    context = multiprocessing.get_context("spawn")
    os.environ.setdefault("OMP_NUM_THREADS", "4")  # of each process
    waiting, running = list(jobs), list[_Running]()
    owner: _Running | None = None  # of the GPU
    while waiting or running:
        now = time.monotonic()
        while waiting and len(running) < at_once and now < deadline:
            running.append(_start(context, waiting.pop(0), work, arch, min(deadline, now + _BEFORE)))
        if not running:
            break
        wait([each.pipe for each in running], timeout=0.2)
        for each in list(running):
            for message in _messages(each):
                if message == "ready":
                    each.is_ready, each.until = True, deadline
                else:
                    each.left.remove(message.variant)
                    each.until = min(deadline, time.monotonic() + limit)
                    yield each.job, message
            if reason := _is_over(each):
                running.remove(each)
                owner = None if owner is each else owner
                yield from ((each.job, Measured(each.job.name, variant, fault=reason)) for variant in each.left)
        if owner is None and (ready := [each for each in running if each.is_ready]):
            owner = ready[0]
            owner.until = min(deadline, time.monotonic() + limit)
            owner.pipe.send("go")
    for job in waiting:
        yield from ((job, Measured(job.name, variant, fault="not run: out of time")) for variant in job.variants)


def _start(context, job: Job, work: Worker, arch: str, until: float) -> _Running:  # type: ignore[no-untyped-def]
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(job, arch, theirs), daemon=True)
    process.start()
    theirs.close()
    return _Running(job, process, ours, until, list(job.variants))


def _messages(running: _Running) -> Iterator[str | Measured]:
    try:
        while running.pipe.poll():
            yield running.pipe.recv()
    except (EOFError, ConnectionResetError):
        running.has_ended = True


def _is_over(running: _Running) -> str:
    """Why the process runs no more, or ""; one that has had its time is ended."""
    if running.has_ended:
        running.process.join()
        return f"its process ended with {running.process.exitcode}"
    if time.monotonic() > running.until:
        running.process.kill()
        running.process.join()
        return "took too long"
    return ""
