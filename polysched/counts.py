"""What a nest does, and with how much data, as formulas in its sizes.

    for i: for j: for k:                         n**3 additions and multiplications of f64, 32 * n**3 bytes accessed,
        C[i, j] += A[i, k] * B[k, j]    ->       24 * n**2 bytes touched; each element of A is used n times

Counted is what the source says: every load and store of arrays as often as it runs, without caches or registers.
Subscripts and loops cost nothing here; what an update such as `h[x[i]] += 1` loads to find its element counts once.
What runs only where data says so counts too, and so does each element that data may choose: then figures are "at most".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from math import gcd, lcm

from polysched import isl
from polysched.codegen.passes.count import number
from polysched.codegen.passes.structure import structured
from polysched.errors import InputError
from polysched.frontend.python import Nest
from polysched.ir.node import walk
from polysched.ir.nodes import (
    Array,
    Binary,
    Call,
    Cast,
    Expr,
    For,
    Function,
    If,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
)
from polysched.ir.polynomial import Polynomial
from polysched.model.cardinality import cardinality, large_sizes
from polysched.model.extract import extract
from polysched.model.interpolated import SMALLEST, interpolated
from polysched.model.lines import statements_at
from polysched.model.scop import Scop, Statement
from polysched.prepare import function_of

Count = Polynomial | None  # None: unknown
_NOTHING = Polynomial()


@dataclass(frozen=True)
class Figure:
    """A count, which is exact unless it says that it is not."""

    formula: Count = _NOTHING
    at_most: bool = False  # data decides
    fitted: bool = False  # a polynomial through counts at small sizes, not proven

    def __add__(self, other: Figure) -> Figure:
        known = self.formula is not None and other.formula is not None
        formula = self.formula + other.formula if known else None  # type: ignore[operator]
        return Figure(formula, self.at_most or other.at_most, self.fitted or other.fitted)

    def __mul__(self, times: int) -> Figure:
        return replace(self, formula=None if self.formula is None else self.formula * times)

    def __str__(self) -> str:
        marks = {"at most": self.at_most, "fitted": self.fitted and self.formula is not None}
        return _marked(number(self.formula), *(mark for mark, holds in marks.items() if holds))


@dataclass(frozen=True, kw_only=True)
class ArrayCounts:
    """How often a nest accesses an array, and how many elements of it."""

    name: str
    bytes: int  # of an element
    reads: Figure
    writes: Figure
    elements: Figure  # different ones

    @property
    def accesses(self) -> Figure:
        return self.reads + self.writes


@dataclass(frozen=True, kw_only=True)
class NestCounts:
    """What the statements of one loop nest do, all in all."""

    title: str
    operations: dict[str, Figure]  # by kind, as in "f64 +"
    arrays: tuple[ArrayCounts, ...]

    @property
    def float_operations(self) -> Figure:
        return _sum(figure for kind, figure in self.operations.items() if kind.startswith("f"))

    @property
    def bytes_read(self) -> Figure:
        return _sum(array.reads * array.bytes for array in self.arrays)

    @property
    def bytes_written(self) -> Figure:
        return _sum(array.writes * array.bytes for array in self.arrays)

    @property
    def bytes_touched(self) -> Figure:
        """The footprint: each element once."""
        return _sum(array.elements * array.bytes for array in self.arrays)

    @property
    def figures(self) -> Iterator[Figure]:
        """All of its table."""
        yield from self.operations.values()
        for array in self.arrays:
            yield from (array.elements, array.reads, array.writes)

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind}: {figure}" for kind, figure in self.operations.items()) or "none"
        accesses = f"  bytes       {self.bytes_read} read, {self.bytes_written} written, {self.bytes_touched} touched"
        head = [self.title, f"  operations  {kinds}", accesses]
        if self.float_operations.formula != _NOTHING:
            each = f"{rate(self.float_operations, self.bytes_touched)} a byte touched"
            accessed = rate(self.float_operations, self.bytes_read + self.bytes_written)
            head.append(f"  intensity   {each}, {accessed} a byte accessed")
        rows = [("array", "elements", "reads", "writes", "reuse")]
        for array in self.arrays:
            reuse = rate(array.accesses, array.elements)
            rows.append((array.name, str(array.elements), str(array.reads), str(array.writes), reuse))
        widths = [max(len(row[k]) for row in rows) for k in range(5)]
        table = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join([*head, *(f"  {line.rstrip()}" for line in table)])


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What each loop nest of a function does; printed, a table for each."""

    name: str
    nests: tuple[NestCounts, ...]  # in source order; of several, all together at the end
    where: str  # for which sizes the formulas hold, as in "n >= 2"; "" for all

    @property
    def is_exact(self) -> bool:
        """Is no figure at most what it says?"""
        return not any(figure.at_most for nest in self.nests for figure in nest.figures)

    @property
    def is_fitted(self) -> bool:
        """Is one of them a polynomial through counts at small sizes, and not proven?"""
        return any(figure.fitted for nest in self.nests for figure in nest.figures)

    def __str__(self) -> str:
        at_most = [] if self.is_exact else ['"at most" where data decides']
        marks = [*at_most, *(['"fitted" to counts at small sizes'] if self.is_fitted else [])]
        legend = f"; {', '.join([*marks, 'all else exact'])}" if marks else ""
        head = f"{self.name}{f' where {self.where}' if self.where else ''}{legend}"
        return "\n".join([head, *(str(nest) for nest in self.nests)])


