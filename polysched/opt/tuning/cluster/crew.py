"""The workers of a Dask cluster as those who do the work of a search.

    cluster = Cluster("tcp://127.0.0.1:8786")
    with OnCluster(job, seed, cluster) as crew: ...

Each worker is marked with its kind of machine, by a resource that Dask knows, and gets work for this kind alone, one
piece at a time. The work of one that is lost goes to another one; one that joins later gets some, too.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Sequence, Set
from concurrent.futures import CancelledError
from contextlib import suppress
from importlib import import_module
from typing import Any

from polysched.errors import InputError, ToolchainError
from polysched.opt.tuning.build import Candidate, Job
from polysched.opt.tuning.cluster import station
from polysched.opt.tuning.cluster.station import Advert
from polysched.opt.tuning.crew import CrewLost
from polysched.opt.tuning.measure import failed
from polysched.opt.tuning.optional import optional
from polysched.opt.tuning.ratio import Ratio
from polysched.results.tuned.database import Measurement
from polysched.results.tuned.task import this_place
from polysched.schedule.space import Point
from polysched.support.brief import Brief, brief
from polysched.support.entry import entries

_LOOK = 2.0  # seconds, after which it is asked whether there are any workers left
_AT_A_TIME = 4  # points that are placed by one call
_CONNECTING = 10.0  # seconds


@entries
class Cluster(Brief):
    """Workers of Dask distributed that are of one kind: this machine's, if there are any, or else the only kind.

    Of a `distributed.Client`, or of the address of a scheduler. `on` is a part of the description of the kind that is
    meant. InputError if that is not clear, or if the address is open to others: workers run what a scheduler sends, and
    we read what it sends back; ToolchainError if Dask is missing, or if there is nobody who can measure.
    """

    def __init__(self, client: Any, *, on: str = ""):
        self.client = _connected(client) if isinstance(client, str) else client
        if not hasattr(self.client, "register_plugin"):
            raise InputError(f"{client!r} is no cluster: give a distributed.Client, or the address of a scheduler")
        adverts = self.client.run(station.advertised, on_error="return")
        self.advert = _chosen(adverts, on)
        self.client.register_plugin(import_module(_PLUGIN).Marked(), name="polysched")

    @property
    def workers(self) -> int:
        """How many there are now."""
        known = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return sum(self.advert.kind in each["resources"] for each in known)

    def __repr__(self) -> str:
        return brief(self, f"{self.workers} workers: {self.advert}")


_PLUGIN = "polysched.opt.tuning.cluster.plugin"


class OnCluster:
    """A crew of the workers of a cluster; the database, and what is drawn, are here."""

    noise: Ratio | None = None
    objective = ""

    def __init__(self, job: Job, seed: int, cluster: Cluster):
        self._job, self._seed, self._cluster = pickle.dumps(job), seed, cluster

    def __enter__(self) -> OnCluster:
        distributed = optional("distributed", "tune", "a cluster")
        self._wait, self._timeout = distributed.wait, distributed.TimeoutError
        ((_, begun),) = self._results({self._submitted(station.begun, self._job, self._seed): None})
        if isinstance(begun, Exception):
            raise begun
        self.default, self.seconds, self.noise = begun.text, begun.seconds, begun.noise
        return self

    def __exit__(self, *_: object) -> None:
        """The client is the user's."""

    def placed(self, points: Sequence[Point]) -> list[Candidate | Exception]:
        parts = [tuple(points[k : k + _AT_A_TIME]) for k in range(0, len(points), _AT_A_TIME)]
        futures = {self._submitted(station.placed, self._job, part): part for part in parts}
        found: dict[Point, Candidate | Exception] = {}
        for part, answers in self._results(futures):
            found |= zip(part, [answers] * len(part) if isinstance(answers, Exception) else answers, strict=True)
        return [found[point] for point in points]

    def tried(self, chosen: Sequence[Candidate], known: Set[str]) -> Iterator[tuple[Candidate, Measurement | None]]:
        texts = frozenset(known)
        futures = {
            self._submitted(station.tried, self._job, each.point, self._seed, texts): each for each in chosen
        }
        for candidate, found in self._results(futures):
            yield candidate, failed(found) if isinstance(found, Exception) else found

    def confirmed(self, point: Point) -> Measurement:
        ((_, found),) = self._results({self._submitted(station.confirmed, self._job, point, self._seed): None})
        return failed(found) if isinstance(found, Exception) else found

    def _submitted(self, fn: Any, *args: Any) -> Any:
        return self._cluster.client.submit(fn, *args, pure=False, resources={self._cluster.advert.kind: 1})

    def _results(self, futures: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
        """What each was asked for, and what it gave or raised, as it comes; CrewLost if no workers are left.

        Whoever stops listening, as after a Ctrl-C, takes back what has not begun.
        """
        left = set(futures)
        try:
            while left:
                with suppress(self._timeout):
                    self._wait(left, timeout=_LOOK, return_when="FIRST_COMPLETED")
                done = {each for each in left if each.done()}
                if not done and not self._cluster.workers:
                    raise CrewLost(_LOST)
                for each in done:
                    left.remove(each)
                    yield futures[each], each.exception() or each.result()
        except CancelledError as error:
            raise CrewLost(_NO_SCHEDULER) from error
        finally:
            self._cluster.client.cancel(list(left))


_LOST = "no workers are left: what was measured is kept, and the same call goes on from there"
_NO_SCHEDULER = "the scheduler is lost: what was measured is kept, and the same call goes on with another one"


def _connected(address: str) -> Any:
    """A client of the scheduler there."""
    if not _OWN_OR_ENCRYPTED.fullmatch(address):
        hint = "use tls://, with the certificates of Dask's settings, or give ps.Cluster a client of your own"
        raise InputError(f"'{address}' is open to all on the network, who could run code on its workers", hint=hint)
    distributed = optional("distributed", "tune", "a cluster")
    try:
        return distributed.Client(address, timeout=_CONNECTING)
    except (OSError, ValueError, TypeError) as error:
        hint = "start one by `dask scheduler --host 127.0.0.1`, and workers by `dask worker --no-nanny ADDRESS`"
        raise InputError(f"there is no scheduler at '{address}': {error}", hint=hint) from error


_OWN_OR_ENCRYPTED = re.compile(r"(tls|wss|inproc)://.*|(tcp://)?(127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+")


def _chosen(found: dict[str, Any], on: str) -> Advert:
    """The advert of the kind that is meant, of what each worker answers."""
    adverts = [each for each in found.values() if isinstance(each, Advert)]
    if not adverts:
        said = [f"{address}: {each}" for address, each in found.items()]
        hint = "start some by `dask worker --no-nanny --nthreads 1 ADDRESS`"
        raise ToolchainError("\n".join(["no worker of the cluster can measure", *said, f"hint: {hint}"]))
    kinds = {each.kind: each for each in adverts if on in str(each)}
    if own := next((each for each in kinds.values() if each.place == this_place()), None):
        return own
    if len(kinds) == 1:
        return next(iter(kinds.values()))
    there = "\n".join(f"  {each}" for each in dict.fromkeys(map(str, adverts)))
    what = f"none of the cluster's machines is '{on}'" if not kinds else "the cluster has several kinds of machines"
    raise InputError(f"{what}:\n{there}", hint="name one by a part of its description, with on=")
