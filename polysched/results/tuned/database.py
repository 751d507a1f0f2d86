"""What was measured, in one file: SQLite, so that processes may write at once, and what is written is not lost.

    with Database() as database:
        database.keep(task, Measurement(answers=(("tile.i", 32),), state="confirmed", ratio=1.12, low=1.08, high=1.15))
        database.best(task)             that measurement

    ~/.cache/polysched/tuned.sqlite     $POLYSCHED_DATABASE names another file

It holds numbers and answers to decisions, nothing that runs: whoever writes to it can make a kernel slower, not wrong.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from polysched.errors import InputError
from polysched.results.tuned.task import Task
from polysched.runtime.cache import cache_folder
from polysched.strategy.decision import Value

State = Literal["confirmed", "measured", "noisy", "slow", "wrong", "failed", "static"]

_VERSION = 2  # of the schema
_SECONDS = 30.0  # to wait for another process that writes
# Only what was measured again, and is faster than the default for sure, can be confirmed.
_SCHEMA = """
create table tasks (
    id integer primary key, nest text not null, name text not null, target text not null, options text not null,
    machine text not null, compiler text not null, version text not null, sizes text not null,
    unique (nest, target, options, machine, compiler, version, sizes));
create table measurements (
    task integer not null references tasks (id) on delete cascade, answers text not null, state text not null,
    ratio real, low real, high real, pairs integer not null, milliseconds real, default_milliseconds real,
    predicted_milliseconds real, kernel text not null, note text not null, made text not null,
    predicted_ratio real, build_seconds real, decisions text not null default '[]', features text not null default '{}',
    primary key (task, answers), check (state != 'confirmed' or (ratio > 1.0 and coalesce(low, 0.0) > 1.0)));
"""
# From each version to the next.
_UPDATES = {
    1: (
        "alter table measurements add column predicted_ratio real",
        "alter table measurements add column build_seconds real",
        "alter table measurements add column decisions text not null default '[]'",
        "alter table measurements add column features text not null default '{}'",
    )
}


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What became of a point: how many times as fast as the default its kernel is, in the median, with an interval."""

    answers: tuple[tuple[str, Value], ...]
    state: State
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0  # of samples, in turns
    milliseconds: float | None = None
    default_milliseconds: float | None = None
    predicted_milliseconds: float | None = None  # by the cost model
    kernel: str = ""  # a digest of its text
    note: str = ""  # of a `static` one, which was not measured, what was counted
    made: str = ""  # when, in UTC
    predicted_ratio: float | None = None  # by whoever led the search
    build_seconds: float | None = None
    decisions: tuple[tuple[str, Value], ...] = ()  # all that were asked for, also those that are as at the default
    features: Mapping[str, float] = field(default_factory=dict)  # of the kernel, beside the default's; {} if not known


@dataclass(frozen=True)
class Row:
    """A measurement with what it is of."""

    task: Task
    measurement: Measurement