def counts(nest: Nest | Function, sizes: Mapping[str, int] | None = None, *, line: int | None = None) -> Counts:
    """What each loop nest of a function does, as polynomials in those sizes that are not given.

    With `line`, only the statements of that line of the source, or in the loop there. InputError for sizes that it does
    not have, or that leave its arrays, and for a line that has no statement.
    """
    function = function_of(nest)
    scop = extract(structured(function))
    sizes = dict(sizes or {})
    unknown = [name for name in sizes if name not in function.sizes]
    if unknown:
        hint = f"its sizes are: {', '.join(function.sizes) or 'none'}"
        raise InputError(f"'{function.name}' has no size {', '.join(unknown)}", hint=hint)
    valid = _at(scop.valid_sizes, sizes)
    if valid.is_empty():
        given = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        raise InputError(f"'{function.name}' leaves its arrays at {given}")
    counter = _Counter(scop, sizes, large_sizes(valid), valid)
    told = tuple(_nests(scop, statements_at(scop, line), line))
    nests = [counter.nest(title, statements) for title, statements in told]
    if len(nests) > 1:
        nests.append(counter.nest("all together", tuple(s for _, statements in told for s in statements)))
    return Counts(name=function.name, nests=tuple(nests), where=_conditions(counter.where, valid, sizes))


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
        totals: dict[_Event, Figure] = {}
        for statement in statements:
            tally = _Tally()
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
        happen = _sum(self.runs(statement) * len(_places(array, statement)) for statement in statements)
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
        self.where = reduce(_from_smallest, range(self.where.dim(isl.dim_type.param)), self.where)
        return Figure(fitted, fitted=True)


def _places(array: Array, statement: Statement) -> set[tuple[Expr, ...]]:
    """The elements that an instance accesses, as they are written."""
    return {node.index for node in walk(statement.body) if isinstance(node, Load | Store) and node.array == array.name}


def _smaller(reached: Figure, happen: Figure) -> Figure:
    """The first unless both are numbers: formulas may be smaller at one size and larger at another."""
    if reached.formula is None:
        return happen
    both = [figure.formula for figure in (reached, happen) if figure.formula is not None]
    if len(both) < 2 or any(formula.names for formula in both):
        return reached
    return min(reached, happen, key=lambda figure: figure.formula.constant if figure.formula else 0)


def _from_smallest(sizes: isl.Set, k: int) -> isl.Set:
    return sizes.lower_bound_val(isl.dim_type.param, k, isl.Val(SMALLEST))


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
    given = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    return " and ".join(filter(None, [text, given]))


_Event = tuple[str, str]  # ("operation", "f64 +"), ("read", "A") or ("write", "A")


