"""polysched/opt/tuning/cluster: workers of a Dask cluster measure, and none of what they have measured is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tuning.nests import OPTIONS, matmul

import polysched as ps
from polysched.config.machine import machine
from polysched.opt.tuning.cluster.crew import Cluster, _chosen
from polysched.opt.tuning.cluster.station import advertised
from polysched.opt.tuning.report import Progress
from polysched.opt.tuning.tune import _options
from polysched.results.tuned.database import Database
from polysched.results.tuned.task import task_of

distributed = pytest.importorskip("distributed")
ROOT = Path(__file__).parents[2]
SIZES = {"n": 60}
WORKER = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1"]


@pytest.fixture
def client() -> Iterator[object]:
    """Of a scheduler on the loopback, without workers."""
    place = {"host": "127.0.0.1", "dashboard_address": None}
    with distributed.LocalCluster(n_workers=0, **place) as cluster, distributed.Client(cluster) as found:
        yield found


@pytest.fixture
def workers(client, tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two of them, each a process of this machine."""
    command = [*WORKER, client.scheduler.address]
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


HOSTS = ["192.0.2.1:8786", "tcp://192.0.2.1:8786", "tcp://localhost.example:1", "tcp://127.example:1", "ws://192.0.2.1:1"]


@pytest.mark.parametrize("address", [*HOSTS, "tcp://127.0.0.1:1@192.0.2.1:1", "tcp://0.0.0.0:1", "ucx://192.0.2.1:1"])
def test_an_address_that_is_open_to_others_is_refused(address: str):
    with pytest.raises(ps.InputError, match="could run code on its workers\nhint: use tls://"):
        Cluster(address)


def test_no_scheduler_is_said():
    with pytest.raises(ps.InputError, match="no scheduler at 'tls://127"):
        Cluster("tls://127.0.0.1:1")  # of which there are no certificates, either


def test_what_is_no_cluster_is_refused():
    with pytest.raises(ps.InputError, match=r"5 is no cluster: give a distributed\.Client"):
        Cluster(5)
    with pytest.raises(ps.InputError, match="cluster is 'far', but is a"):
        ps.tune(matmul, cluster="far")


def test_measurements_for_a_machine_are_kept_for_its_usual_options():
    far = replace(advertised(), machine=replace(machine(), cores=1234))
    cluster = SimpleNamespace(advert=far)
    for given in (ps.Options(), ps.Options(machine=far.machine)):
        used, kept = _options(given, cluster)
        assert used.machine == far.machine and kept == ps.Options()
    assert _options(OPTIONS, cluster) == (OPTIONS, OPTIONS) == _options(OPTIONS, None)


@pytest.mark.slow
def test_a_worker_that_cannot_measure_gets_no_work_and_keeps_nobody_else_from_it(client, workers):
    command = [each for each in workers[0].args if each != "--no-nanny"]
    nanny = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        client.wait_for_workers(3, timeout=60)
        assert Cluster(client).workers == 2
    finally:
        nanny.terminate()
        nanny.wait()


@pytest.mark.slow
def test_when_the_scheduler_is_lost_it_says_so_and_what_was_measured_is_kept(tmp_path: Path):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--no-dashboard"]
    told = tmp_path / "scheduler.json"
    scheduler = subprocess.Popen([*program, "--port", "0", "--scheduler-file", told], **quiet)

    def kill(_: Progress) -> None:
        scheduler.kill()

    try:
        while not told.exists():
            time.sleep(0.1)
        client = distributed.Client(scheduler_file=told)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
        worker = subprocess.Popen([*WORKER, client.scheduler.address], env=environment, **quiet)
        client.wait_for_workers(1, timeout=60)
        cluster = Cluster(client)
        found = ps.tune(matmul, trials=5, sizes=SIZES, options=OPTIONS, progress=kill, cluster=cluster)
        assert found.stopped.startswith("the scheduler is lost") and 1 <= measured(cluster) < 5
    finally:
        for each in (scheduler, worker):
            each.kill()
            each.wait()


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
