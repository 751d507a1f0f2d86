"""polysched/opt/tuning/cluster: workers of a Dask cluster measure, and none of what they have measured is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tuning.nests import OPTIONS, matmul

import polysched as ps
from polysched.opt.tuning.cluster.crew import Cluster, _chosen
from polysched.opt.tuning.cluster.station import advertised
from polysched.opt.tuning.report import Progress
from polysched.results.tuned.database import Database
from polysched.results.tuned.task import task_of

distributed = pytest.importorskip("distributed")
ROOT = Path(__file__).parents[2]
SIZES = {"n": 60}


@pytest.fixture
def client() -> Iterator[object]:
    """Of a scheduler on the loopback, without workers."""
    place = {"host": "127.0.0.1", "dashboard_address": None}
    with distributed.LocalCluster(n_workers=0, **place) as cluster, distributed.Client(cluster) as found:
        yield found


@pytest.fixture
def workers(client, tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two of them, each a process of this machine."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address]
    command += ["--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    started = [subprocess.Popen(command, env=environment, **quiet) for _ in range(2)]
    client.wait_for_workers(2, timeout=60)
    yield started
    for each in started:
        each.kill()
        each.wait()


def measured(cluster: Cluster) -> int:
    """How many kernels are in the database, for the machine of the cluster."""
    with Database() as database:
        return len(database.measured(task_of(matmul.function, "c", OPTIONS, SIZES, cluster.advert.place)))


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(client, workers):
    cluster = Cluster(client)
    assert cluster.workers == 2
    seen: list[int] = []

    def kill(progress: Progress) -> None:
        seen.append(progress.trials)
        if len(seen) == 1:
            workers[0].send_signal(signal.SIGKILL)

    found = ps.tune(matmul, trials=5, sizes=SIZES, options=OPTIONS, progress=kill, cluster=cluster)
    assert seen == [1, 2, 3, 4, 5] and found.counts["kernels measured"] == measured(cluster) == 5
    assert found.counts["failed"] == 0 and cluster.workers == 1


@pytest.mark.slow
def test_when_no_workers_are_left_it_says_so_and_what_was_measured_is_kept(client, workers):
    cluster = Cluster(client)

    def kill(_: Progress) -> None:
        for each in workers:
            each.kill()

    found = ps.tune(matmul, trials=5, sizes=SIZES, options=OPTIONS, progress=kill, cluster=cluster)
    assert found.stopped.startswith("no workers are left") and 1 <= measured(cluster) < 5


@pytest.mark.slow
def test_a_worker_in_this_process_measures_and_a_ctrl_c_keeps_it(database: Path):
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    place = {"host": "127.0.0.1", "dashboard_address": None, "processes": False, "protocol": "tcp"}
    with distributed.LocalCluster(n_workers=1, **place) as local, distributed.Client(local) as client:
        cluster = Cluster(client)
        found = ps.tune(matmul, trials=2, sizes=SIZES, options=OPTIONS, progress=stop, cluster=cluster)
        assert found.is_interrupted and measured(cluster) == 1 and database.exists()


def test_an_address_that_is_open_to_others_is_refused():
    with pytest.raises(ps.InputError, match="could run code on its workers\nhint: use tls://"):
        Cluster("tcp://192.0.2.1:8786")


def test_no_scheduler_is_said():
    with pytest.raises(ps.InputError, match="no scheduler at 'nonsense"):
        Cluster("nonsense://127.0.0.1:1")


def test_workers_that_cannot_measure_are_named():
    with pytest.raises(ps.ToolchainError, match="can measure\na: no compiler\nhint: start some by `dask worker"):
        _chosen({"a": ps.ToolchainError("no compiler")}, "")


def test_of_several_kinds_of_machines_that_of_this_one_is_meant_or_the_one_that_is_named():
    here = advertised()
    others = [replace(here, place=replace(here.place, machine=name)) for name in ("EPYC 1", "EPYC 2")]
    named = {f"a{k}": each for k, each in enumerate(others)}
    assert _chosen({**named, "b": here}, "") == here
    assert _chosen(named, "EPYC 2") == others[1]
    with pytest.raises(ps.InputError, match=r"several kinds of machines:\n  EPYC 1.*\n  EPYC 2"):
        _chosen(named, "")
    with pytest.raises(ps.InputError, match="none of the cluster's machines is 'Arm'"):
        _chosen(named, "Arm")
