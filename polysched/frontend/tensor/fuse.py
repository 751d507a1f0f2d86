"""Tensors without reductions that are computed in one nest, with scalars for what nothing else reads.

    for i in 0..n:                                  for i in 0..n:
        e[i] = exp(a[i])                                alloc e: private f32[]
    for i in 0..n:                                      e[] = exp(a[i])
        out[2 * i] = e[i]                   ->          out[2 * i] = e[]
    for i in 0..n:                                      out[2 * i + 1] = -e[]
        out[2 * i + 1] = -e[i]

May: nests of the same extents, where each reads of what the others store the element of its own iteration alone, no two
store the same element, and nothing between them stands in the way. Should: where they use an array in common, unless
the user asks for one with inline=False; the solver may take nests apart again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from polysched.frontend.tensor.inline import Bodies, expressions, is_same_element, loads_of, mapped
from polysched.frontend.tensor.stores import stored
from polysched.frontend.tensor.tensor import Body, Tensor
from polysched.ir.node import walk
from polysched.ir.nodes import Expr, Load, Var

Part = tuple[Tensor, Body]
Group = tuple[Part, ...]


def fused(kept: Iterable[tuple[Tensor, Bodies]], sizes: tuple[str, ...]) -> tuple[Group, ...]:
    """The bodies of the tensors in groups, each of which is one nest, in order; a group has one set of indices."""
    groups: list[Group] = []
    for tensor, bodies in kept:
        for body in bodies:
            groups.append(((tensor, body),))
            while _merged_last(groups, sizes):
                pass
    return tuple(groups)


def scalars(groups: Sequence[Group], outputs: Sequence[Tensor]) -> frozenset[str]:
    """Names of tensors that are stored once and read in the same group alone, one element an iteration."""
    found = set()
    for group in groups:
        others = [body for other in groups if other is not group for _, body in other]
        for tensor, body in group:
            is_alone = len(tensor.bodies) == 1 and body.is_plain and tensor not in outputs
            if is_alone and not loads_of((body, *others), tensor.name):
                found.add(tensor.name)
    return frozenset(found)


def _merged_last(groups: list[Group], sizes: tuple[str, ...]) -> bool:
    """Puts the last group and one before it together, where the one or the other stands, if that is possible."""
    last = groups[-1]
    for k in reversed(range(len(groups) - 1)):
        between, aligned = groups[k + 1 : -1], _with_indices(last, groups[k][0][1].indices)
        may_join = (_may_join(one, other, sizes) for one in groups[k] for other in aligned)
        if {*_used(groups[k])}.isdisjoint(_used(aligned)) or not all(may_join):
            continue
        if not any(_depend(other, last) for other in between):
            groups[k:] = [(*groups[k], *aligned), *between]
            return False
        if not any(_depend(groups[k], other) for other in between):
            groups[k:] = [*between, (*groups[k], *aligned)]
            return True
    return False


def _with_indices(group: Group, indices: tuple[str, ...]) -> Group:
    """The group with other names for its indices; as it is where there are more or fewer."""
    if len(indices) != len(group[0][1].indices):
        return group
    new: dict[str, Expr] = dict(zip(group[0][1].indices, map(Var, indices), strict=True))
    return tuple((tensor, replace(mapped(body, new), indices=indices)) for tensor, body in group)


def _may_join(one: Part, other: Part, sizes: tuple[str, ...]) -> bool:
    """May an iteration do both, first one?"""
    (tensor, body), (later, after) = one, other
    return (
        body.extents == after.extents
        and not any(_stands_alone(*part) for part in (one, other))
        and not loads_of((body,), later.name)
        and all(is_same_element(load.index, body.at, tensor.extents) for load in loads_of((after,), tensor.name))
        and (tensor is not later or _are_apart(body, after, sizes))
    )


def _stands_alone(tensor: Tensor, body: Body) -> bool:
    return bool(body.reductions) or tensor.inline is False or bool(loads_of((body,), tensor.name))


def _are_apart(one: Body, other: Body, sizes: tuple[str, ...]) -> bool:
    """Do they surely store different elements?"""
    first, second = stored(one, sizes), stored(other, sizes)
    return first is not None and second is not None and bool(first.is_disjoint(second))


def _depend(before: Group, after: Group) -> bool:
    """Does their order matter?"""
    written, more = ({tensor.name for tensor, _ in group} for group in (before, after))
    return bool(written & {*_used(after)} or more & {*_used(before)})


def _used(group: Group) -> Iterator[str]:
    """The arrays that it reads or stores."""
    for tensor, body in group:
        yield tensor.name
        yield from (n.array for expr in expressions(body) for n in walk(expr) if isinstance(n, Load))
