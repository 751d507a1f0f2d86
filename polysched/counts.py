"""What a nest does, and with how much data, as formulas in its sizes.

    for i: for j: for k:                         n**3 additions and multiplications of f64, 32 * n**3 bytes accessed,
        C[i, j] += A[i, k] * B[k, j]    ->       24 * n**2 bytes touched; each element of A is used n times

Counted is what the source says: every load and store of arrays as often as it runs, without caches or registers.
Subscripts and loops cost nothing here. What runs only where data says so counts too: then figures are "at most".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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
from polysched.model.scop import Scop, Statement
from polysched.prepare import function_of

Count = Polynomial | None  # None: unknown


@dataclass(frozen=True, kw_only=True)
class ArrayCounts:
    """How often a nest accesses an array, and how many elements of it."""

    name: str
    bytes: int  # of an element
    reads: Count
    writes: Count
    elements: Count  # different ones

    @property
    def accesses(self) -> Count:
        return _sum(self.reads, self.writes)


@dataclass(frozen=True, kw_only=True)
class NestCounts:
    """What the statements of one loop nest do, all in all."""

    title: str
    operations: dict[str, Count]  # by kind, as in "f64 +"
    arrays: tuple[ArrayCounts, ...]

    @property
    def float_operations(self) -> Count:
        return _sum(*(count for kind, count in self.operations.items() if kind.startswith("f")))

    @property
    def bytes_read(self) -> Count:
        return _sum(*(_times(array.bytes, array.reads) for array in self.arrays))

    @property
    def bytes_written(self) -> Count:
        return _sum(*(_times(array.bytes, array.writes) for array in self.arrays))

    @property
    def bytes_touched(self) -> Count:
        """The footprint: each element once."""
        return _sum(*(_times(array.bytes, array.elements) for array in self.arrays))

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind}: {number(count)}" for kind, count in self.operations.items()) or "none"
        read, written, touched = map(number, (self.bytes_read, self.bytes_written, self.bytes_touched))
        accesses = f"  bytes       {read} read, {written} written, {touched} touched"
        head = [self.title, f"  operations  {kinds}", accesses]
        if self.float_operations != Polynomial():
            accessed = _sum(self.bytes_read, self.bytes_written)
            each = f"{ratio(self.float_operations, self.bytes_touched)} a byte touched"
            head.append(f"  intensity   {each}, {ratio(self.float_operations, accessed)} a byte accessed")
        rows = [("array", "elements", "reads", "writes", "reuse")]
        for array in self.arrays:
            reuse = ratio(array.accesses, array.elements)
            rows.append((array.name, number(array.elements), number(array.reads), number(array.writes), reuse))
        widths = [max(len(row[k]) for row in rows) for k in range(5)]
        table = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join([*head, *(f"  {line.rstrip()}" for line in table)])


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What each loop nest of a function does; printed, a table for each."""

    name: str
    nests: tuple[NestCounts, ...]  # in source order; of several, all together at the end
    where: str  # for which sizes the formulas hold, as in "n >= 2"; "" for all
    is_exact: bool  # False: at most
    is_fitted: bool  # is one of them a polynomial through counts at small sizes, and not proven?

    def __str__(self) -> str:
        at_most = "" if self.is_exact else ", at most, for data decides"
        fitted = ", fitted to counts at small sizes" if self.is_fitted else ""
        head = f"{self.name}{f' where {self.where}' if self.where else ''}{fitted}{at_most}"
        return "\n".join([head, *(str(nest) for nest in self.nests)])