class Database:
    """A context manager; InputError if the file cannot be used."""

    def __init__(self, path: Path | None = None):
        self.path = path or database_path()
        with self._usable():
            self._sql = sqlite3.connect(self.path, timeout=_SECONDS)
            self._sql.execute("pragma foreign_keys = on")
            version = self._sql.execute("pragma user_version").fetchone()[0]
            if version == 0:
                self._begin()
            elif version < _VERSION:
                self._update()
        if version > _VERSION:
            self.close()
            raise InputError(f"the database '{self.path}' is of a later version of polysched", hint="update polysched")

    def _begin(self) -> None:
        self._sql.execute("pragma journal_mode = wal")
        with self._sql:
            self._sql.execute("begin immediate")
            if self._sql.execute("pragma user_version").fetchone()[0] == 0:  # no other process was faster
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    self._sql.execute(statement)
                self._sql.execute(f"pragma user_version = {_VERSION}")

    def _update(self) -> None:
        with self._sql:
            self._sql.execute("begin immediate")
            for version in range(self._sql.execute("pragma user_version").fetchone()[0], _VERSION):
                for statement in _UPDATES[version]:
                    self._sql.execute(statement)
            self._sql.execute(f"pragma user_version = {_VERSION}")

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Says what is wrong with the file, if something is."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise
        except (sqlite3.Error, ValueError, TypeError) as error:
            hint = "name another file in POLYSCHED_DATABASE, or remove this one"
            raise InputError(f"the database '{self.path}' cannot be used: {error}", hint=hint) from error

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._sql.close()

    def keep(self, task: Task, found: Measurement) -> None:
        """In place of what was known of the same answers; ValueError for a confirmed one that is no faster."""
        values = {**asdict(found), "made": found.made or _now()}
        values |= {name: json.dumps(values[name]) for name in _AS_JSON}
        try:
            with self._usable(), self._sql:
                values["task"] = self._number(task)
                marks = ", ".join(f":{name}" for name in values)
                self._sql.execute(f"insert or replace into measurements ({', '.join(values)}) values ({marks})", values)
        except sqlite3.IntegrityError as error:
            raise ValueError(f"{found} cannot be confirmed: it is not faster for sure") from error

    def _number(self, task: Task) -> int:
        values = asdict(task)
        marks = ", ".join(f":{name}" for name in values)
        self._sql.execute(f"insert or ignore into tasks ({', '.join(values)}) values ({marks})", values)
        where = task.key
        return int(self._sql.execute(f"select id from tasks where {_all(where)}", where).fetchone()[0])

    def measured(self, task: Task) -> list[Measurement]:
        """All that is known at these sizes, in the order in which it was measured."""
        where = task.key
        return [row.measurement for row in self._rows(_all(where), where, "order by measurements.rowid")]

    def best(self, task: Task) -> Measurement | None:
        """The fastest one that was confirmed at these sizes."""
        where = task.key
        return next((row.measurement for row in self._rows(_IS_BEST.format(_all(where)), where, _FASTEST)), None)

    def best_of_any_size(self, task: Task) -> list[Row]:
        """For each sizes at which some was confirmed, the fastest one."""
        where = task.but_for_sizes
        found: dict[str, Row] = {}
        for row in self._rows(_IS_BEST.format(_all(where)), where, _FASTEST):
            found.setdefault(row.task.sizes, row)
        return list(found.values())

    def rows(self) -> list[Row]:
        """All that there is."""
        return self._rows("1", {}, "order by name, nest, sizes, ratio desc")

    def drop(self, task: Task) -> None:
        """Forgets all that was measured of it."""
        where = task.key
        with self._usable(), self._sql:
            self._sql.execute(f"delete from tasks where {_all(where)}", where)

    def _rows(self, where: str, values: Mapping[str, str], order: str) -> list[Row]:
        names = [each.name for each in fields(Task)], [each.name for each in fields(Measurement)]
        columns = ", ".join((*(f"tasks.{name}" for name in names[0]), *(f"measurements.{name}" for name in names[1])))
        text = f"select {columns} from measurements join tasks on tasks.id = measurements.task where {where} {order}"
        with self._usable():
            return [_row(dict(zip(chain(*names), row, strict=True))) for row in self._sql.execute(text, dict(values))]


_IS_BEST = "{} and state = 'confirmed'"
_FASTEST = "order by ratio desc"
_AS_JSON = ("answers", "decisions", "features")


def database_path() -> Path:
    """The file that $POLYSCHED_DATABASE names, else the one in the cache directory."""
    named = os.environ.get("POLYSCHED_DATABASE")
    return Path(os.path.expanduser(named)) if named else cache_folder() / "tuned.sqlite"


def _all(where: Mapping[str, str]) -> str:
    return " and ".join(f"tasks.{name} = :{name}" for name in where)


def _row(data: Mapping[str, Any]) -> Row:
    of, found = ({each.name: data[each.name] for each in fields(kind)} for kind in (Task, Measurement))
    read = {"answers": _read(found["answers"]), "decisions": _read(found["decisions"])}
    return Row(Task(**of), Measurement(**{**found, **read, "features": json.loads(found["features"])}))


def _read(text: str) -> tuple[tuple[str, Value], ...]:
    return tuple((key, value) for key, value in json.loads(text))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
