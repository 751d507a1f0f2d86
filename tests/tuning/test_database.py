"""polysched/results/tuned: what is kept, for whom it counts, and how it goes to another machine."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from tuning.nests import OPTIONS, chain, matmul

import polysched as ps
from polysched.results.tuned.database import Database, Measurement
from polysched.results.tuned.exchange import exported, merged
from polysched.results.tuned.task import canonical, task_of

TASK = task_of(matmul.function, "c", OPTIONS, {"n": 100})
SLOWER = Measurement(answers=(("tile.i", 8),), state="measured", ratio=0.9, low=0.8, high=0.95, pairs=7)
FASTER = Measurement(answers=(("tile.i", 64),), state="confirmed", ratio=1.2, low=1.1, high=1.3, pairs=15)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "tuned.sqlite") as made:
        yield made


def test_what_is_kept_is_there_in_another_process(database: Database):
    database.keep(TASK, SLOWER)
    database.keep(TASK, FASTER)
    with Database(database.path) as other:
        assert [each.answers for each in other.measured(TASK)] == [SLOWER.answers, FASTER.answers]
        assert replace(other.best(TASK), made="") == FASTER


def test_the_same_answers_are_kept_once(database: Database):
    database.keep(TASK, SLOWER)
    database.keep(TASK, replace(SLOWER, ratio=0.7))
    assert [each.ratio for each in database.measured(TASK)] == [0.7]


@pytest.mark.parametrize("low", [None, 0.99, 1.0])
def test_nothing_that_may_be_slower_is_confirmed(database: Database, low: float | None):
    with pytest.raises(ValueError, match="cannot be confirmed"):
        database.keep(TASK, replace(FASTER, low=low))
    assert database.best(TASK) is None and database.measured(TASK) == []


def test_other_sizes_machines_compilers_options_and_versions_are_apart(database: Database):
    database.keep(TASK, FASTER)
    names = ("sizes", "machine", "compiler", "options", "version", "nest")
    others = [replace(TASK, **{name: "other"}) for name in names]
    assert [database.best(other) for other in others] == [None] * 6
    assert database.best(replace(TASK, name="other")) is not None


def test_for_optimize_the_best_of_each_size_counts(database: Database):
    database.keep(TASK, FASTER)
    database.keep(replace(TASK, sizes="n = 200"), replace(FASTER, ratio=1.1))
    database.keep(replace(TASK, sizes="n = 200"), replace(FASTER, answers=(), ratio=1.05))
    found = database.best_of_any_size(replace(TASK, sizes=""))
    assert {row.task.sizes: row.measurement.ratio for row in found} == {"n = 100": 1.2, "n = 200": 1.1}


def test_neither_places_nor_the_name_of_a_nest_count():
    again = replace(matmul.function, name="again", loc=None)
    assert canonical(again) == canonical(matmul.function) != canonical(chain.function)


def _write(path: Path, number: int) -> None:
    with Database(path) as database:
        for k in range(10):
            database.keep(TASK, replace(SLOWER, answers=(("tile.i", 10 * number + k),)))


def test_processes_write_at_once(tmp_path: Path):
    path = tmp_path / "tuned.sqlite"
    with ProcessPoolExecutor(3, mp_context=get_context("fork")) as pool:
        list(pool.map(_write, [path] * 3, range(3)))
    with Database(path) as database:
        assert len(database.measured(TASK)) == 30


def test_a_later_schema_is_refused(tmp_path: Path):
    with sqlite3.connect(tmp_path / "later.sqlite") as sql:
        sql.execute("pragma user_version = 99")
    with pytest.raises(ps.InputError, match="is of a later version"):
        Database(tmp_path / "later.sqlite")


def test_what_is_no_database_is_refused(tmp_path: Path):
    (tmp_path / "text").write_text("no database" * 100)
    with pytest.raises(ps.InputError, match="cannot be used: file is not a database"):
        Database(tmp_path / "text")


@pytest.mark.parametrize("as_text", [True, False])
def test_another_file_is_merged_and_newer_measurements_win(database: Database, tmp_path: Path, as_text: bool):
    with Database(tmp_path / "other.sqlite") as other:
        other.keep(TASK, replace(FASTER, ratio=1.4, made="2030-01-01"))
        other.keep(TASK, replace(SLOWER, ratio=0.5, made="2000-01-01"))
        text = tmp_path / "other.json"
        text.write_text(exported(other))
    database.keep(TASK, FASTER)
    database.keep(TASK, SLOWER)
    file = text if as_text else other.path
    assert merged(database, file) == 1 and merged(database, file) == 0
    assert [each.ratio for each in database.measured(TASK)] == [0.9, 1.4]


@pytest.mark.parametrize("line", ["no JSON", "{}", "[]", '{"answers": 1}'])
def test_what_is_no_export_is_refused(database: Database, tmp_path: Path, line: str):
    (tmp_path / "export").write_text(line)
    with pytest.raises(ps.InputError, match=r"line 1 of .* is no measurement"):
        merged(database, tmp_path / "export")


def test_an_export_that_lies_is_refused(database: Database, tmp_path: Path):
    database.keep(TASK, FASTER)
    data = json.loads(exported(database)) | {"low": 0.5, "made": "2030-01-01"}
    (tmp_path / "export").write_text(json.dumps(data))
    with pytest.raises(ps.InputError, match="holds what cannot be true"):
        merged(database, tmp_path / "export")
    assert database.best(TASK) is not None


def test_a_task_is_dropped_with_its_measurements(database: Database):
    database.keep(TASK, FASTER)
    database.keep(replace(TASK, version="0.0"), FASTER)
    database.drop(replace(TASK, version="0.0"))
    assert [row.task for row in database.rows()] == [TASK]


def of_the_first_version(path: Path) -> Path:
    with Database(path) as database:
        database.keep(TASK, FASTER)
    with closing(sqlite3.connect(path)) as old, old:
        for name in ("predicted_ratio", "build_seconds", "decisions", "features"):
            old.execute(f"alter table measurements drop column {name}")
        old.execute("pragma user_version = 1")
    return path


def test_a_database_of_the_first_version_is_brought_up_to_date(tmp_path: Path):
    with Database(of_the_first_version(tmp_path / "old.sqlite")) as database:
        database.keep(TASK, replace(SLOWER, features={"work": 1.5}, decisions=(("tile.i", 8),), predicted_ratio=0.8))
        first, second = database.measured(TASK)
        assert replace(first, made="") == FASTER
        assert (second.features, second.decisions, second.predicted_ratio) == ({"work": 1.5}, (("tile.i", 8),), 0.8)


def test_a_database_that_is_merged_stays_as_it_is(database: Database, tmp_path: Path):
    path = of_the_first_version(tmp_path / "old.sqlite")
    before = path.read_bytes()
    assert merged(database, path) == 1 and path.read_bytes() == before
    assert replace(database.best(TASK), made="") == FASTER


def test_one_that_was_cut_off_while_it_was_brought_up_to_date_is_as_before(tmp_path: Path):
    path = of_the_first_version(tmp_path / "old.sqlite")
    die = f"""
