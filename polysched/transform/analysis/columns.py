"""How many columns of a pipeline are computed at a time: as many as the first cache holds of the rows that are in use.

    b[y, x] = a[y, x - 1] + a[y, x + 1]            a: 1 row, b: 3 rows of four in turns, c: 1 row, of f32
    c[y, x] = b[y - 1, x] + b[y, x] + b[y + 1, x]      ->   24 bytes a column, 512 columns in 12 KB

Rows that go through the second cache cost nothing where each of their bytes is used by many operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polysched.config.heuristics.cpu import BUSY, ROWS_OF_L1, WIDEST_STRIP
from polysched.config.heuristics.nest import FOLDED_SIZES
from polysched.config.machine import Machine
from polysched.ir.dtypes import i64
from polysched.ir.node import walk, without_subscripts
from polysched.ir.nodes import Array, Binary, Expr
from polysched.model.extents import largest
from polysched.model.scop import Scop
from polysched.support import isl
from polysched.transform.edits.base.loops import Loop


def columns(stages: Sequence[Loop], scop: Scop, machine: Machine) -> int:
    """A power of two; 0 if there is no need for tiles along rows."""
    used = sum(_bytes(array, stages, scop) or machine.l1 for array in scop.arrays)
    statements = (scop.statement(name) for stage in stages for name in stage.statements)
    if sum(1 for statement in statements for _ in _operations(statement.body)) > BUSY * used:
        return 0
    fit = int(machine.l1 * ROWS_OF_L1) // max(used, 1)
    return 1 << fit.bit_length() - 1 if 0 < fit < 2 * WIDEST_STRIP else 0


def _bytes(array: Array, stages: Sequence[Loop], scop: Scop) -> int | None:
    """Of a column in all rows that an iteration uses; None if no constant is enough."""
    spans = [_rows(array.name, stage, scop) for stage in stages]
    if not array.shape or None in spans:
        return None
    rows = max(span for span in spans if span is not None)
    is_given = array in scop.function.arrays
    in_turns = rows if is_given else next((size for size in FOLDED_SIZES if size >= rows), None)
    return None if in_turns is None else in_turns * array.dtype.bits // 8


def _rows(array: str, stage: Loop, scop: Scop) -> int | None:
    """How many rows of the array an iteration of the stage uses, and all between them; None if any number."""
    accesses = [a for name in stage.statements for s in (scop.statement(name),) for a in s.accesses]
    touched = isl.union_map(access.relation for access in accesses if access.array == array)
    touched = touched.apply_domain(stage.member.schedule)
    if touched.is_empty():
        return 0
    rows = isl.along(isl.Map.from_union_map(touched), 0)
    span = largest(rows.lexmax().sum(rows.lexmin().neg()).range())
    return int(span.to_python()) + 1 if span.is_int() else None


def _operations(body: object) -> Iterator[Expr]:
    """But for subscripts."""
    return (node for node in walk(without_subscripts(body)) if isinstance(node, Binary) and node.dtype != i64)
