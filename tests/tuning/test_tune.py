"""`ps.tune`: what it measures is kept, goes on, and is taken by `optimize`. No test asserts a time."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tuning.nests import OPTIONS, chain, matmul

import polysched as ps
from polysched.opt.tuning.alone import Turns
from polysched.opt.tuning.bench import Bench
from polysched.opt.tuning.report import Progress
from polysched.results.tuned.database import Database, Measurement
from polysched.results.tuned.task import task_of

SIZES = {"n": 60}
FASTER = Measurement(answers=(("tile.i", 64),), state="confirmed", ratio=1.2, low=1.1, high=1.3, pairs=15)


def measured() -> list[Measurement]:
    with Database() as database:
        return database.measured(task_of(matmul.function, "c", OPTIONS, SIZES))


def confirm(found: Measurement = FASTER, sizes: int = 60, options: ps.Options = OPTIONS) -> None:
    with Database() as database:
        database.keep(task_of(matmul.function, "c", options, {"n": sizes}), found)


# --- the search


@pytest.mark.slow
def test_kernels_are_measured_and_kept_and_the_same_call_goes_on():
    seen: list[Progress] = []
    found = ps.tune(matmul, trials=3, sizes=SIZES, options=OPTIONS, progress=seen.append)
    first = measured()
    assert len(first) == found.counts["kernels measured"] == len(seen) == 3
    assert all(each.state != "wrong" and each.kernel and each.answers for each in first)
    assert found.ratio >= 1.0 and found.script.startswith("schedule = (\n    ps.Schedule(matmul")
    again = ps.tune(matmul, trials=4, sizes=SIZES, options=OPTIONS, progress=seen.append)
    assert {each.answers for each in first} < {each.answers for each in measured()}
    assert len(measured()) == again.counts["kernels measured"] == len(seen) == 4


def test_a_ctrl_c_keeps_what_was_measured():
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    found = ps.tune(matmul, trials=2, sizes=SIZES, options=OPTIONS, progress=stop)
    assert found.is_interrupted and len(measured()) == 1
    assert "interrupted" in str(found)


def test_when_the_time_is_over_it_stops():
    found = ps.tune(matmul, trials=9, seconds=0.0, sizes=SIZES, options=OPTIONS)
    assert found.stopped == "the time was over" and measured() == []
    assert str(found).splitlines()[0] == "matmul at n = 60: nothing was tried"


@pytest.mark.slow
def test_what_is_pinned_stays():
    space = ps.space(matmul, options=OPTIONS).pin("tile.i", 16)
    found = ps.tune(matmul, trials=1, sizes=SIZES, options=OPTIONS, pinned=space.pinned)
    assert dict(measured()[0].answers)["tile.i"] == 16
    assert isinstance(found, ps.Tuning)


def test_a_confirmed_winner_is_the_best_and_says_what_differs():
    confirm(replace(FASTER, milliseconds=1.0, default_milliseconds=1.2))
    found = ps.tune(matmul, trials=1, sizes=SIZES, options=OPTIONS)
    assert found.best is not None and found.ratio == 1.2
    assert [(each.key, each.default, each.best) for each in found.differences] == [("tile.i", 32, 64)]
    assert "best     1 ms  1.20 times as fast (1.10 to 1.30, 15 pairs)" in str(found)
    scope = {"ps": ps, "matmul": matmul}
    exec(found.script, scope)
    decided = ps.Schedule.auto(matmul, options=OPTIONS).decide("tile.i", 64)
    assert scope["schedule"].history.edits == decided.history.edits


def test_a_winner_whose_answers_do_not_fit_any_more_is_not_the_best():
    confirm(replace(FASTER, answers=(("innermost.i", "q"),)))
    found = ps.tune(matmul, trials=1, sizes=SIZES, options=OPTIONS)
    assert found.best is None and "no other schedule was confirmed" in str(found)


def test_what_cannot_be_tuned_is_refused():
    with pytest.raises(ps.InputError, match="timed on the CPU alone, and this is OpenCL"):
        ps.tune(matmul, "opencl")
    with pytest.raises(ps.InputError, match="'chain' has no decisions"):
        ps.tune(chain, options=ps.Options(tile=False, parallel=False, vector=False))
    with pytest.raises(ps.InputError, match="'matmul' has no size m"):
        ps.tune(matmul, sizes={"m": 3})
    with pytest.raises(ps.InputError, match=r"there is no decision 'tile\.z'"):
        ps.tune(matmul, pinned={"tile.z": 3})
    with pytest.raises(ps.InputError, match="trials is -1"):
        ps.tune(matmul, trials=-1)


def test_a_kernel_with_other_results_is_found():
    done = pickle.loads(pickle.dumps(ps.optimize(matmul, options=OPTIONS)))
    bench = Bench(done, SIZES, 0)
    bench.require_same(bench.run)
    bench.expected["C"][5, 7] += 1e-3
    with pytest.raises(ps.VerificationError, match=r"'C\[5, 7\]' is .* by the default"):
        bench.require_same(bench.run)


def test_one_times_while_nobody_builds(tmp_path: Path):
    text = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), getattr(fcntl, sys.argv[2]) | fcntl.LOCK_NB)"

    def can(how: str) -> bool:
        return subprocess.run([sys.executable, "-c", text, turns.path, how], capture_output=True).returncode == 0

    turns = Turns(tmp_path / "lock")
    with turns.together():
        assert can("LOCK_SH") and not can("LOCK_EX")
    with turns.alone():
        assert not can("LOCK_SH")
    assert can("LOCK_EX")
    turns.close()


# --- what `optimize` takes


def test_by_default_nothing_that_was_measured_counts():
    before = ps.optimize(matmul, options=OPTIONS)
    confirm()
    after = ps.optimize(matmul, options=OPTIONS)
    assert before.source == after.source and after.tuned is None and "tuned" not in after.explain()


def test_the_confirmed_schedule_is_taken_and_said():
    confirm()
    done = ps.optimize(matmul, options=replace(OPTIONS, tuned="use"))
    by_hand = ps.optimize(matmul, schedule=ps.Schedule.auto(matmul, options=OPTIONS).decide("tile.i", 64))
    assert done.source == by_hand.source != ps.optimize(matmul, options=OPTIONS).source
    said = "1.20 times as fast as the default (1.10 to 1.30), measured at n = 60"
    assert done.explain().splitlines()[0] == f"tuned: tile.i = 64: {said}"
    assert [each.why for each in done.decisions if each.key == "tile.i"] == [f"tuned: {said}"]
    assert [each.value for each in done.decisions if each.key == "tile.i"] == [64]
    assert done.schedule.script == by_hand.schedule.script
    assert "equal to the interpreted nest" in str(done.verify(n=9))


def test_of_several_sizes_the_largest_count():
    confirm()
    confirm(replace(FASTER, answers=(("tile.i", 8),), ratio=1.15), sizes=500)
    done = ps.optimize(matmul, options=replace(OPTIONS, tuned="use"))
    assert done.tuned is not None and done.tuned.sizes == "n = 500"


def test_without_one_the_default_is_made_or_refused():
    done = ps.optimize(matmul, options=replace(OPTIONS, tuned="use"))
    assert done.tuned is None and done.source == ps.optimize(matmul, options=OPTIONS).source
    with pytest.raises(ps.InputError, match="the database has no schedule for 'matmul' on this machine"):
        ps.optimize(matmul, options=replace(OPTIONS, tuned="require"))


def test_one_of_other_options_does_not_count():
    confirm(options=replace(OPTIONS, fast_math=True))
    assert ps.optimize(matmul, options=replace(OPTIONS, tuned="use")).tuned is None


@pytest.mark.parametrize("answers", [(("tile.z", 8),), (("innermost.i", "z"),), (("tile.i", "many"),)])
def test_answers_that_do_not_fit_any_more_are_said_or_refused(answers):
    confirm(replace(FASTER, answers=answers))
    done = ps.optimize(matmul, options=replace(OPTIONS, tuned="use"))
    assert done.source == ps.optimize(matmul, options=OPTIONS).source
    assert done.explain().startswith("tuned: ") and "; the default runs, since " in done.explain().splitlines()[0]
    with pytest.raises(ps.InputError, match="does not fit"):
        ps.optimize(matmul, options=replace(OPTIONS, tuned="require"))


def test_a_schedule_by_hand_is_followed_whatever_was_measured():
    confirm()
    options = replace(OPTIONS, tuned="require")
    schedule = ps.Schedule(matmul, options=options).tile("i", "j", sizes=(8, 8)).parallel("i_o")
    assert ps.optimize(matmul, schedule=schedule).tuned is None


def test_a_second_process_takes_it_without_measuring_or_compiling(database: Path, monkeypatch: pytest.MonkeyPatch):
    confirm()
    monkeypatch.setenv("POLYSCHED_RESULTS", "on")
    options = replace(OPTIONS, tuned="use")
    first = ps.optimize(matmul, options=options)
    second = ps.optimize(matmul, options=options)
    assert second.from_cache and second.tuned == first.tuned is not None
    assert second.source == first.source and second.decisions == first.decisions
