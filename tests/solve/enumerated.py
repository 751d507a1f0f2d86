"""Is a schedule legal, and do its flags hold? Found by running through all instances at one small size.

Shares nothing with the scheduler: no dependence analysis, no Farkas' lemma. Two instances conflict if they touch one
element and one of them writes; whichever came first in the source must still come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from callbacks import Callbacks

from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Context, Domain, Filter, InOrder, Leaf, Mark, Set, Tree
from polysched.support import isl

Instance = tuple[str, tuple[int, ...]]  # statement and iterators
Step = tuple[Tree, tuple[int, ...]]  # a node and what an instance does there: member values, or the child's number


def assert_legal(scop: Scop, tree: Tree, size: int = 4) -> None:
    """`tree` keeps the order of all conflicting instances, and its bands are what they say, at sizes near `size`."""
    sizes = _sizes(scop, size)
    before, after = _paths(scop.tree, scop, sizes), _paths(tree, scop, sizes)
    assert set(before) == set(after), "not the same instances"
    for one, other in _conflicts(scop, sizes):
        first, second = (one, other) if _is_before(before[one], before[other]) else (other, one)
        assert _is_before(after[first], after[second]), f"{first} no longer runs before {second}"
        for (node, a), (_, b) in zip(after[first], after[second], strict=False):
            if isinstance(node, Band):
                for member, x, y in zip(node.members, a, b, strict=True):
                    assert not (member.coincident and x != y), f"{member} is not coincident: {first}, {second}"
                    assert not (node.permutable and x > y), f"{node} is not permutable: {first}, {second}"
            if a != b:
                break


def _sizes(scop: Scop, size: int) -> dict[str, int]:
    count = scop.context.dim(isl.dim_type.param)
    return {scop.context.get_dim_name(isl.dim_type.param, k): size + k % 2 for k in range(count)}


def _conflicts(scop: Scop, sizes: dict[str, int]) -> Iterator[tuple[Instance, Instance]]:
    touched: dict[tuple[str, tuple[int, ...]], dict[Instance, bool]] = {}
    for s in scop.statements:
        for accesses, is_write in ((s.reads, False), (s.writes, True)):
            for access in accesses:
                for instance, element in _points(access.relation.intersect_domain(s.domain), sizes):
                    users = touched.setdefault((access.array, element), {})
                    users[s.name, instance] = users.get((s.name, instance), False) or is_write
    for users in touched.values():
        yield from ((a, b) for a, b in combinations(users, 2) if users[a] or users[b])


def _is_before(one: list[Step], other: list[Step]) -> bool:
    a, b = [step for _, step in one], [step for _, step in other]
    assert a != b, "two conflicting instances run at the same time"
    return a < b


def _paths(tree: Tree, scop: Scop, sizes: dict[str, int]) -> dict[Instance, list[Step]]:
    """What every instance does at each node on its way to a leaf."""
    paths: dict[Instance, list[Step]] = {(s.name, p): [] for s in scop.statements for p in _elements(s.domain, sizes)}
    _descend(tree, paths, scop, sizes)
    return paths


def _descend(tree: Tree, paths: dict[Instance, list[Step]], scop: Scop, sizes: dict[str, int]) -> None:
    match tree:
        case Leaf():
            return
        case Domain(child=child) | Context(child=child) | Mark(child=child) | Filter(child=child):
            _descend(child, paths, scop, sizes)
        case Band(members=members, child=child):
            tables = [_table(member.schedule, paths, sizes) for member in members]
            for instance, path in paths.items():
                path.append((tree, tuple(table[instance] for table in tables)))
            _descend(child, paths, scop, sizes)
        case InOrder(children=children) | Set(children=children):
            filters = [isl.sets_of(child.filter.intersect(scop.domain)) for child in children]
            inside = [{(s.get_tuple_name(), p) for s in parts for p in _elements(s, sizes)} for parts in filters]
            for k, child in enumerate(children):
                here = {instance: path for instance, path in paths.items() if instance in inside[k]}
                for path in here.values():
                    path.append((tree, (k,)))
                _descend(child, here, scop, sizes)
            assert all(sum(instance in part for part in inside) == 1 for instance in paths), "children must partition"
        case _:
            raise AssertionError(f"unexpected {type(tree).__name__}")


def _table(schedule: isl.UnionMap, paths: dict[Instance, list[Step]], sizes: dict[str, int]) -> dict[Instance, int]:
    """The value at each instance."""
    domain = isl.UnionSet("{ }")
    for name in {name for name, _ in paths}:
        points = "; ".join(f"{name}{list(p)}" for n, p in paths if n == name)
        domain = domain.union(isl.UnionSet(f"{{ {points} }}"))
    maps = isl.maps_of(schedule.intersect_domain(domain))
    return {(m.get_tuple_name(isl.dim_type.in_), a): b[0] for m in maps for a, b in _points(m, sizes)}


def _points(relation: isl.Map, sizes: dict[str, int]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    count = relation.dim(isl.dim_type.in_)
    return [(p[:count], p[count:]) for p in _elements(relation.wrap(), sizes)]


def _elements(points: isl.Set, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    for k in range(points.dim(isl.dim_type.param)):
        points = points.fix_val(isl.dim_type.param, k, isl.Val(sizes[points.get_dim_name(isl.dim_type.param, k)]))
    found: list[tuple[int, ...]] = []
    count = points.dim(isl.dim_type.set)
    with Callbacks() as guard:
        points.foreach_point(guard.each(lambda p: found.append(_coordinates(p, count))))
    return found


def _coordinates(point: isl.Point, count: int) -> tuple[int, ...]:
    return tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(count))
