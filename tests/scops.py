"""Scops written as isl text, for tests of what comes after extraction.

    scop("[N] -> { : N >= 1 }", stmt("{ S[i] : 0 <= i < N }", writes="a[i + 1]", reads=["a[i]", "b[i]"]))
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array, Const, Function
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Band, Domain, Filter, InOrder, Leaf, Member, Tree
from polysched.support import isl
from polysched.transform.analysis.roles import Around

Order = str | tuple[Any, ...]


def stmt(
    domain: str, *, writes: str | Sequence[str] = (), reads: str | Sequence[str] = (), reduction: str = ""
) -> tuple[str, Sequence[str], Sequence[str], str]:
    """A statement for `scop`. Accesses use the domain's iterators: "a[i, j + 1]"; "?a[x] : 0 <= x < i" may touch
    any of these elements (new names are free)."""
    return domain, _listed(writes), _listed(reads), reduction


def scop(
    context: str,
    *statements: tuple[str, Sequence[str], Sequence[str], str],
    order: Sequence[Order] = (),
    kills: str = "{ }",
) -> Scop:
    """A scop; `order` is a nest of names: `("i", "S", ("j", "T", "U"))` is a loop over S and, after it, a loop over
    T and U. The k-th loop inwards runs over the k-th iterator, down when written "-j". Default: each statement in
    loops of its own, one after the other."""
    known = isl.Set(context)
    sizes = [known.get_dim_name(isl.dim_type.param, k) for k in range(known.dim(isl.dim_type.param))]
    built = tuple(_statement(sizes, *s) for s in statements)
    nest = tuple(order) or tuple(_loops(s) for s in built)
    ranks = {a.array: a.relation.dim(isl.dim_type.out) for s in built for a in (*s.writes, *s.reads)}
    arrays = tuple(Array(name, f64, (Const(100),) * rank) for name, rank in sorted(ranks.items()))
    domain = reduce(isl.UnionSet.union, (isl.UnionSet.from_set(s.domain) for s in built))
    return Scop(
        name="test",
        context=known,
        valid_sizes=known,
        statements=built,
        arrays=arrays,
        tree=Domain(domain, _tree(nest, {s.name: s for s in built}, 0)),
        function=Function("test", tuple(sizes), arrays, ()),
        kills=isl.UnionMap(kills),
    )


def _listed(texts: str | Sequence[str]) -> Sequence[str]:
    return (texts,) if isinstance(texts, str) else texts


def _statement(sizes: list[str], domain: str, writes: Sequence[str], reads: Sequence[str], reduction: str) -> Statement:
    prefix = f"[{', '.join(sizes)}] -> "
    where = isl.Set(prefix + domain)
    name = where.get_tuple_name()
    iterators = tuple(where.get_dim_name(isl.dim_type.set, k) for k in range(where.dim(isl.dim_type.set)))

    def access(text: str) -> Access:
        element = text.removeprefix("?")
        relation = isl.Map(f"{prefix}{{ {name}[{', '.join(iterators)}] -> {element} }}").intersect_domain(where)
        return Access(array=re.split(r"\[", element)[0].strip(), relation=relation, must=not text.startswith("?"))

    return Statement(
        name=name,
        iterators=iterators,
        domain=where,
        writes=tuple(map(access, writes)),
        reads=tuple(map(access, reads)),
        body=(),
        reduction=reduction,
    )


def _loops(statement: Statement) -> Order:
    return reduce(lambda inner, iterator: (iterator, inner), reversed(statement.iterators), statement.name)


def _tree(nest: Sequence[Order], statements: dict[str, Statement], depth: int) -> Tree:
    below = tuple(Filter(_domain(item, statements), _item(item, statements, depth)) for item in nest)
    return below[0].child if len(below) == 1 else InOrder(below)


def _item(item: Order, statements: dict[str, Statement], depth: int) -> Tree:
    if isinstance(item, str):
        return Leaf()
    sign = "-" if item[0].startswith("-") else ""
    maps = []
    for name in _names(item):
        dims = [f"i{k}" for k in range(statements[name].depth)]
        maps.append(isl.UnionMap(f"{{ {name}[{', '.join(dims)}] -> [{sign}{dims[depth]}] }}"))
    return Band((Member(reduce(isl.UnionMap.union, maps)),), child=_tree(item[1:], statements, depth + 1))


def _domain(item: Order, statements: dict[str, Statement]) -> isl.UnionSet:
    return reduce(isl.UnionSet.union, (isl.UnionSet.from_set(statements[name].domain) for name in _names(item)))


def _names(item: Order) -> list[str]:
    return [item] if isinstance(item, str) else [name for part in item[1:] for name in _names(part)]


def bands_reached(tree: Tree, reaching: isl.UnionMap) -> Iterator[tuple[Band, isl.UnionMap]]:
    """Every band, outer ones first, with the part of `reaching` that reaches it."""
    for node, around in Around((), reaching).walk(tree):
        if isinstance(node, Band):
            yield node, around.reaching
