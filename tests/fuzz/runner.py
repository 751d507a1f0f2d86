"""Runs checks of seeds in processes that may die or hang, and counts how they end.

Each process runs one seed after the other and is replaced when it dies, when a seed takes too long, and after some
hundred seeds, since isl never gives back all memory.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from resource import RLIMIT_AS, RUSAGE_CHILDREN, RUSAGE_SELF, getrusage, setrlimit

from polysched.errors import InputError, VerificationError
from tests.fuzz.kinds import KINDS, Check
from tests.fuzz.outcome import Refused

Task = tuple[str, int]  # a kind and a seed

LATE = 30.0  # seconds of a processor
_HOPELESS = 300.0  # by the clock on the wall
_SEEDS_A_PROCESS = 200
_BYTES = 12 << 30
_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Ended:
    """How one seed ended."""

    kind: str
    seed: int
    how: str  # "right", "refused", "wrong", "crash" or "late"
    seconds: float
    text: str = ""  # what is wrong, or why it was refused


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    task: Task | None = None
    since: float = 0.0
    done: int = 0


def run(tasks: Iterator[Task], jobs: int, report: Callable[[Ended], None]) -> Counter[tuple[str, str]]:
    """How often each kind ended how; `report` is told of each seed."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin would count as time of the seed's
    counts: Counter[tuple[str, str]] = Counter()
    workers = [_started() for _ in range(jobs)]
    busy = [worker for worker in workers if _feed(worker, tasks)]
    while busy:
        wait([worker.pipe for worker in busy], timeout=1.0)
        for worker in list(busy):
            ended = _ended(worker)
            if ended is None:
                continue
            counts[ended.kind, ended.how] += 1
            report(ended)
            if ended.how in ("crash", "hang") or worker.done >= _SEEDS_A_PROCESS:
                worker.process.kill()
                busy.remove(worker)
                worker = _started()
                busy.append(worker)
            if not _feed(worker, tasks):
                worker.process.kill()
                busy.remove(worker)
    return counts


def _started() -> _Worker:
    ours, theirs = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _feed(worker: _Worker, tasks: Iterator[Task]) -> bool:
    worker.task, worker.since = next(tasks, None), time.monotonic()
    if worker.task is not None:
        worker.pipe.send(worker.task)
    return worker.task is not None


def _ended(worker: _Worker) -> Ended | None:
    """How the worker's seed ended; None if it is under way."""
    assert worker.task is not None
    kind, seed = worker.task
    seconds = time.monotonic() - worker.since
    try:
        if worker.pipe.poll():
            how, text, seconds = worker.pipe.recv()
            worker.done += 1
            return Ended(kind, seed, "late" if how in ("right", "refused") and seconds > LATE else how, seconds, text)
    except EOFError:
        worker.process.join()
        return Ended(kind, seed, "crash", seconds, f"the process died: {worker.process.exitcode}")
    return Ended(kind, seed, "hang", seconds) if seconds > _HOPELESS else None


def _serve(pipe: Connection) -> None:
    setrlimit(RLIMIT_AS, (_BYTES, _BYTES))
    while True:
        kind, seed = pipe.recv()
        start = _used()
        how, text = _outcome(KINDS[kind], seed)
        pipe.send((how, text, _used() - start))


def _used() -> float:
    """Seconds of a processor, those of compilers included: the clock on the wall says how busy the machine is."""
    return sum(getrusage(who).ru_utime + getrusage(who).ru_stime for who in (RUSAGE_SELF, RUSAGE_CHILDREN))


def _outcome(check: Check, seed: int) -> tuple[str, str]:
    try:
        check(seed)
    except Refused as reason:
        return "refused", str(reason)
    except InputError as reason:
        return "refused", reason.message
    except (AssertionError, VerificationError) as error:
        return "wrong", str(error)
    except Exception:
        return "raised", traceback.format_exc(limit=-6)
    return "right", ""
