"""polysched/opt/tuning/learned: features of points, a model of them, seeds out of other nests' winners."""

from __future__ import annotations

import pickle
from dataclasses import replace
from importlib.util import find_spec
from math import log2
from random import Random

import pytest
from tuning.nests import OPTIONS, matmul

import polysched as ps
from polysched.cost.features import features
from polysched.opt.tuning import optional as optional_module
from polysched.opt.tuning.build import Candidate, Job, place
from polysched.opt.tuning.learned.judge import Judge
from polysched.opt.tuning.learned.model import Example, example_of, fitted, read, shipped
from polysched.opt.tuning.learned.seeds import seeds
from polysched.opt.tuning.learned.vector import compared, of_default
from polysched.results.tuned.database import Database, Measurement, Row
from polysched.results.tuned.task import Task, task_of
from polysched.schedule.space import Point

MACHINE = OPTIONS.machine
JOB = pickle.dumps(Job(matmul.function, "c", OPTIONS, {"n": 500}, {}))
TIMED = Measurement(answers=(), state="measured", ratio=1.2, low=1.19, high=1.21, pairs=7, features={"work": 1.0})


# --- features


def test_features_of_the_source_count_its_work_and_its_strides():
    found = features(matmul.function, {"n": 64}, MACHINE)
    assert found["work"] == pytest.approx(18, abs=0.01)  # log2 of 64 ** 3
    assert found["vector"] == 0 and found["shared"] == 0 and found["trips 1"] == pytest.approx(log2(65), abs=0.01)
    assert found["stays"] == pytest.approx(1 / 2) and found["next"] == found["far"] == pytest.approx(1 / 4)


def test_a_point_is_described_beside_the_default():
    found = place(JOB, Point((("rows.i", 2),)))
    assert isinstance(found, Candidate)
    assert found.features["product of rows than the default"] == pytest.approx(log2(3) - log2(5), abs=0.01)
    assert found.features["unrolled than the default"] < 0 == found.features["work than the default"]
    default = place(JOB, Point()).features
    assert of_default(found.features) == {name: x for name, x in default.items() if not name.endswith("the default")}


def test_points_whose_answers_change_nothing_have_the_same_loops():
    default, other = place(JOB, Point()), place(JOB, Point((("rows.i", 2),)))
    assert default.loops == place(JOB, Point((("rows.i", 4),))).loops != other.loops


# --- the model

lightgbm = pytest.mark.skipif(not find_spec("lightgbm"), reason="LightGBM is not there")


def drawn(count: int, seed: int = 0) -> list[Example]:
    """Those with more in `good` are faster; `idle` says nothing."""
    random = Random(seed)
    rows = [{"how good": random.random(), "idle": random.random()} for _ in range(count)]
    return [Example(row, 2 * row["how good"] - 1) for row in rows]


@lightgbm
def test_a_model_ranks_what_it_has_not_seen_and_its_text_says_the_same():
    model = fitted(drawn(200))
    asked = [{"how good": k / 10, "idle": 0.5} for k in (1, 5, 9)]
    slow, middle, fast = model.ratios(asked)
    assert slow < 0.8 < middle < 1.25 < fast
    assert read(model.text).ratios(asked) == model.ratios(asked)
    assert model.ratios([]) == [] and len(model.ratios([{"unknown": 1.0}])) == 1


@lightgbm
def test_what_is_measured_corrects_a_model():
    before = fitted(drawn(200))
    turned = [replace(each, log_ratio=-each.log_ratio) for each in drawn(200, seed=1)]
    after = fitted(turned, before, 100)
    asked = [{"how good": 0.9, "idle": 0.5}]
    assert before.ratios(asked)[0] > 1.25 and after.ratios(asked)[0] < 0.8


@lightgbm
def test_the_model_that_is_shipped_knows_of_features_that_there_are():
    known = compared(*[place(JOB, Point()).features] * 2)
    assert sum(name in known for name in shipped().names) > 60


