"""polysched/opt/tuning/static.py: kernels for a GPU that is not there, judged by counts."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tuning.nests import matmul

import polysched as ps
from polysched.cli import main
from polysched.counts.sass.counts import Counts
from polysched.counts.sass.instructions import KINDS
from polysched.counts.sass.occupancy import occupancy
from polysched.counts.sass.toolkit import find
from polysched.opt.tuning.build import Job
from polysched.opt.tuning.seen.history import History
from polysched.opt.tuning.static import _cycles, estimate
from polysched.results.tuned.database import Database, Measurement
from polysched.results.tuned.task import Place, task_of

GPU = ps.Gpu(arch="sm_90", multiprocessors=100)


def run(blocks: int, **kinds: int) -> SimpleNamespace:
    """A kernel of blocks of 256 threads, launched once."""
    counts = Counts(kinds=dict.fromkeys(KINDS, 0) | kinds, accesses={}, carries=0, compares=0, calls=0, unknown=())
    return SimpleNamespace(launches=1, blocks=blocks, largest=SimpleNamespace(threads=(256, 1, 1)), counts=counts)


def cycles(execution: SimpleNamespace, registers: int = 32) -> float:
    return _cycles(execution, occupancy("sm_90", threads=256, registers=registers, shared=0), GPU)


def test_more_instructions_waves_accesses_and_registers_take_longer():
    usual = run(8000, fma=1000, **{"global": 20})
    assert cycles(usual) < cycles(run(8000, fma=1100, **{"global": 20}))
    assert cycles(usual) < cycles(run(16000, fma=1000, **{"global": 20}))
    assert cycles(usual) < cycles(run(8000, fma=1000, **{"global": 2000}))
    waiting = run(8000, fma=100, **{"global": 200})
    assert cycles(waiting) < cycles(waiting, registers=128)


def test_a_gpu_that_is_not_full_is_not_charged_for_more():
    assert cycles(run(100, fma=1000)) == cycles(run(50, fma=1000))


def test_what_is_not_known_of_a_gpu_is_said():
    with pytest.raises(ps.InputError, match="nothing is known of the multiprocessors of sm_90"):
        _cycles(run(1, fma=1), None, GPU)


@pytest.mark.slow
def test_where_nothing_runs_there_is_nothing_to_estimate():
    try:
        find("nvcc"), find("nvdisasm")
    except ps.ToolchainError as error:
        pytest.skip(str(error))
    with pytest.raises(ps.InputError, match="at these sizes, nothing runs on the device"):
        estimate(pickle.dumps(Job(matmul.function, "cuda", ps.Options(), {"n": 0}, {})), None)


def test_an_estimate_is_never_taken_by_optimize():
    options = ps.Options(tuned="use")
    estimated = Measurement(answers=(("threads.i", 64),), state="static", ratio=2.0, low=2.0, high=2.0)
    with Database() as database:
        database.keep(task_of(matmul.function, "cuda", options), estimated)
    assert ps.optimize(matmul, "cuda", options=options).tuned is None


def test_a_report_says_that_nothing_was_measured():
    task = task_of(matmul.function, "cuda", ps.Options(), {"n": 8}, Place("no device", "nvcc", "0"))
    estimated = Measurement(answers=(), state="static", ratio=2.0, low=2.0, high=2.0)
    history = History(task, (estimated, replace(estimated, ratio=1.5)))
    assert history.is_static and history.best == (2.0, 2.0) and history.front == ()


def test_opencl_is_refused():
    with pytest.raises(ps.InputError, match="timed on the CPU alone, and this is OpenCL"):
        ps.tune(matmul, "opencl")


@pytest.mark.slow
def test_without_a_gpu_the_objective_is_named_in_every_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    try:
        find("nvcc"), find("nvdisasm")
    except ps.ToolchainError as error:
        pytest.skip(str(error))
    file = tmp_path / "nest.py"
    file.write_text(
        "import polysched as ps\n\n\n@ps.nest\ndef scale(a: ps.f64['n', 'n'], n: ps.size):\n"
        "    for i in range(n):\n        for j in range(n):\n            a[i, j] = 2.0 * a[i, j]\n"
    )
    assert main(["tune", f"{file}:scale", "--target", "cuda", "--trials", "2", "--sizes", "n=1000"]) == 0
    shown = capsys.readouterr()
    assert "2 kernels estimated" in shown.out and "measured," not in shown.out
    assert "by       static estimate for sm_90, 128 multiprocessors; nothing was measured" in shown.out
    assert all("this one static" in line or "failed" in line for line in shown.err.splitlines())
    assert main(["db", "list"]) == 0
    assert "no device: static estimate for sm_90" in capsys.readouterr().out
