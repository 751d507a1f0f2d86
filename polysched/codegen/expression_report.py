"""What the passes over expressions made of a kernel: operations by pass and loop, temporaries, candidates.

    pass       written  executed  temporaries
    linearize        6       768            0
    licm             4       388            1

    licm, by loop  written    executed
    i_outer         0 -> 1      0 -> 4
    i_inner         6 -> 3  768 -> 384

    temporary  value         line  live in  uses  lives across
    t0         i_outer * 32     3        5     3  i_inner

    candidates
    t0 = i_outer * 32: before i_inner
    in i_inner: i_outer * 32 + i_inner: changes with i_inner

Operations are those of `count.py`; lines are those of the kernel after the last pass, as it prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from polysched.codegen.count import Count, IntegerOperations, number, operations_by_loop, total
from polysched.codegen.expr.licm import Motion
from polysched.codegen.lowered import own_expressions
from polysched.ir.node import walk
from polysched.ir.nodes import Expr, For, Function, If, Let, Stmt, Var
from polysched.ir.text import show
from polysched.support.brief import brief

OUTSIDE = "(outside)"  # of all loops
_ACROSS = "lives across"


@dataclass(frozen=True, kw_only=True)
class PassReport:
    """One pass of the stage; of the first entry, which is before the stage, before and after are the same."""

    name: str
    before: Mapping[str, IntegerOperations]  # by loop variable; "" is outside of all loops
    after: Mapping[str, IntegerOperations]
    changed: bool

    @property
    def loops(self) -> list[str]:
        """Those with operations before or after the pass."""
        found = dict.fromkeys((*self.before, *self.after))
        return [loop for loop in found if any(at[loop].written for at in (self.before, self.after) if loop in at)]

    @property
    def operations(self) -> IntegerOperations:
        """Those of the whole function after the pass."""
        return total(self.after)


@dataclass(frozen=True, kw_only=True)
class Temporary:
    """A name in the last function, and where it lives."""

    name: str
    value: Expr
    line: int  # that binds it
    uses: tuple[int, ...]  # lines, a line twice if it uses it twice
    across: tuple[str, ...]  # loops that it lives across: bound outside of them, and used in them

    @property
    def live(self) -> tuple[int, int]:
        """The lines of its first and its last use; its own if it has none."""
        return min(self.uses, default=self.line), max(self.uses, default=self.line)


@dataclass(frozen=True, kw_only=True)
class ExpressionReport:
    """What the passes did; prints as tables."""

    title: str
    passes: tuple[PassReport, ...]
    temporaries: tuple[Temporary, ...]
    motions: tuple[Motion, ...]  # of the candidates to be lifted
    before: Function = field(repr=False)
    after: Function = field(repr=False)

    def __repr__(self) -> str:
        return brief(self, f"{self.title}: {', '.join(each.name for each in self.passes)}")

    def __str__(self) -> str:
        return "\n\n".join(filter(None, ("\n".join(part) for part in self._parts())))

    def _parts(self) -> Iterator[Iterable[str]]:
        yield [self.title]
        yield _table(["pass", "written", "executed", "temporaries"], map(_pass_row, self.passes), left=1)
        for one in self.passes:
            if one.before != one.after:
                rows = (_loop_row(loop, one) for loop in one.loops)
                yield _table([f"{one.name}, by loop", "written", "executed"], rows, left=1)
        if self.temporaries:
            titles = ["temporary", "value", "line", "live in", "uses", _ACROSS]
            yield _table(titles, map(_temporary_row, self.temporaries), left=2)
        if self.motions:
            lifted = dict.fromkeys(f"{motion}" for motion in self.motions if motion.name)
            left = dict.fromkeys(f"in {motion.loop}: {motion}" for motion in self.motions if not motion.name)
            yield ["candidates", *lifted, *left]


def expression_report(
    passes: Sequence[tuple[str, Function]], sizes: Mapping[str, int] | None = None, motions: Iterable[Motion] = ()
) -> ExpressionReport:
    """What each pass did: `passes` are their names and what they gave, the first the step before the stage.

    Executed operations are those at these `sizes`; without, polynomials in the sizes, or unknown.
    """
    before = after = passes[0][1]
    counted = last = operations_by_loop(before, sizes)
    found: list[PassReport] = []
    for name, after in passes:
        if changed := after != before:
            last = operations_by_loop(after, sizes)
        found.append(PassReport(name=name, before=counted, after=last, changed=changed or not found))
        before, counted = after, last
    at = f" at {', '.join(f'{size}={value}' for size, value in sizes.items())}" if sizes else ""
    return ExpressionReport(
        title=f"integer operations of {after.name}{at}",
        passes=tuple(found),
        temporaries=tuple(_temporaries(after)),
        motions=tuple(motions),
        before=passes[0][1],
        after=after,
    )


def annotated(fn: Function, sizes: Mapping[str, int] | None = None) -> str:
    """The text of a function with line numbers, and at each loop the operations in it, outside of the loops in it."""
    loops = operations_by_loop(fn, sizes)
    lines = show(fn).splitlines()
    headers = {line: stmt.var for line, stmt, _ in _statements(fn) if isinstance(stmt, For)}
    width = max((len(lines[line - 1]) for line in headers), default=0)
    counted = {line: loops[var] for line, var in {1: "", **headers}.items()}
    notes = {line: f"  # {n.written} written, {number(n.executed)} executed" for line, n in counted.items()}
    digits = len(str(len(lines)))
    return "\n".join(
        f"{k:{digits}}  {line:{width if k in headers else 0}}{notes.get(k, '')}"
        for k, line in enumerate(lines, start=1)
    )


# --- temporaries


def _temporaries(fn: Function) -> Iterator[Temporary]:
    statements = list(_statements(fn))
    uses: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for line, stmt, loops in statements:
        for node in walk(tuple(own_expressions(stmt))):
            if isinstance(node, Var):
                uses.setdefault(node.name, []).append((line, loops))
    for line, stmt, loops in statements:
        if isinstance(stmt, Let):
            used = uses.get(stmt.name, [])
            across = dict.fromkeys(loop for _, inner in used for loop in inner[len(loops) :])
            lines = tuple(at for at, _ in used)
            yield Temporary(name=stmt.name, value=stmt.value, line=line, uses=lines, across=tuple(across))


def _statements(fn: Function) -> Iterator[tuple[int, Stmt, tuple[str, ...]]]:
    """Every statement with its line in the text of `fn`, and the loops around it."""
    line = 1

    def block(body: tuple[Stmt, ...], loops: tuple[str, ...]) -> Iterator[tuple[int, Stmt, tuple[str, ...]]]:
        nonlocal line
        line += not body  # `pass`
        for stmt in body:
            line += 1
            yield line, stmt, loops
            match stmt:
                case For(var, body=inner):
                    yield from block(inner, (*loops, var))
                case If(then=then, other=other):
                    yield from block(then, loops)
                    if other:
                        line += 1
                        yield from block(other, loops)

    yield from block(fn.body, ())


# --- tables


def _pass_row(one: PassReport) -> list[str]:
    operations, name = one.operations, one.name if one.changed else f"{one.name} (unchanged)"
    return [name, str(operations.written), number(operations.executed), str(operations.temporaries)]


def _loop_row(loop: str, one: PassReport) -> list[str]:
    none = IntegerOperations(0, 0)
    before, after = one.before.get(loop, none), one.after.get(loop, none)
    return [loop or OUTSIDE, _step(before.written, after.written), _step(before.executed, after.executed)]


def _step(before: Count, after: Count) -> str:
    return number(before) if before == after else f"{number(before)} -> {number(after)}"


def _temporary_row(one: Temporary) -> list[str]:
    first, last = one.live
    live = str(first) if first == last else f"{first}-{last}"
    return [one.name, str(one.value), str(one.line), live, str(len(one.uses)), " ".join(one.across)]


def _table(titles: list[str], rows: Iterable[list[str]], left: int) -> Iterator[str]:
    """Lines of a table: its first `left` columns and a last one without numbers are words."""
    cells = [titles, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(titles))]
    words = {*range(left), *([len(titles) - 1] if titles[-1] == _ACROSS else [])}
    for row in cells:
        padded = (
            cell.ljust(width) if column in words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(padded).rstrip()