import os
from pathlib import Path
from polysched.results.tuned import database
class Dies(tuple):
    def __iter__(self):
        yield self[0]
        os._exit(9)
database._UPDATES[1] = Dies(database._UPDATES[1])
database.Database(Path({str(path)!r}))
"""
    assert subprocess.run([sys.executable, "-c", die]).returncode == 9
    with ProcessPoolExecutor(3, mp_context=get_context("fork")) as pool:
        list(pool.map(_write, [path] * 3, range(3)))
    with Database(path) as database:
        assert len(database.measured(TASK)) == 31 and database.best(TASK)


@pytest.mark.parametrize(("column", "value"), [("features", "{"), ("answers", "5"), ("decisions", "null")])
def test_a_row_that_nobody_has_written_is_said(database: Database, column: str, value: str):
    database.keep(TASK, FASTER)
    with sqlite3.connect(database.path) as sql:
        sql.execute(f"update measurements set {column} = ?", (value,))
    with pytest.raises(ps.InputError, match="cannot be used"):
        database.best(TASK)


def test_exports_go_to_another_database_and_so_do_those_of_the_first_version(database: Database, tmp_path: Path):
    database.keep(TASK, replace(FASTER, features={"work": 1.5}, decisions=(("tile.i", 64),), build_seconds=2.0))
    text = exported(database)
    later = ("features", "decisions", "build_seconds")
    fewer = {key: value for key, value in json.loads(text).items() if key not in later}
    for name, content in {"new": text, "old": json.dumps(fewer)}.items():
        file = tmp_path / f"{name}.json"
        file.write_text(content)
        with Database(tmp_path / f"{name}.sqlite") as other:
            assert merged(other, file) == 1
            assert (exported(other) == text) == (name == "new")
            assert other.best(TASK)
