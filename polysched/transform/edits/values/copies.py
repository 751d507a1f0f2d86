"""Statements computed again: a copy of each instance for every iteration of outer loops that needs it.

    S0[i]: b[i] = a[i] + a[i + 1]                      { [i_o] -> S0[i] : 32 i_o - 1 <= i <= 32 i_o + 32 }
    S0_at[i_o, i]: b_at[i - 32 i_o + 1] = a[i] + a[i + 1]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polysched.ir.node import rewrite
from polysched.ir.nodes import Expr, Load, Store
from polysched.ir.rename import bound_names
from polysched.model.affine import is_name
from polysched.model.scop import Scop, Statement
from polysched.support import isl
from polysched.transform.edits.base.loops import free
from polysched.transform.edits.values.footprint import Box, nth_subscript


@dataclass(frozen=True, kw_only=True)
class Copies:
    """A statement, and what it copies; one of its instances is an arrival at a node, and one of the original."""

    statement: Statement
    origin: isl.Map  # { S0_at[o, i] -> S0[i] }
    arrival: isl.Map  # { S0_at[o, i] -> [o] }

    @property
    def coordinates(self) -> list[isl.UnionMap]:
        """{ S0_at[o, i] -> [o_k] } for each loop above the node."""
        depth = self.arrival.dim(isl.dim_type.out)
        return [isl.UnionMap.from_map(nth_subscript(self.arrival, k)) for k in range(depth)]


def copies_of(statement: Statement, needed: isl.Map, name: str, outer: Sequence[str]) -> Copies:
    """Its instances { [o] -> S0[i] } as a statement of that name; `outer` are the names of the iterators o."""
    iterators = (*outer, *statement.iterators)
    pairs = from_instances(needed.range_map(), name, iterators)
    arrival = from_instances(needed.domain_map(), name, iterators)
    copy = replace(
        statement,
        name=name,
        iterators=iterators,
        domain=pairs.domain(),
        reads=tuple(replace(read, relation=pairs.apply_range(read.relation)) for read in statement.reads),
        writes=tuple(replace(write, relation=pairs.apply_range(write.relation)) for write in statement.writes),
    )
    return Copies(statement=copy, origin=pairs, arrival=arrival)


def from_instances(pairs: isl.Map, name: str, iterators: Sequence[str]) -> isl.Map:
    """{ S0_at[o, i] -> ... } for { [[o] -> S0[i]] -> ... }, with names for the statement and its iterators."""
    flat = pairs.flatten_domain().set_tuple_name(isl.dim_type.in_, name)
    for k, iterator in enumerate(iterators):
        flat = flat.set_dim_name(isl.dim_type.in_, k, iterator)
    return flat


def in_box(
    statement: Statement, array: str, box: Box, arrival: isl.Map, name: str, *, stores: bool = True
) -> Statement:
    """It on the box, called `name`, of an array, where it loads from that and, with `stores`, stores to it."""
    return moved(
        statement,
        array,
        lambda index: box.element(index, arrival, statement.iterators),
        lambda accessed: box.relation(accessed.intersect_domain(statement.domain), arrival, name),
        name,
        stores=stores,
    )


def moved(
    statement: Statement,
    array: str,
    place: Callable[[tuple[Expr, ...]], tuple[Expr, ...]],
    relation: Callable[[isl.Map], isl.Map],
    name: str,
    *,
    stores: bool = True,
) -> Statement:
    """It with elements of the array `name` in place of those of another one where it loads and, with `stores`, stores
    them: by their subscripts, and by what instances access."""
    kinds = (Load, Store) if stores else (Load,)

    def element(node: Any) -> Any:
        is_it = isinstance(node, kinds) and node.array == array
        return replace(node, array=name, index=place(node.index)) if is_it else None

    reads, writes = (
        tuple(replace(a, array=name, relation=relation(a.relation)) if a.array == array else a for a in accesses)
        for accesses in (statement.reads, statement.writes)
    )
    body = rewrite(statement.body, element)
    return replace(statement, body=body, reads=reads, writes=writes if stores else statement.writes)


def iterator_names(loops: Iterable[str], scop: Scop, beside: Iterable[Statement] = ()) -> tuple[str, ...]:
    """The names of the loops for iterators, or c0, c1, ... where they cannot be; others than those used in `beside`."""
    taken = names_in(scop)
    for statement in beside:
        taken |= {*statement.iterators, *bound_names(statement.body)}
    found: list[str] = []
    for k, name in enumerate(loops):
        found.append(free(name if name.isidentifier() and is_name(name) else f"c{k}", taken))
        taken.add(found[-1])
    return tuple(found)


def names_in(scop: Scop) -> set[str]:
    """What statements, arrays and parameters are called."""
    parameters = {*scop.function.params, *scop.function.sizes, *(s.name for s in scop.function.scalars)}
    return parameters | {s.name for s in scop.statements} | {a.name for a in scop.arrays}
