"""What a nest does, and with how much data, as formulas in its sizes.

    for i: for j: for k:                         n**3 additions and multiplications of f64, 32 * n**3 bytes accessed,
        C[i, j] += A[i, k] * B[k, j]    ->       24 * n**2 bytes touched; each element of A is used n times

Counted is what the source says: every load and store of arrays as often as it runs, without caches or registers.
Subscripts and loops cost nothing here; what an update such as `h[x[i]] += 1` loads to find its element counts once.
What runs only where data says so counts too, and so does each element that data may choose: then figures are "at most".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from polysched.counts.figures import ArrayCounts, Counts, Figure, NestCounts, sum_of
from polysched.counts.tally import Event, Tally
from polysched.errors import InputError
from polysched.frontend.python import Nest
from polysched.ir.node import uses, walk
from polysched.ir.nodes import Array, For, Function
from polysched.ir.text import in_words
from polysched.model.counting.cardinality import cardinality, large_sizes
from polysched.model.counting.interpolated import SMALLEST, interpolated
from polysched.model.extract import extract
from polysched.model.lines import statements_at
from polysched.model.scop import Scop, Statement
from polysched.plan.prepare import function_of
from polysched.prelude.structure.structure import structured
from polysched.support import isl
from polysched.support.entry import entry


@entry
def counts(nest: Nest | Function, sizes: Mapping[str, int] | None = None, *, line: int | None = None) -> Counts:
    """What each loop nest of a function does, as polynomials in those sizes that are not given.

    With `line`, only the statements of that line of the source, or in the loop there. InputError for sizes that it does
    not have, or that leave its arrays, and for a line that has no statement.
    """
    function = function_of(nest)
    scop = extract(structured(function))
    sizes = dict(sizes or {})
    require_sizes(function, sizes)
    valid = _at(scop.valid_sizes, sizes)
    if valid.is_empty():
        raise InputError(f"'{function.name}' leaves its arrays at {in_words(sizes)}")
    counter = _Counter(scop, sizes, large_sizes(valid), valid)
    told = tuple(_nests(scop, statements_at(scop, line), line))
    nests = [counter.nest(title, statements) for title, statements in told]
    if len(nests) > 1:
        nests.append(counter.nest("all together", tuple(s for _, statements in told for s in statements)))
    return Counts(name=function.name, nests=tuple(nests), where=_conditions(counter.where, valid, sizes))


def require_sizes(function: Function, given: Mapping[str, int]) -> None:
    """InputError for sizes that the function does not have."""
    if unknown := [name for name in given if name not in function.sizes]:
        hint = f"its sizes are: {', '.join(function.sizes) or 'none'}"
        raise InputError(f"'{function.name}' has no size {', '.join(unknown)}", hint=hint)


def _nests(scop: Scop, chosen: frozenset[str], line: int | None) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    """The outermost loops, and what is outside of loops, with their chosen statements, which the title says if these
    are not all of them."""
    left = list(scop.statements)
    for stmt in scop.function.body:
        inside = {id(node) for node in walk(stmt)}
        own = tuple(s for s in left if any(id(node) in inside for node in walk(s.body)))
        left = [s for s in left if s not in own]
        told = tuple(s for s in own if s.name in chosen)
        if told:
            at = f", {stmt.loc.file.rsplit('/', 1)[-1]}:{stmt.loc.line}" if stmt.loc else ""
            what = f"for {stmt.var}" if isinstance(stmt, For) else "outside of loops"
            yield f"{what}{at}{'' if told == own else f', only what line {line} runs'}", told


@dataclass
class _Counter:
    scop: Scop
    sizes: dict[str, int]
    large: isl.Set  # sizes for which formulas are wanted, in any case
    where: isl.Set  # all those for which the formulas so far hold
    known: dict[str, Figure] = field(default_factory=dict)  # how often each statement runs

    def nest(self, title: str, statements: tuple[Statement, ...]) -> NestCounts:
        totals: dict[Event, Figure] = {}
        for statement in statements:
            tally = Tally()
            tally.statements(statement.body)
            for event, times in tally.times.items():
                own = replace(self.runs(statement), at_most=event in tally.maybe) * times
                totals[event] = totals.get(event, Figure()) + own
        operations = {name: figure for (what, name), figure in sorted(totals.items()) if what == "operation"}
        arrays = tuple(
            ArrayCounts(
                name=array.name,
                bytes=max(1, array.dtype.bits // 8),
                reads=totals.get(("read", array.name), Figure()),
                writes=totals.get(("write", array.name), Figure()),
                elements=self.elements(array, statements),
            )
            for array in self.scop.arrays
            if totals.keys() & {("read", array.name), ("write", array.name)}
        )
        return NestCounts(title=title, operations=operations, arrays=arrays)

    def elements(self, array: Array, statements: tuple[Statement, ...]) -> Figure:
        """Exact if all that may be accessed is for sure; else at most that, and at most as many as accesses."""
        touched = [
            (access.must, access.relation.intersect_domain(self.domain(statement)).range())
            for statement in statements
            for access in (*statement.reads, *statement.writes)
            if access.array == array.name
        ]
        if not touched:
            return Figure()
        every = reduce(isl.Set.union, (part for _, part in touched))
        sure = reduce(isl.Set.union, (part for must, part in touched if must), isl.Set.empty(every.get_space()))
        reached = self.points(every)
        if every.is_subset(sure):
            return reached
        happen = sum_of(self.runs(s) * len({use.index for use in uses(s.body, array.name)}) for s in statements)
        return replace(_smaller(reached, happen), at_most=True)

    def runs(self, statement: Statement) -> Figure:
        """How often the statement's instances run what stands in them; unknown if there are loops in them."""
        if statement.name not in self.known:
            has_loops = any(isinstance(node, For) for node in walk(statement.body))
            self.known[statement.name] = Figure(None) if has_loops else self.points(self.domain(statement))
        return self.known[statement.name]

    def domain(self, statement: Statement) -> isl.Set:
        return statement.domain.intersect_params(self.scop.valid_sizes)

    def points(self, points: isl.Set) -> Figure:
        """How many there are, where `where` holds from now on."""
        points = _at(points, self.sizes)
        found = cardinality(points)
        if found is not None:
            self.where = found.within(self.where, self.large)
            return Figure(found.formula(self.large))
        fitted = interpolated(points)
        if fitted is None or not points.dim(isl.dim_type.param):
            return Figure(fitted)
        for k in range(self.where.dim(isl.dim_type.param)):
            self.where = self.where.lower_bound_val(isl.dim_type.param, k, isl.Val(SMALLEST))
        return Figure(fitted, fitted=True)


def _smaller(reached: Figure, happen: Figure) -> Figure:
    """The first unless both are numbers: formulas may be smaller at one size and larger at another."""
    if reached.formula is None:
        return happen
    both = [figure.formula for figure in (reached, happen) if figure.formula is not None]
    if len(both) < 2 or any(formula.names for formula in both):
        return reached
    return min(reached, happen, key=lambda figure: figure.formula.constant if figure.formula else 0)


def _at(points: isl.Set, sizes: Mapping[str, int]) -> isl.Set:
    """The points at these sizes, which are no parameters any more."""
    for name, value in sizes.items():
        k = points.find_dim_by_name(isl.dim_type.param, name)
        if k >= 0:
            points = points.fix_val(isl.dim_type.param, k, isl.Val(value)).project_out(isl.dim_type.param, k, 1)
    return points


def _conditions(where: isl.Set, known: isl.Set, sizes: Mapping[str, int]) -> str:
    """As in "n >= 2, at m = 100"."""
    text = str(where.gist(known)).rpartition("{")[2].partition("}")[0].strip(" :")
    return " and ".join(filter(None, [text, in_words(sizes)]))
