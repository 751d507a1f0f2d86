"""Runs of benchmarks that `make bench` has kept as JSON, in the place of the tables that RESULTS.md has of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from docs.site_parts.results_piece import Piece
from docs.site_parts.results_ratios import judge
from docs.site_parts.results_tables import Column, Table

FOLDER = Path(__file__).parents[2] / "benchmarks" / "results"


def with_records(pieces: Sequence[Piece], folder: Path = FOLDER) -> Iterator[Piece]:
    """The pieces, the first table of a section that is headed by a recorded command replaced by the record."""
    records = {record["command"]: record for path in sorted(folder.glob("*.json")) if (record := _read(path))}
    for piece in pieces:
        command = piece.section.strip("`")
        if piece.tables and command in records:
            yield from _pieces(piece, records.pop(command))
        else:
            yield piece


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _pieces(before: Piece, record: dict[str, Any]) -> Iterator[Piece]:
    where = f"{record['machine']}, load {record['load']}; {record['compiler']}; Python {record['python']}"
    yield Piece(f"{where}; {record['date']}, in {record['seconds']:.0f} s.\n\n", before.section)
    printed = "\n".join(record["printed"])
    context = f"{before.context} {record['printed'][0]}"
    tables = [judge(_table(found), context) for found in record["tables"]]
    yield Piece(f"```\n{printed}\n```", before.section, before.context, tables)


def _table(found: dict[str, Any]) -> Table:
    columns = [Column(**{**column, "cells": [tuple(cell) for cell in column["cells"]]}) for column in found["columns"]]
    return Table(**{**found, "columns": columns})
