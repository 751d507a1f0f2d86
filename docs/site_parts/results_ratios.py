"""Which columns of a table are ratios, which way is better, and so how to draw it: told by names, text and figures."""

from __future__ import annotations

import re
from itertools import permutations

from docs.site_parts.results_tables import Column, Table

OURS = r"(?:^|: |, )(ours|after|now|with( them)?|all|full|stage|in windows(: \w+)?)(, \d| \(\d\))?$"
RIVAL = r"\bsource\b|\bbefore$|\bwithout\b|\bseveral\b|stage by stage|PyTorch"
RIVAL_ROW = r"^(\w+, )?(without|PyTorch)\b"
HIGHER = r"\bspeed(-?up)?\b|^x\b|\bof (ours|it)$|\bover (after|ours)|/ ?(ours|after|all|now|with)$"
RATIO = rf"\bratio|{HIGHER}|^ours ?/"
UNIT = r"^(ms|us|s|milliseconds|microseconds|seconds)$"
NOT_A_RESULT = r"\bbefore$|predicted|/ off$"
ABOUT_RATIOS = r"(over|/) ours\b|times as fast|time over new"


def judge(table: Table, context: str = "") -> Table:
    """The table, its columns known as ratios or not. `context` is the text around it."""
    _find_quotients(table.columns)
    _qualify(table.columns)
    _find_ratios(table, context)
    return table


def kind(table: Table) -> str:
    """How to draw it: `ratios`, `times` side by side, `variants` in rows, or empty if nothing is compared."""
    if any(column.ratio for column in table.columns):
        return "ratios"
    if variants(table) or sum(compares(column) for column in table.columns) > 1:
        return "times"
    return "variants" if any(re.search(RIVAL_ROW, label) for label in table.labels) else ""


def compares(column: Column) -> bool:
    return column.fractional and bool(re.search(rf"{OURS}|{RIVAL}", column.name))


def variants(table: Table) -> Table | None:
    """The times of rows such as `gemm, ours` and `gemm, source order`, in a column for each."""
    times = next((column for column in table.columns if re.search(UNIT, column.name)), None)
    pairs = [label.rpartition(", ") for label in table.labels]
    starts = [k for k, (_, _, variant) in enumerate(pairs) if variant == "ours"]
    names = [*dict.fromkeys(variant for _, _, variant in pairs)]
    if not times or not starts or len(names) < 2:
        return None
    cells = {(sum(start <= k for start in starts), pair[2]): times.cells[k] for k, pair in enumerate(pairs)}
    rows = range(1, len(starts) + 1)
    return Table([pairs[k][0] for k in starts],
                 [Column(name, [cells.get((row, name), ()) for row in rows], True) for name in names])


def _qualify(columns: list[Column]) -> None:
    """`a: b`, `c` is read as `a: b`, `a: c`; a name that stands twice, with the one before."""
    names = [column.name for column in columns]
    said = owner = ""
    for column in columns:
        head = re.fullmatch(r"(.*over.*)(?:: |, (?=1 thread))(.*)", column.name)
        said = head[1] if head else said
        again = column.name and names.count(column.name) > 1 and ": " not in column.name
        owner = owner if again else column.name
        if said and not head:
            column.name = f"{said}: {column.name}"
        elif again and owner not in column.name:
            column.name = f"{owner} {column.name}"


def _find_quotients(columns: list[Column]) -> None:
    """Columns that are others divided, told by their figures."""
    for k, column in enumerate(columns):
        for top, under in permutations(columns[:k], 2) if column.fractional else ():
            better = bool(re.search(OURS, under.name)) - bool(re.search(OURS, top.name))
            known = (better and top.fractional and under.fractional) or column.name == under.name != ""
            if known and _agree([_is_quotient(column, top, under, row) for row in range(len(column.cells))]):
                column.ratio, column.better = True, better
                if not re.search(RATIO, column.name) and top.name != under.name:
                    column.name = f"{top.name} / {under.name}"
                break


def _find_ratios(table: Table, context: str) -> None:
    """Ratios by their names, or by what the text says of all columns; which way is better, by names and figures."""
    for column in table.columns:
        column.ratio |= bool(re.search(RATIO, column.name)) and column.fractional
    if not any(c.ratio for c in table.columns) and not variants(table) and re.search(ABOUT_RATIOS, context):
        for column in table.columns:
            column.ratio, column.better = column.fractional, int(column.fractional)
    for column in table.columns:
        if re.search(NOT_A_RESULT, column.name):
            column.better = 0
        elif column.ratio and not column.better:
            column.better = int(bool(re.search(HIGHER, column.name)) or _is_over_ours(column, table.columns))


def _is_over_ours(column: Column, columns: list[Column]) -> bool:
    """Whether ours times this is, in each row, the time of some other."""
    others = [c for c in columns if c is not column]
    rows = range(len(column.cells))
    return any(_agree([any(_is_quotient(column, top, ours, row) for top in others if top is not ours) for row in rows])
               for ours in others if re.search(OURS, ours.name))


def _is_quotient(column: Column, top: Column, under: Column, row: int) -> bool:
    value, a, b = (c.cells[row][0] if c.cells[row] else 0.0 for c in (column, top, under))
    return bool(value and a and b) and abs(a / b - value) < 0.006 + 0.02 * value


def _agree(checks: list[bool]) -> bool:
    return len(checks) > 1 and sum(checks) >= 0.8 * len(checks)
