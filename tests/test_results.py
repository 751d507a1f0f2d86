"""polysched/results/kept.py: what was compiled once is not compiled again, and nothing stale is served."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from polysched.config.machine import Machine
from polysched.errors import InputError, Loc, ToolchainError
from polysched.operators.examples import gemm, seidel_2d, stencil
from polysched.results import kept as results
from polysched.runtime import toolchain

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("POLYSCHED_RESULTS")
    monkeypatch.setenv("POLYSCHED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def is_known(*args, **kwargs):
    """Was this compiled before?"""
    return ps.optimize(*args, **kwargs).from_cache


def forget_the_compiler():
    """As in a new process."""
    asked = (toolchain._compiler, toolchain._supported, toolchain._is_known, toolchain.has_openmp, toolchain.processor)
    for function in asked:
        function.cache_clear()


def test_what_was_compiled_once_is_not_compiled_again(monkeypatch):
    forget_the_compiler()  # of which other tests have asked, with another folder to keep the answers in
    done = ps.optimize(stencil)
    a, b = np.arange(90.0).reshape(9, 10), np.arange(90.0).reshape(9, 10)
    done(a=a)
    monkeypatch.setattr("polysched.pipeline._compiled", lambda *_: pytest.fail("compiled again"))
    forget_the_compiler()
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a process was started"))
    again = ps.optimize(stencil)
    again(a=b)
    assert (done.from_cache, again.from_cache) == (False, True)
    assert np.array_equal(a, b)


def test_a_result_that_is_known_tells_the_same():
    done, again = ps.optimize(seidel_2d), ps.optimize(seidel_2d)
    assert again.from_cache and (again.tree, again.kernel, again.rungs) == (done.tree, done.kernel, done.rungs)
    assert [(event.name, event.seconds) for event in again.events] == [
        (event.name, event.seconds) for event in done.events
    ]
    assert again.explain() == done.explain()
    assert again.schedule.script == done.schedule.script
    assert again.verify().sizes == done.verify().sizes


def product_with(weights):
    def product(x: ps.f32["n", 16]):  # noqa: F821, UP037
        return x @ weights

    return ps.op(product)


def test_arrays_from_outside_are_handed_at_calls_and_not_kept(folder):
    first, second = np.random.default_rng(0).random((2, 16, 12), np.float32)
    x, out = np.ones((3, 16), np.float32), np.empty((3, 12), np.float32)
    assert not ps.optimize(product_with(first)).from_cache
    done = ps.optimize(product_with(second))
    done(x=x, out=out)
    assert done.from_cache and np.allclose(out, x @ second)
    assert not any(first.tobytes() in file.read_bytes() for file in folder.rglob("*.result"))
    assert not is_known(product_with(first[:, :8].copy()))


def test_another_process_finds_it():
    program = """
import polysched as ps, numpy as np
from polysched.operators.examples import gemm
done = ps.optimize(gemm)
c = np.zeros((3, 3))
done(C=c, A=np.eye(3), B=np.ones((3, 3)))
print(done.from_cache, c.sum())
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**environment, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            timeout=100,
        ).stdout
        for seed in range(2)
    ]
    assert printed == ["False 9.0\n", "True 9.0\n"]


def test_all_that_a_result_depends_on_is_asked_for():
    function = stencil.function
    moved = replace(function, loc=Loc("elsewhere.py", 1, 1))
    tiny = replace(function, name="tiny")
    by_hand = ps.Schedule(stencil).skew("j", by="i")
    asked = [
        {"nest": function},
        {"nest": gemm},
        {"nest": moved},  # which messages name
        {"nest": tiny},
        {"nest": function, "target": "cuda"},
        {"nest": function, "options": ps.Options(tile=False)},
        {"nest": function, "options": ps.Options(machine=Machine(l1=1 << 10))},
        {"nest": function, "schedule": by_hand},
        {"nest": function, "schedule": by_hand.tile("i", "j", sizes=(4, 8))},
        {"nest": function, "schedule": ps.Schedule(stencil).tree},
    ]
    assert [is_known(**each) for each in asked] == [False] * len(asked)
    assert [is_known(**each) for each in asked] == [True] * len(asked)


def test_a_schedule_of_another_nest_is_refused_every_time():
    schedule = ps.Schedule(stencil)
    ps.optimize(stencil, schedule=schedule)
    for _ in range(2):
        with pytest.raises(InputError, match="the schedule is of another nest, 'stencil'"):
            ps.optimize(gemm, schedule=schedule)


def test_another_version_compiles_anew(monkeypatch):
    assert not is_known(stencil)
    monkeypatch.setattr(results, "_state", lambda: "another")
    assert not is_known(stencil)


def test_an_edited_file_is_another_version(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "one.py").write_text("x = 1")
    before = results._files(str(tmp_path))
    assert results._files(str(tmp_path)) == before
    os.utime(tmp_path / "inside" / "one.py", (1, 1))
    assert results._files(str(tmp_path)) != before


def test_whoever_watches_sees_the_compiler_at_work(monkeypatch, capsys):
    ps.optimize(stencil)
    with ps.record() as events:
        assert not is_known(stencil)
    assert "dependences" in {event.name for event in events}
    monkeypatch.setenv("POLYSCHED_DUMP", "dependences")
    assert not is_known(stencil)
    assert "--- dependences" in capsys.readouterr().err


def test_it_can_be_turned_off(monkeypatch, folder):
    monkeypatch.setenv("POLYSCHED_RESULTS", "off")
    assert not is_known(stencil) and not is_known(stencil)
    assert not folder.exists()


def test_what_gave_way_is_not_kept():
    """Another time there may be more of it."""
    hurried = ps.Options(solve_seconds=0.0)
    assert ps.optimize(stencil, options=hurried).fallbacks
    assert not is_known(stencil, options=hurried)


@pytest.mark.parametrize("harm", [lambda path: path.chmod(0o622), lambda path: path.write_bytes(b"cos\nsystem\n")])
def test_what_is_damaged_or_another_users_is_not_read(folder, harm):
    """It is run when it is read."""
    ps.optimize(stencil)
    [path] = folder.glob("*.result")
    harm(path)
    assert not is_known(stencil) and is_known(stencil)


def test_a_folder_that_cannot_be_written_to_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYSCHED_CACHE", str(tmp_path / "file"))
    done = ps.optimize(stencil)
    assert not done.from_cache and "for (" in str(done.source)
    with pytest.raises(ToolchainError, match="set POLYSCHED_CACHE to a writable directory"):
        done(a=np.ones((9, 10)))


def test_what_is_too_deep_to_be_written_is_compiled():
    done, deep = ps.optimize(stencil), ()
    for _ in range(100_000):
        deep = (deep,)
    assert results.kept((deep,), lambda: done) is done


def test_what_is_no_schedule_is_refused_by_the_compiler():
    assert results.kept((lambda: 0,), lambda: "compiled") == "compiled"