def test_noisy_measurements_count_less_and_what_was_not_timed_not_at_all():
    sharp, wide = example_of(TIMED), example_of(replace(TIMED, low=0.6, high=2.4))
    assert sharp and wide and sharp.weight == 1.0 and wide.weight == pytest.approx(0.05 / 2)
    assert example_of(Measurement(answers=(), state="failed", features={"work": 1.0})) is None


# --- who judges


def test_without_the_library_the_cost_model_judges_and_it_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(optional_module, "import_module", _missing)
    read.cache_clear()
    judge = Judge.of([], task_of(matmul.function, "c", OPTIONS, {"n": 500}))
    assert judge.missing == (
        "a learned model needs lightgbm, which cannot be loaded (no module): pip install 'polysched[tune]'"
    )
    judge.learn([TIMED] * 50)
    slow, fast = judge.ratios([place(JOB, Point((("rows.i", 0), ("columns.j", 0)))), place(JOB, Point())])
    assert slow is not None and slow < 1.0 == fast
    assert judge.ratios([Candidate(Point(), (), (), None)]) == [None]


def _missing(name: str) -> object:
    raise ImportError("no module")


@lightgbm
def test_a_search_keeps_features_and_what_was_predicted(database):
    ps.tune(matmul, trials=1, sizes={"n": 60}, options=OPTIONS)
    with Database() as kept:
        (row,) = kept.rows()
    found = row.measurement
    assert found.features["work"] and found.predicted_ratio and found.build_seconds
    assert set(found.answers) <= set(found.decisions) and len(found.decisions) > len(found.answers)


# --- seeds

OF_MATMUL = task_of(matmul.function, "c", OPTIONS, {"n": 500})
DECISIONS = ps.space(matmul, options=OPTIONS).decisions


def won(answers: dict[str, int | str], nest: str, work: float) -> Row:
    """A measurement of another nest, whose decisions have other names."""
    task = Task(**{**OF_MATMUL.key, "name": nest, "nest": nest, "sizes": "m = 1"})
    decisions = (("tile.a", 1), ("rows.a", 1), ("tile.b", 1), ("parallel.a", "a"))
    of = {"work": work, "work than the default": 0}
    return Row(task, replace(TIMED, answers=tuple(answers.items()), decisions=decisions, features=of))


def test_seeds_come_from_the_nearest_nest_by_the_places_of_its_decisions():
    rows = [won({"tile.b": 7, "parallel.a": ""}, "near", 11.0), won({"rows.a": 3}, "far", 30.0)]
    found = seeds(rows, OF_MATMUL, {"work": 10.0}, DECISIONS)
    assert [each.key for each in DECISIONS if each.key.startswith("tile")][1] == "tile.k"
    assert found == [Point((("tile.k", 7),)), Point((("rows.i", 3),))]


def test_measurements_without_features_change_nothing_about_what_is_near():
    rows = [won({"rows.a": 3}, "far", 30.0), won({"tile.b": 7}, "near", 11.0)]
    old = replace(rows[0].measurement, features={}, decisions=())
    rows += [Row(replace(rows[0].task, nest="old"), old), Row(replace(rows[0].task, nest=OF_MATMUL.nest), old)]
    found = seeds(rows, OF_MATMUL, {"work": 10.0}, DECISIONS)
    assert found == [Point((("rows.a", 3),)), Point((("tile.k", 7),)), Point((("rows.i", 3),))]


def test_the_same_nest_at_other_sizes_is_nearest_and_names_count():
    rows = [won({"rows.a": 3}, "near", 10.0), won({"parallel.i_o": ""}, OF_MATMUL.nest, 30.0)]
    assert seeds(rows, OF_MATMUL, {"work": 10.0}, DECISIONS)[0] == Point((("parallel.i_o", ""),))


def test_what_was_not_faster_for_sure_is_no_seed():
    row = won({"rows.a": 3}, "near", 10.0)
    slower = Row(row.task, replace(row.measurement, low=0.9))
    assert seeds([slower], OF_MATMUL, {"work": 10.0}, DECISIONS) == []