def counts(nest: Nest | Function, sizes: Mapping[str, int] | None = None) -> Counts:
    """What each loop nest of a function does, as polynomials in those sizes that are not given.

    InputError for sizes that it does not have, or that leave its arrays.
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
    nests = [counter.nest(title, statements) for title, statements in _nests(scop)]
    if len(nests) > 1:
        nests.append(counter.nest("all together", scop.statements))
    return Counts(
        name=function.name,
        nests=tuple(nests),
        where=_conditions(counter.where, valid, sizes),
        is_exact=counter.is_exact,
        is_fitted=counter.is_fitted,
    )


def _nests(scop: Scop) -> Iterator[tuple[str, tuple[Statement, ...]]]:
    """The outermost loops, and what is outside of loops, with their statements."""
    left = list(scop.statements)
    for stmt in scop.function.body:
        inside = {id(node) for node in walk(stmt)}
        own = tuple(s for s in left if any(id(node) in inside for node in walk(s.body)))
        left = [s for s in left if s not in own]
        if own:
            at = f", {stmt.loc.file.rsplit('/', 1)[-1]}:{stmt.loc.line}" if stmt.loc else ""
            what = f"for {stmt.var}" if isinstance(stmt, For) else "outside of loops"
            yield f"{what}{at}", own


@dataclass
class _Counter:
    scop: Scop
    sizes: dict[str, int]
    large: isl.Set  # sizes for which formulas are wanted, in any case
    where: isl.Set  # all those for which the formulas so far hold
    is_exact: bool = True
    is_fitted: bool = False
    known: dict[str, Count] = field(default_factory=dict)  # how often each statement runs

    def nest(self, title: str, statements: tuple[Statement, ...]) -> NestCounts:
        operations: dict[str, Count] = {}
        reads: dict[str, Count] = {}
        writes: dict[str, Count] = {}
        for statement in statements:
            found = _Tally().of(statement.body)
            self.is_exact &= found.is_exact
            runs = self.runs(statement) if found.is_known else None
            for total, own in ((operations, found.operations), (reads, found.loads), (writes, found.stores)):
                for name, times in own.items():
                    total[name] = _sum(total.get(name, Polynomial()), _times(times, runs))
        arrays = [self.array(array, statements, reads, writes) for array in self.scop.arrays]
        used = tuple(array for array in arrays if array.name in {*reads, *writes})
        return NestCounts(title=title, operations=dict(sorted(operations.items())), arrays=used)

    def array(
        self, array: Array, statements: tuple[Statement, ...], reads: dict[str, Count], writes: dict[str, Count]
    ) -> ArrayCounts:
        none = Polynomial()
        return ArrayCounts(
            name=array.name,
            bytes=max(1, array.dtype.bits // 8),
            reads=reads.get(array.name, none),
            writes=writes.get(array.name, none),
            elements=self.elements(array, statements),
        )

    def elements(self, array: Array, statements: tuple[Statement, ...]) -> Count:
        touched = [
            access.relation.intersect_domain(statement.domain.intersect_params(self.scop.valid_sizes)).range()
            for statement in statements
            for access in (*statement.reads, *statement.writes)
            if access.array == array.name
        ]
        return self.points(reduce(isl.Set.union, touched)) if touched else Polynomial()

    def runs(self, statement: Statement) -> Count:
        if statement.name not in self.known:
            self.known[statement.name] = self.points(statement.domain.intersect_params(self.scop.valid_sizes))
        return self.known[statement.name]

    def points(self, points: isl.Set) -> Count:
        """How many there are, where `where` holds from now on."""
        points = _at(points, self.sizes)
        found = cardinality(points)
        if found is not None:
            self.where = found.within(self.where, self.large)
            return found.formula(self.large)
        fitted = interpolated(points)
        if fitted is not None and points.dim(isl.dim_type.param):
            self.is_fitted = True
            self.where = reduce(_from_smallest, range(self.where.dim(isl.dim_type.param)), self.where)
        return fitted


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


@dataclass
class _Tally:
    """What the statements of one instance do."""

    operations: Counter[str] = field(default_factory=Counter)
    loads: Counter[str] = field(default_factory=Counter)
    stores: Counter[str] = field(default_factory=Counter)
    is_exact: bool = True
    is_known: bool = True  # False: a loop in it runs as often as data says

    def of(self, body: tuple[Stmt, ...]) -> _Tally:
        for stmt in body:
            match stmt:
                case Store(array=array, index=index, value=value):
                    self.expression(value)
                    self.subscripts(index)
                    self.stores[array] += 1
                case Let(value=value):
                    self.expression(value)
                case If(cond=cond, then=then, other=other):
                    self.expression(cond)
                    self.is_exact = False
                    self.of(then).of(other)
                case For(body=inner):
                    self.is_known = False
                    self.of(inner)
        return self

    def expression(self, expr: Expr) -> None:
        match expr:
            case Load(array=array, index=index):
                self.loads[array] += 1
                self.subscripts(index)
            case Binary(op=op, left=left, right=right):
                self.operations[f"{left.dtype} {op}"] += 1
                self.is_exact &= op not in ("&&", "||")
                self.all(left, right)
            case Unary(op=op, arg=arg):
                self.operations[f"{arg.dtype} {op}"] += 1
                self.all(arg)
            case Select(cond=cond, then=then, other=other):
                self.operations[f"{then.dtype} select"] += 1
                self.is_exact = False
                self.all(cond, then, other)
            case Call(fn=fn, args=args, dtype=dtype):
                self.operations[f"{dtype} {fn}"] += 1
                self.all(*args)
            case Cast(arg=arg):
                self.all(arg)

    def all(self, *exprs: Expr) -> None:
        for expr in exprs:
            self.expression(expr)

    def subscripts(self, index: tuple[Expr, ...]) -> None:
        """What they load; their arithmetic costs nothing here."""
        for node in walk(index):
            if isinstance(node, Load):
                self.loads[node.array] += 1


def _sum(*terms: Count) -> Count:
    total = Polynomial()
    for term in terms:
        if term is None:
            return None
        total += term
    return total


def _times(times: int, count: Count) -> Count:
    return None if count is None else count * times


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
