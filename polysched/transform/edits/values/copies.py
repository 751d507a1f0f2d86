"""Statements computed again: a copy of each instance for every iteration of outer loops that needs it.

    S0[i]: b[i] = a[i] + a[i + 1]                      { [i_o] -> S0[i] : 32 i_o - 1 <= i <= 32 i_o + 32 }
    S0_at[i_o, i]: b_at[i - 32 i_o + 1] = a[i] + a[i + 1]

The box of what each arrival at a node uses of an array: the shape of a copy, and where it begins.

    { [i_o] -> b[x] : 32 i_o - 1 <= x <= 32 i_o + 32 and 1 <= x < n }     ->     b_at: f64[34], from 32 i_o - 1 on
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polysched.ir.build import sub
from polysched.ir.node import rewrite, substitute
from polysched.ir.nodes import Const, Expr, Load, Store
from polysched.ir.rename import bound_names
from polysched.model.affine import element_names, everywhere, is_name, value_at
from polysched.model.extents import extent, largest
from polysched.model.scop import Access, Scop, Statement
from polysched.support import isl
from polysched.transform.edits.base.loops import free


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
        return [isl.UnionMap.from_map(isl.along(self.arrival, k)) for k in range(depth)]


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

    def accesses(those: tuple[Access, ...]) -> tuple[Access, ...]:
        return tuple(replace(a, array=name, relation=relation(a.relation)) if a.array == array else a for a in those)

    body = rewrite(statement.body, element)
    writes = accesses(statement.writes) if stores else statement.writes
    return replace(statement, body=body, reads=accesses(statement.reads), writes=writes)


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


@dataclass(frozen=True)
class Box:
    """A corner and extents; all elements that an arrival uses are inside."""

    axes: tuple[int, ...]  # the array's dimensions along which it has more than one element
    corner: tuple[isl.PwAff, ...]  # { [o] -> [x] } for each of them
    shape: tuple[Expr, ...]  # in the sizes

    def element(self, index: Sequence[Expr], arrival: isl.Map, iterators: Sequence[str]) -> tuple[Expr, ...]:
        """The subscript in the box of what has this one in the array, for instances with { S[i] -> [o] }."""
        where, outer = isl.PwMultiAff.from_map(arrival), arrival.dim(isl.dim_type.out)
        names = element_names(outer)
        own = [value_at(everywhere(where.get_pw_aff(k)), iterators) for k in range(outer)]
        values = [substitute(value_at(low, names), dict(zip(names, own, strict=True))) for low in self.corner]
        parts = zip(self.axes, values, strict=True)
        return tuple(index[axis] if low == Const(0) else sub(index[axis], low) for axis, low in parts)

    def relation(self, accessed: isl.Map, arrival: isl.Map, name: str) -> isl.Map:
        """{ S[i] -> name[x - corner] } for { S[i] -> b[x] }, and { S[i] -> [o] }."""
        parts = isl.Map.from_domain_and_range(accessed.domain(), isl.Set("{ [] }"))
        for axis, low in zip(self.axes, self.corner, strict=True):
            start = arrival.apply_range(isl.Map.from_pw_aff(low))
            parts = parts.flat_range_product(isl.along(accessed, axis).sum(start.neg()))
        return parts.set_tuple_name(isl.dim_type.out, name)


def box(elements: isl.Map, context: isl.Set) -> Box:
    """The smallest box of constant shape around the elements { [o] -> b[x] } of every arrival, or else of one in the
    sizes."""
    sides = [_side(isl.along(elements, k), context) for k in range(elements.dim(isl.dim_type.out))]
    axes = tuple(k for k, (_, length) in enumerate(sides) if length != Const(1))
    return Box(axes, tuple(sides[k][0] for k in axes), tuple(sides[k][1] for k in axes))


def _side(subscripts: isl.Map, context: isl.Set) -> tuple[isl.PwAff, Expr]:
    """Where they begin, and how many there are at most."""
    exact = subscripts.dim_min(0)
    fixed = []
    for low in _corners(exact, subscripts):
        last = largest(_most(subscripts, low))
        if last.is_int():
            fixed.append((last.to_python() + 1, low))
    if fixed:
        size, low = min(fixed, key=lambda each: each[0])
        return low, Const(size)
    candidates = [*_corners(exact, subscripts), exact]
    bounded = (each for each in candidates if _most(subscripts, each).dim_has_upper_bound(isl.dim_type.set, 0))
    low = next(bounded, exact)
    return low, extent(_most(subscripts, low), context)


def _corners(exact: isl.PwAff, subscripts: isl.Map) -> Iterator[isl.PwAff]:
    """The parts of the exact lower bound that are one everywhere."""
    for _, aff in exact.get_pieces():
        low = isl.PwAff.from_aff(aff)
        if _most(subscripts, low).is_subset(isl.Set("{ [x] : x >= 0 }")):
            yield low


def _most(subscripts: isl.Map, low: isl.PwAff) -> isl.Set:
    """{ [x - low] }"""
    return subscripts.sum(isl.Map.from_pw_aff(low).neg()).range()
