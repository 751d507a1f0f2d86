"""benchmarks/gpu: what it counts, how it runs its processes, and the whole way on a stand-in for the driver."""

from __future__ import annotations

import os
import time

import pytest

from benchmarks.gpu import __main__ as harness
from benchmarks.gpu import machine
from benchmarks.gpu.machine import Peaks
from benchmarks.gpu.measure import Job, Measured, measure
from benchmarks.gpu.processes import run_all
from benchmarks.gpu.work import Work, least
from benchmarks.polybench import KERNELS
from polysched.ir.build import add, load, store, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array
from polysched.runtime.gpu import cuda_driver
from tests import fake_cuda
from tests.nests import loop, nest

n, i, j, k = (var(name) for name in "nijk")


def test_operations_and_bytes_of_a_product():
    sizes = {"ni": 10, "nj": 20, "nk": 30}
    work = least(KERNELS["gemm"].nest.function, sizes)
    assert work.operations == 10 * 20 + 3 * 10 * 20 * 30  # beta C, then C + alpha A B
    assert work.moved == 8 * (2 * 10 * 20 + 10 * 30 + 30 * 20)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 40])
def test_operations_of_triangles_are_counted_exactly(size):
    A = Array("A", f64, (n, n))
    inner = loop("k", j, n, store(A, (i, j), add(load(A, i, k), 1.0)))
    fn = nest("f", "n", [A], loop("i", 0, n, loop("j", 1, sub(i, 1), inner, step=2)))
    expected = sum(1 for i in range(size) for j in range(1, i - 1, 2) for k in range(j, size))
    assert least(fn, {"n": size}).operations == expected


def test_the_floor_is_the_slower_of_bytes_and_operations():
    gpu = Peaks("a GPU", "sm_90", bandwidth=1e12, f32=1e13, f64=5e12, f16=2e13, copied=1e12)
    assert gpu.floor(Work(operations=10**9, moved=10**9, bits=32, narrowest=32)) == (1.0, "bytes")
    assert gpu.floor(Work(operations=10**10, moved=10**9, bits=64, narrowest=64)) == (2.0, "operations")
    assert gpu.floor(Work(operations=4 * 10**10, moved=10**9, bits=32, narrowest=16)) == (2.0, "operations")


def test_the_machine_is_read_off_the_driver(monkeypatch):
    if fake_cuda.device(monkeypatch).fake is None:
        pytest.skip("this machine has a GPU: python -m benchmarks.gpu")
    monkeypatch.setattr(machine, "_COPIED", 1 << 20)
    gpu = machine.this_gpu()
    assert str(gpu) == "NVIDIA H200, sm_90: 4.80 TB/s (0.01 by a copy), 67 TFLOP/s float, 34.0 double, 989 half"


@pytest.mark.parametrize("name", ["gemm", "jacobi-1d", "product_f32"])
def test_a_nest_is_checked_and_timed(monkeypatch, name):
    if fake_cuda.device(monkeypatch).fake is None:
        pytest.skip("this machine has a GPU: python -m benchmarks.gpu")
    sizes = KERNELS[name].sizes["mini"] if name in KERNELS else dict.fromkeys("nmk", 9)
    pipe = Pipe()
    measure(Job(name, sizes, {"ours": {}, "source order": {"scheduler": "source"}}), "sm_90", pipe)
    ready, *rows = pipe.sent
    assert ready == "ready"
    assert [(row.variant, row.median, row.fault) for row in rows] == [("ours", 0.25, ""), ("source order", 0.25, "")]


class Pipe:
    def __init__(self):
        self.sent = []

    def send(self, message):
        self.sent.append(message)

    def recv(self):
        return "go"


# --- processes


def one_at_a_time(job, folder, pipe):
    """Fails if another has the GPU at the same time."""
    pipe.send("ready")
    pipe.recv()
    held = os.open(f"{folder}/gpu", os.O_CREAT | os.O_EXCL)
    time.sleep(0.02)
    os.close(held)
    os.unlink(f"{folder}/gpu")
    pipe.send(Measured(job.name, "ours", median=1.0))


def crashes_or_hangs(job, _, pipe):
    pipe.send("ready")
    pipe.recv()
    if job.name == "crashes":
        os._exit(3)
    if job.name == "hangs":
        time.sleep(60)
    pipe.send(Measured(job.name, "ours", median=1.0))


def faults(names, work, arch, **limits):
    found = run_all([Job(name, {}) for name in names], work, arch, **limits)
    return {measured.name: measured.fault for _, measured in found}


@pytest.mark.slow
def test_one_process_has_the_gpu(tmp_path):
    until = time.monotonic() + 60
    found = faults("abc", one_at_a_time, str(tmp_path), at_once=3, limit=20, deadline=until)
    assert found == {"a": "", "b": "", "c": ""}


@pytest.mark.slow
def test_what_crashes_or_hangs_is_ended_and_the_rest_goes_on():
    until = time.monotonic() + 60
    names = ["crashes", "hangs", "runs"]
    found = faults(names, crashes_or_hangs, "", at_once=1, limit=1.5, deadline=until)
    assert found == {"crashes": "its process ended with 3", "hangs": "took too long", "runs": ""}


def test_nothing_starts_after_the_deadline():
    found = faults(["a"], one_at_a_time, "", at_once=1, limit=1, deadline=time.monotonic() - 1)
    assert found == {"a": "not run: out of time"}


# --- the command


def test_without_a_gpu_it_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks.gpu"])
    monkeypatch.setattr(cuda_driver, "DRIVER", "libcuda-of-nobody.so.1")
    assert harness.main() == 2
    said = capsys.readouterr().err
    assert said.startswith("this machine has no NVIDIA driver, which launches kernels (libcuda-of-nobody.so.1: ")
    assert said.endswith("--dry generates and compiles everything without one\n")
