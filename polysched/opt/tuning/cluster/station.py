"""What a worker of a cluster does: it says which machine it is, and places, builds and times points of a nest there.

Kernels are built and timed in processes of the worker's, under the same limits and by the same lock of the machine as
at home: workers on one machine build side by side, and time one after the other.
"""

from __future__ import annotations

import multiprocessing
import pickle
import shutil
import subprocess
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

from polysched.config.heuristics.tuning import CONFIRMED
from polysched.config.machine import Machine, machine
from polysched.errors import PolyschedError, ToolchainError
from polysched.opt.tuning.alone import Turns
from polysched.opt.tuning.build import Built, Candidate, Job, build, place
from polysched.opt.tuning.crew import BUILDING, MEMORY, PLACING, measured
from polysched.opt.tuning.measure import Stopwatch
from polysched.opt.tuning.ratio import Ratio
from polysched.results.tuned.database import Measurement
from polysched.results.tuned.task import Place, this_place
from polysched.schedule.space import Point
from polysched.support.worker import Worker


@dataclass(frozen=True)
class Advert:
    """What a worker says of itself."""

    place: Place  # what measurements depend on
    machine: Machine  # what schedules are made for
    gpus: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The name of a resource of Dask's: what work for this kind of machine asks for."""
        return f"polysched on {self.place}"

    def __str__(self) -> str:
        return ", ".join((str(self.place), *self.gpus))


def advertised() -> Advert:
    """This worker's; ToolchainError if it cannot measure."""
    if multiprocessing.current_process().daemon:
        raise ToolchainError("a worker under a nanny may not start processes: start it by `dask worker --no-nanny`")
    return Advert(this_place(), machine(), _gpus())


@dataclass(frozen=True)
class Begun:
    """What is known of the default."""

    text: str
    seconds: float
    noise: Ratio


def begun(job: bytes, seed: int) -> Begun:
    """Of a worker that has built and timed the default."""
    with _ONE:
        station = _station(job, seed)
        return Begun(station.default.text, station.watch.seconds, station.noise)


def placed(job: bytes, points: tuple[Point, ...]) -> list[Candidate | Exception]:
    """Each as a candidate, or why it is refused."""
    found: list[Candidate | Exception] = []
    with _ONE:
        for point in points:
            try:
                found.append(_builder().call(PLACING, place, job, point))
            except (PolyschedError, RuntimeError) as error:
                found.append(type(error)(str(error)))
    return found


def tried(job: bytes, point: Point, seed: int, known: Set[str]) -> Measurement | None:
    """What came of the point; None if its text is among those that are known."""
    with _ONE:
        station = _station(job, seed)
        kernel = station.built(point)
        if isinstance(kernel, Built) and kernel.text in known:
            return None
        return measured(kernel, station.watch)


def confirmed(job: bytes, point: Point, seed: int) -> Measurement:
    """The point, measured with more pairs."""
    with _ONE:
        station = _station(job, seed)
        return measured(station.built(point), station.watch, CONFIRMED)


class _Station:
    """The tools of a worker for one nest; it is made anew for another one."""

    def __init__(self, job: bytes, seed: int):
        self._job, self._turns = job, _turns()
        default = self.built(None)
        if isinstance(default, Exception):
            raise default
        self.default = default
        tuned: Job = pickle.loads(job)
        self.watch = Stopwatch(_timer(), self._turns, default, tuned.sizes, seed)
        self.noise = self.watch.start()

    def built(self, point: Point | None) -> Built | Exception:
        with self._turns.together():
            try:
                found: Built = _builder().call(BUILDING, build, self._job, point)
                return found
            except (PolyschedError, RuntimeError) as error:
                return error


_ONE = Lock()  # a worker does one thing at a time, however many threads it has


@lru_cache(maxsize=1)
def _station(job: bytes, seed: int) -> _Station:
    return _Station(job, seed)


@lru_cache(maxsize=1)
def _turns() -> Turns:
    return Turns()


@lru_cache(maxsize=1)
def _builder() -> Worker:
    return Worker(MEMORY)


@lru_cache(maxsize=1)
def _timer() -> Worker:
    return Worker(MEMORY)


def _gpus() -> tuple[str, ...]:
    """The names of NVIDIA's devices, if there are any."""
    found = shutil.which("nvidia-smi")
    if found:
        with suppress(OSError, subprocess.SubprocessError):
            command = [found, "--query-gpu=name", "--format=csv,noheader"]
            run = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
            return tuple(line.strip() for line in run.stdout.splitlines() if line.strip())
    return ()
