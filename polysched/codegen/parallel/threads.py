"""When a parallel loop is worth its threads: where what it runs takes longer than to start them.

    for t in 0..m:                                      for t in 0..m:
        for i in 0..n (parallel):               ->          for i in 0..n (parallel if m * n * n * 5 >= m * 60000):
            for j in 0..n: <5 operations>                       for j in 0..n: <5 operations>

Work is counted over boxes around the domains, or around the parts that tiles have of them, and starts over the loops
around. Measured on 2 cores: a region takes 1.5 microseconds on an idle machine, 40 on a busy one, in which a core makes
5000 to 100 000 operations, and eight times as many as SIMD. A loop with none inside is SIMD by the compiler unless it
calls functions, and goes once over its data, so that cores share a memory that is already busy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, prod

from polysched.config.heuristics.cpu import (
    OPERATIONS,
    OPERATIONS_OF_A_CALL,
    PARTS_OF_EXTENT,
    SIMD_OPERATIONS,
    STREAM_OPERATIONS,
)
from polysched.ir.build import add, binary, mul
from polysched.ir.dtypes import boolean, f64
from polysched.ir.integers.trips import bounded, trips
from polysched.ir.node import walk
from polysched.ir.nodes import ONE_INSTRUCTION, Binary, Call, Cast, Const, Expr, For, Load, Store, Var
from polysched.ir.simplify import simplify
from polysched.model.affine import expression
from polysched.model.extents import largest
from polysched.model.scop import Statement
from polysched.support import isl


def worth_threads(
    statements: Iterable[Statement], context: isl.Set, around: Sequence[For], operations: int
) -> tuple[Expr, ...]:
    """The condition under which these statements, inside of the serial loops `around`, make as many operations for each
    start of the threads; false if no sizes are enough for one start, none if all are or it is not known."""
    statements = tuple(statements)
    if not statements:
        return ()
    if not around and sum(_most_work(statement, context) for statement in statements) < operations:
        return (Const(False, boolean),)
    inside = {loop.var: loop for loop in around}
    starts: Expr = Const(float(operations), f64)
    for loop in around:
        count = bounded(trips(loop), inside)
        if count is None:
            return ()
        starts = mul(Cast(count, f64), starts)
    work = add(*(_work(statement, context) for statement in statements))
    when = (simplify(binary(">=", work, starts)),)
    return () if known(when) else when


def threshold(loop: For) -> int:
    """The operations from which this loop is worth its threads."""
    nodes = list(walk(loop.body))
    kinds = [node.kind for node in nodes if isinstance(node, For)]
    if not kinds and not any(map(_is_called, nodes)):
        return STREAM_OPERATIONS
    return SIMD_OPERATIONS if "vector" in kinds else OPERATIONS


def known(when: tuple[Expr, ...]) -> bool | None:
    """Is the condition true or false whatever the sizes are? None if that depends on them."""
    tests = [simplify(test) for test in when]
    if any(isinstance(test, Const) and not test.value for test in tests):
        return False
    return True if all(isinstance(test, Const) for test in tests) else None


def _work(statement: Statement, context: isl.Set) -> Expr:
    """Instances in a box around the domain, times operations of one."""
    domain = statement.domain.intersect_params(context)
    if domain.is_empty():
        return Const(0.0, f64)
    build = isl.AstBuild.from_context(domain.params())
    names: dict[str, Expr] = {name: Var(name) for name in isl.sizes_of(domain)}
    total: Expr = Const(float(_operations(statement)), f64)  # the product of some sizes is too much for an i64
    for k in range(domain.dim(isl.dim_type.set)):
        total = mul(_extent(domain, k, build, names), total)
    return total


def _most_work(statement: Statement, context: isl.Set) -> float:
    """No size in the context has more operations; infinite where there is no bound."""
    domain = statement.domain.intersect_params(context).project_out_all_params()
    if domain.is_empty():
        return 0.0
    ends = ((domain.dim_min_val(k), domain.dim_max_val(k)) for k in range(domain.dim(isl.dim_type.set)))
    extents = (last.sub(first).to_python() + 1 if first.is_int() and last.is_int() else inf for first, last in ends)
    return float(prod(extents, start=_operations(statement)))


def _extent(domain: isl.Set, k: int, build: isl.AstBuild, names: dict[str, Expr]) -> Expr:
    """How many values the k-th iterator has; no more than it has for the same values of those before it, if that is a
    number, and far less: what is computed in a tile goes over its part of a dimension."""
    last, before = domain.dim(isl.dim_type.set) - 1, isl.dim_type.in_
    whole = domain.dim_max(k).sub(domain.dim_min(k)).add_constant_val(isl.Val(1))
    extent = expression(build.expr_from_pw_aff(whole), names)
    if k > 0:
        own = isl.Map.from_range(domain.project_out(isl.dim_type.set, k + 1, last - k))
        own = own.move_dims(before, 0, isl.dim_type.out, 0, k)
        part = largest(isl.Map.from_pw_aff(own.dim_max(0).sub(own.dim_min(0))).range()) + 1
        if part.is_int() and PARTS_OF_EXTENT * part <= largest(isl.Set.from_pw_aff(whole)):
            extent = Binary("min", extent, Const(part.to_python()))
    return Cast(extent, f64)


def _operations(statement: Statement) -> int:
    nodes = list(walk(statement.body))
    operations = sum(isinstance(node, Binary | Load | Store | Call) and not _is_called(node) for node in nodes)
    return operations + OPERATIONS_OF_A_CALL * sum(map(_is_called, nodes))


def _is_called(node: object) -> bool:
    return isinstance(node, Call) and node.fn not in ONE_INSTRUCTION
