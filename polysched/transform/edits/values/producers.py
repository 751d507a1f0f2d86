"""What computes an array, and a nest without that.

    S0: b[i] = 0                          producers_of(scop, "b"): S0, S1
    S1: b[i] = b[i] + a[i, k]     ->      without_statements(scop, (S0, S1)): S2, and no array b
    S2: c[i] = b[i]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from polysched.errors import BudgetExceeded, InputError
from polysched.ir.text import in_words
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Tree
from polysched.model.witness import smallest
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.graft import without, without_arrays
from polysched.transform.edits.base.registry import by_name


def producers_of(scop: Scop, array: str) -> tuple[Statement, ...]:
    """The statements that write the array; InputError if there are none, or if they write others too."""
    found = written_by(scop, array)
    for statement in found:
        others = sorted({write.array for write in statement.writes} - {array})
        if others:
            raise InputError(f"{statement.name} writes {', '.join(others)} as well as {array}")
    return found


def written_by(scop: Scop, array: str) -> tuple[Statement, ...]:
    """The statements that write the array; InputError if there are none."""
    by_name("array", array, {each.name: each for each in scop.arrays})
    found = tuple(s for s in scop.statements if any(write.array == array for write in s.writes))
    if not found:
        raise InputError(f"nothing is computed in '{array}'", hint="name an array that a statement writes")
    return found


def require_computed(draft: Draft, array: str, user: Statement, *, may_read: bool = False) -> None:
    """InputError if the statement may read an element of the array that none has written by then, or one that data
    decide; whether it reads it, data may decide if it `may_read`."""
    flow = [d for d in draft.dependences.of("flow") if d.array == array and d.sink == user.name]
    reads = [read for read in user.reads if read.array == array]
    known = all(read.must or (may_read and read.relation.is_single_valued()) for read in reads)
    if not known or not all(d.is_exact for d in flow):
        raise InputError(f"which elements of '{array}' {user.name} reads is not known exactly")
    computed = isl.union_map(d.relation.reverse() for d in flow).apply_range(draft.scop.writes)
    for read in user.reads:
        relation = read.relation.intersect_domain(user.domain.intersect_params(draft.scop.context))
        first = isl.UnionMap.from_map(relation).subtract(computed)
        if read.array == array and not first.is_empty():
            read_first = _a_read(user, array, isl.Map.from_union_map(first))
            raise InputError(f"{read_first}, which nothing has written by then")


def _a_read(user: Statement, array: str, reads: isl.Map) -> str:
    """The first of { S1[i] -> b[x] } in words."""
    sizes, point = smallest(reads.wrap())
    instance = ", ".join(f"{name}={value}" for name, value in zip(user.iterators, point, strict=False))
    at = f"for {in_words(sizes)}, " if sizes else ""
    return f"{at}{user.name}[{instance}] reads {array}{list(point[user.depth :])}"


def without_statements(scop: Scop, gone: Sequence[Statement]) -> Scop:
    """The scop without these statements, and without the arrays that they write."""
    names = {statement.name for statement in gone}
    written = {write.array for statement in gone for write in statement.writes}
    return replace(
        scop,
        statements=tuple(s for s in scop.statements if s.name not in names),
        arrays=tuple(each for each in scop.arrays if each.name not in written),
        kills=scop.kills.subtract_domain(instances_of(gone)),
    )


def without_computed(tree: Tree, gone: Sequence[Statement]) -> Tree:
    """The tree without these statements, and without the arrays that they write."""
    return without_arrays(without(tree, instances_of(gone)), {write.array for s in gone for write in s.writes})


def instances_of(statements: Iterable[Statement]) -> isl.UnionSet:
    """The union of their domains."""
    return isl.union_set(statement.domain for statement in statements)


OPERATIONS = 20_000  # of isl; sums, and hulls of few pieces, need some hundreds


def chains_of(pairs: isl.UnionMap) -> isl.UnionMap:
    """All that one leads to by way of others, or more than that; InputError if isl cannot tell within its budget."""
    try:
        with isl.within(operations=OPERATIONS):
            return pairs.transitive_closure()[0]
    except BudgetExceeded as error:
        raise InputError("what the values are computed from, step by step, is not known") from error
