"""Sums of products: which loops of a nest are rows, columns and terms of a matrix product, whatever its subscripts
(Gareev, Grosser and Kruse, TACO 2018, section 3).

    out[f, y, x] += data[c, y + r, x + s] * weight[f, c, r, s]

    rows     f          in the result and one factor: the other factor serves all of them
    columns  y, x       in the result and the other factor, next to each other in memory where those are enough
    terms    c, r, s    in the factors alone, in the order of the source
    batch               in all three: a product of its own for each

Each element of the result is the same sum, of the same terms in the same order, so floats keep every bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from math import prod
from typing import Any, Literal

from polysched.config.heuristics.cpu import FEW_ROWS, LEAST_COLUMNS, LEAST_DOT, LEAST_TERMS, LEAST_UPDATES
from polysched.deps.dependences import Dependences
from polysched.errors import InputError
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import Binary, Call, Const, Expr, Load, Stmt, Store, Var
from polysched.ir.simplify import simplify
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import (
    Band,
    Full,
    Leaf,
    Member,
    Product,
    Tree,
    children,
    mark_of,
    nest_of,
    reached,
)
from polysched.model.tree.to_isl import mark_text
from polysched.support import isl
from polysched.transform.analysis.axes import Axes
from polysched.transform.analysis.roles import iterators, statements_of

Kind = Literal["packed", "dots"]


@dataclass(frozen=True, kw_only=True)
class SumOfProducts:
    """result[index] += left * right; `row` and `column` are the factors that rows and columns step through.

    The sums begin with `start`, or with what the result holds. `ends` run on each of them in turn: they change it, or
    store what they make of it to another array. It is stored as they leave it, unless nothing else reads it.
    """

    store: Store
    row: Expr
    column: Expr
    row_first: bool  # is it the left factor?
    batch: Axes
    rows: Axes
    columns: Axes
    terms: Axes
    start: Const | None = None
    ends: tuple[Store, ...] = ()
    is_stored: bool = True

    @property
    def updates(self) -> int:
        return self.batch.size * self.rows.size * self.columns.size * self.terms.size

    @property
    def loops(self) -> tuple[str, ...]:
        """Outermost first: batch, rows, columns, terms."""
        return tuple(name for axes in (self.batch, self.rows, self.columns, self.terms) for name in axes.extents)

    def turned(self) -> SumOfProducts:
        """The same with the two sides exchanged."""
        return replace(
            self,
            row=self.column,
            column=self.row,
            row_first=not self.row_first,
            rows=self.columns,
            columns=self.rows,
        )


def sum_of_products(extents: Mapping[str, int], body: tuple[Stmt, ...]) -> SumOfProducts | None:
    """What the body of these loops, outermost first, is as a product of matrices; None if it is none."""
    match rewrite(body, simple):
        case (Store(array, (*_, Var(last)) as index, Binary("+", Load(read, at), Binary("*", left, right))) as store,):
            if read != array or at != index or not all(_stays(factor, array) for factor in (left, right)):
                return None
        case _:
            return None
    written = [part.name for part in index if isinstance(part, Var)]
    is_plain = all(isinstance(part, Var | Const) for part in index) and len({*written}) == len(written)
    roles = {name: _role(name, written, left, right) for name in extents}
    if not is_plain or not {*written} <= {*extents} or None in roles.values() or roles[last] == "batch":
        return None
    side = roles[last]
    names = [part.name if isinstance(part, Var) else "" for part in index]
    columns = list(takewhile(lambda name: roles.get(name) == side, reversed(names)))[::-1]
    if prod(extents[name] for name in columns) < LEAST_COLUMNS:
        columns = [name for name in written if roles[name] == side]
    rows = [name for name in written if roles[name] not in ("batch", side)]

    def axes(names: list[str]) -> Axes:
        return Axes({name: extents[name] for name in names})

    return SumOfProducts(
        store=store,
        row=left if side == "right" else right,
        column=right if side == "right" else left,
        row_first=side == "right",
        batch=axes([name for name in written if name not in rows and name not in columns]),
        rows=axes(rows),
        columns=axes(columns),
        terms=axes([name for name in extents if roles[name] == "terms"]),
    )


def simple(node: Any) -> Any:
    """Subscripts as plain as they get: they tell the roles of loops."""
    if isinstance(node, Load):
        return replace(node, index=tuple(simplify(part) for part in node.index))
    return None


def _stays(factor: Expr, array: str) -> bool:
    """Does the factor read nothing that the sums change, and do nothing else?"""
    nodes = list(walk(factor))
    reads = any(isinstance(node, Load) and node.array == array for node in nodes)
    return not reads and all(node.pure for node in nodes if isinstance(node, Call))


def _role(name: str, written: list[str], left: Expr, right: Expr) -> str | None:
    """What a loop steps through: "batch" all of it, "left" or "right" that factor and the result, "terms" factors."""
    match name in written, Var(name) in walk(left), Var(name) in walk(right):
        case True, True, True:
            return "batch"
        case True, True, False:
            return "left"
        case True, False, True:
            return "right"
        case False, in_left, in_right if in_left or in_right:
            return "terms"
    return None


def kind_of(found: SumOfProducts, *, reorder: bool) -> Kind | None:
    """How a sum is best run, if its terms may be added in another order with `reorder`; None: as other nests are."""
    rows, columns, terms = found.rows.size, found.columns.size, found.terms.size
    if rows >= FEW_ROWS:
        pays = columns >= LEAST_COLUMNS and terms >= LEAST_TERMS and found.updates >= LEAST_UPDATES
        return "packed" if pays else None
    is_long = terms >= LEAST_DOT and columns >= FEW_ROWS
    return "dots" if is_long and terms_lie_in_order(found) and may_reorder(found, reorder) else None


def terms_lie_in_order(found: SumOfProducts) -> bool:
    """Are the terms one loop, along which both factors lie in memory, as lanes of dot products need?"""
    ends = {factor.index[-1:] if isinstance(factor, Load) else () for factor in (found.row, found.column)}
    return len(found.terms.extents) == 1 and ends == {tuple(map(Var, found.terms.extents))}


def may_reorder(found: SumOfProducts, reorder: bool) -> bool:
    """Are the terms in another order the same sum, or is that allowed?"""
    return reorder or found.row.dtype.kind in "iu"


def products_in(tree: Tree, scop: Scop, deps: Dependences) -> Iterator[str]:
    """The statements that bands run alone, over a box, and that pay as such a sum."""
    if isinstance(tree, Band):
        statements = list(statements_of(tree, scop))
        found = product_of(statements[0]) if len(statements) == 1 else None
        if found and may_count_up(statements[0], deps) and kind_of(found, reorder=deps.reorder_reductions):
            yield statements[0].name
        return
    for child in children(tree):
        yield from products_in(child, scop, deps)


def may_count_up(statement: Statement, deps: Dependences) -> bool:
    """Do the loops run forward? Those of the source may count down."""
    forward = isl.Map.lex_lt(statement.domain.get_space())
    own = (d.relation for d in deps.ordered if d.source == d.sink == statement.name)
    return all(relation.is_subset(forward) for relation in own)


def loops_of(statement: Statement) -> tuple[Member, ...]:
    """Those of the product that the statement is: batch, rows, columns, terms."""
    found = product_of(statement)
    assert found is not None, f"{statement.name} is no sum of products"
    values = dict(zip(statement.iterators, iterators(statement), strict=True))
    schedules = {name: isl.UnionMap.from_map(isl.Map.from_aff(value)) for name, value in values.items()}
    return tuple(Member(schedules[name], coincident=name not in found.terms.extents) for name in found.loops)


def require_products(tree: Tree, scop: Scop, *, reorder: bool, what: str = "") -> None:
    """InputError, beginning with `what` was asked for, unless each mark in `tree` is of the loops of such a sum, as
    `loops_of` gives them."""
    for node, instances, _ in reached(tree, isl.UnionSet("{ }")):
        if product := mark_of(node, Product):
            name, text = product.statement, f"{what}{': ' if what else ''}mark '{mark_text(product)}'"
            statement = next((statement for statement in scop.statements if statement.name == name), None)
            found = product_of(statement) if statement else None
            if statement is None or found is None:
                raise InputError(f"{text}: {name} is no sum of products over a box")
            if mark_of(node, Full) or not statement.instances.is_subset(instances):
                raise InputError(f"{text}: the band below runs a part of {name}, and a product is all of it")
            members, child = nest_of(node)
            if [m.schedule for m in members] != [m.schedule for m in loops_of(statement)] or child != Leaf():
                raise InputError(f"{text}: the band below is not over {', '.join(found.loops)} of {name}, and no more")
            if product.kind == "dots" and not may_reorder(found, reorder):
                hint = "allow it by reorder_reductions=True"
                raise InputError(f"{text}: dot products add the terms of {name} in another order", hint=hint)


def product_of(statement: Statement) -> SumOfProducts | None:
    """What the statement is as a product of matrices; None if it is none, or its loops are no box of constants."""
    extents = box_of(statement)
    return None if extents is None else sum_of_products(extents, statement.body)


def box_of(statement: Statement) -> dict[str, int] | None:
    """The extents of the domain if it is a box of constants from 0, of 2 at least: isl leaves other loops out."""
    domain = statement.domain
    if domain.involves_dims(isl.dim_type.param, 0, domain.dim(isl.dim_type.param)):
        return None
    extents = {}
    for k, name in enumerate(statement.iterators):
        first, last = domain.dim_min_val(k), domain.dim_max_val(k)
        if not (first.is_zero() and last.is_int()):
            return None
        extents[name] = int(last.to_python()) + 1
    return extents if domain.is_box() and min(extents.values(), default=0) > 1 else None
