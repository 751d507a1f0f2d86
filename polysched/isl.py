"""The one door to islpy: the names we use, one context, and calls that cannot run away or leave it broken."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import islpy
from islpy import (  # noqa: F401  (re-exported)
    DEFAULT_CONTEXT,
    Aff,
    AstBuild,
    AstExpr,
    AstNode,
    BasicMap,
    BasicSet,
    Constraint,
    Error,
    Id,
    LocalSpace,
    Map,
    MultiAff,
    MultiPwAff,
    MultiUnionPwAff,
    MultiVal,
    Point,
    Printer,
    PwAff,
    PwMultiAff,
    Schedule,
    ScheduleConstraints,
    ScheduleNode,
    Set,
    Space,
    UnionAccessInfo,
    UnionMap,
    UnionPwAff,
    UnionPwAffList,
    UnionPwMultiAff,
    UnionSet,
    UnionSetList,
    Val,
    ast_expr_op_type,
    ast_expr_type,
    ast_node_type,
    dim_type,
    format,
    schedule_node_type,
)

from polysched.errors import BudgetExceeded


def _by_text(value: Any) -> tuple[type, tuple[str]]:
    return type(value), (str(value),)


# islpy's own pickling raises where dimensions on the two sides of a map share a name, as those of dependences do.
for _kind in (Set, UnionSet, Map, UnionMap):
    copyreg.pickle(_kind, _by_text)


@contextmanager
def quota(operations: int) -> Iterator[None]:
    """Bounds the isl operations of the block; BudgetExceeded when they are used up.

    isl reports an exhausted quota with an arbitrary message and refuses every later call until the count is
    reset, so the count itself is asked. A quota is not a clock: single operations may be slow.
    """
    context = DEFAULT_CONTEXT
    outer = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
    except Error as error:
        if is_exhausted():
            raise BudgetExceeded(f"isl used up {operations} operations") from error
        raise
    finally:
        context.set_max_operations(outer)  # an outer quota starts anew
        context.reset_operations()


def is_exhausted() -> bool:
    """Has the quota been used up? Then every operation fails."""
    try:
        Set("{ [i] : 0 <= i < 2 }").is_empty()
    except Error:
        return True
    return False


def maps_of(union: islpy.UnionMap) -> list[islpy.Map]:
    """The maps of a union map, sorted by tuple names and then text: isl's own order is not fixed."""
    maps = [union.get_map_list().get_at(k) for k in range(union.n_map())]
    return sorted(maps, key=lambda m: (_tuple(m, dim_type.in_), _tuple(m, dim_type.out), str(m)))


def sets_of(union: islpy.UnionSet) -> list[islpy.Set]:
    """The sets of a union set, sorted by tuple name and then text."""
    sets = [union.get_set_list().get_at(k) for k in range(union.n_set())]
    return sorted(sets, key=lambda s: (s.get_tuple_name() or "", str(s)))


def _tuple(relation: islpy.Map, kind: dim_type) -> str:
    return relation.get_tuple_name(kind) or ""