@dataclass(frozen=True)
class _Tally:
    """What the statements of one instance do."""

    times: Counter[_Event] = field(default_factory=Counter)
    maybe: set[_Event] = field(default_factory=set)  # those of which data decides whether all of them happen
    is_certain: bool = True  # does what is added now happen whatever the data?
    updated: tuple[str, tuple[Expr, ...]] | None = None  # the element that the statement stores to

    def add(self, what: str, name: str) -> None:
        self.times[what, name] += 1
        if not self.is_certain:
            self.maybe.add((what, name))

    @property
    def perhaps(self) -> _Tally:
        """The same, to which is added what happens only where data says so."""
        return replace(self, is_certain=False)

    def statements(self, body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            match stmt:
                case Store(array=array, index=index, value=value):
                    self.add("write", array)
                    self.subscripts(index)
                    replace(self, updated=(array, index)).expression(value)
                case Let(value=value):
                    self.expression(value)
                case If(cond=cond, then=then, other=other):
                    self.expression(cond)
                    self.perhaps.statements((*then, *other))
                case For(body=inner):
                    self.perhaps.statements(inner)

    def expression(self, expr: Expr) -> None:
        match expr:
            case Load(array=array, index=index):
                self.add("read", array)
                if (array, index) != self.updated:
                    self.subscripts(index)
            case Binary(op="&&" | "||" as op, left=left, right=right):
                self.add("operation", f"{left.dtype} {op}")
                self.expression(left)
                self.perhaps.expression(right)
            case Binary(op=op, left=left, right=right):
                self.add("operation", f"{left.dtype} {op}")
                self.expression(left)
                self.expression(right)
            case Unary(op=op, arg=arg):
                self.add("operation", f"{arg.dtype} {op}")
                self.expression(arg)
            case Select(cond=cond, then=then, other=other):
                self.add("operation", f"{then.dtype} select")
                self.expression(cond)
                self.perhaps.expression(then)
                self.perhaps.expression(other)
            case Call(fn=fn, args=args, dtype=dtype):
                self.add("operation", f"{dtype} {fn}")
                for arg in args:
                    self.expression(arg)
            case Cast(arg=arg):
                self.expression(arg)

    def subscripts(self, index: tuple[Expr, ...]) -> None:
        """What they load; their arithmetic costs nothing here."""
        for node in walk(index):
            if isinstance(node, Load):
                self.add("read", node.array)


def _sum(figures: Iterable[Figure]) -> Figure:
    return reduce(Figure.__add__, figures, Figure())


def rate(above: Figure, below: Figure) -> str:
    """One figure over another, as in "at least n / 12"; "about" if data makes both smaller."""
    bounds = {(True, False): ["at most"], (False, True): ["at least"], (True, True): ["about"], (False, False): []}
    fitted = ["fitted"] if above.fitted or below.fitted else []
    return _marked(ratio(above.formula, below.formula), *bounds[above.at_most, below.at_most], *fitted)


def _marked(text: str, *marks: str) -> str:
    return text if text in ("unknown", "none") else " ".join([*marks, text])


def ratio(above: Count, below: Count) -> str:
    """One count over another in lowest terms, as in "n / 12" or "(n - 1) / (n + 2)"; decimals of numbers alone."""
    if above is None or below is None or not below:
        return "unknown" if above is None or below is None else "none"
    if not above.names and not below.names:
        quotient = float(above.constant) / float(below.constant)
        return f"{quotient:.0f}" if quotient >= 100 else f"{quotient:.3g}"
    above, below = _lowest(above, below)
    whole, rest = above.divided(below)
    if not rest:
        return number(whole)
    one, other = (f"({number(p)})" if len(p.terms) > 1 else number(p) for p in (above, below))
    return f"{one} / ({other})" if " * " in other and other[0] != "(" else f"{one} / {other}"


def _lowest(above: Polynomial, below: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Without the names and numbers that are in all terms of both."""
    terms = [*above, *below]
    shared = reduce(Counter.__and__, (Counter(names) for names, _ in terms))
    whole = lcm(*(factor.denominator for _, factor in terms))
    by = Fraction(whole, gcd(*(int(factor * whole) for _, factor in terms)))

    def lowest(one: Polynomial) -> Polynomial:
        rest = ((tuple(sorted((Counter(names) - shared).elements())), int(factor * by)) for names, factor in one)
        return Polynomial.of(rest)

    return lowest(above), lowest(below)
