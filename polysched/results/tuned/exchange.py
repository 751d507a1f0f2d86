"""Measurements as text that other machines read: a line of JSON each; and those of another file, merged.

Those of other machines do not count here, but stay what they were for those machines.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from polysched.errors import InputError
from polysched.results.tuned.database import Database, Measurement, Row
from polysched.results.tuned.task import Task
from polysched.strategy.decision import Value

_TIMES = ("milliseconds", "default_milliseconds", "predicted_milliseconds", "build_seconds")
_NUMBERS = ("ratio", "low", "high", "predicted_ratio", *_TIMES)
_LATER = ("predicted_ratio", "build_seconds", "decisions", "features")  # than the first version of the schema
_SQLITE = b"SQLite format 3\0"


def exported(database: Database) -> str:
    """All that there is."""
    return "".join(f"{json.dumps({**asdict(row.task), **asdict(row.measurement)})}\n" for row in database.rows())


def merged(database: Database, file: Path) -> int:
    """Adds the measurements of another database, or of an export, in place of older ones; gives their number.
    InputError if the file is neither."""
    known = {(row.task, row.measurement.answers): row.measurement.made for row in database.rows()}
    new = [row for row in _rows(file) if row.measurement.made > known.get((row.task, row.measurement.answers), "")]
    for row in new:
        try:
            database.keep(row.task, row.measurement)
        except ValueError as error:
            raise InputError(f"'{file}' holds what cannot be true: {error}") from error
    return len(new)


def _rows(file: Path) -> Iterator[Row]:
    content = file.read_bytes()
    if content.startswith(_SQLITE):
        yield from _rows_of_database(file)
        return
    for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
        try:
            yield _row(json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            hint = "give a database, or what `polysched db export` wrote"
            raise InputError(f"line {number} of '{file}' is no measurement: {error}", hint=hint) from error


def _rows_of_database(file: Path) -> list[Row]:
    """Of a copy, since the schema of the file stays as it is: who writes to it may have an earlier polysched."""
    with TemporaryDirectory() as folder:
        copy, source = Path(folder, file.name), f"{file.absolute().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(source, uri=True)) as theirs, closing(sqlite3.connect(copy)) as ours:
                theirs.backup(ours)
        except sqlite3.Error as error:
            raise InputError(f"the database '{file}' cannot be read: {error}") from error
        with Database(copy) as other:
            return other.rows()


def _row(data: dict[str, Any]) -> Row:
    of = {each.name: str(data[each.name]) for each in fields(Task)}
    found = {each.name: data[each.name] for each in fields(Measurement) if each.name in data or each.name not in _LATER}
    for name in ("answers", "decisions"):
        found[name] = tuple((str(key), _plain(value)) for key, value in found.get(name, ()))
    found["features"] = {str(name): float(value) for name, value in found.get("features", {}).items()}
    for name in _NUMBERS:
        found[name] = None if found.get(name) is None else float(found[name])
    if found["state"] == "confirmed" and None in (found["ratio"], found["low"], found["high"]):
        raise ValueError("it is confirmed without a ratio and its interval")
    return Row(Task(**of), Measurement(**found))


def _plain(value: Any) -> Value:
    if not isinstance(value, bool | int | str):
        raise TypeError(f"{value!r} is no answer")
    return value
