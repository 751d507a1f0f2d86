"""From a nest in the loop IR to the polyhedral model.

    for i in 0..n:                      S: { S[i, j] : 0 <= i < n and 0 <= j < i }
        for j in 0..i:            ->       reads  { S[i, j] -> a[j] }, writes { S[i, j] -> b[i, j] }
            b[i, j] = a[j]              source order: band(i) -> band(j)

A statement is one store, or a run of stores that hand scalar temporaries to each other, or, where bounds or
conditions are not affine, a whole loop or branch, whose accesses are then over-approximated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce

from polysched.errors import InputError
from polysched.ir.node import arrays_of, loaded, stored, touches, walk
from polysched.ir.nodes import Alloc, Array, Expr, For, Function, If, Stmt, Store, Unary, Var
from polysched.model.accesses import accesses
from polysched.model.affine import AffineSpace, is_name
from polysched.model.bounds import sizes_in_bounds
from polysched.model.known import Where
from polysched.model.loops import loop_conditions, sizes_not_negative
from polysched.model.reduction import reduction_operator
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Band, Context, Domain, Filter, InOrder, Leaf, Member, Tree
from polysched.support import isl


def extract(fn: Function, *, check_bounds: bool = True) -> Scop:
    """The scop of a nest at stage "source".

    InputError if the nest stores nothing, or, with `check_bounds`, if an access leaves its array whenever it runs.
    """
    _require_readable(fn)
    nest = _nest(fn.body, Where(), fn.sizes)
    leaves = list(_leaves(nest))
    if not leaves:
        raise InputError(f"'{fn.name}' stores nothing", fn.loc, "assign to an array, as in a[i] = ...")
    local = {node.array.name for leaf in leaves for node in walk(leaf.body) if isinstance(node, Alloc)}
    arrays = {name: array for name, array in arrays_of(fn).items() if name not in local}
    names = ["S"] if len(leaves) == 1 else [f"S{k}" for k in range(len(leaves))]
    statements = tuple(_statement(name, leaf, fn.sizes, arrays) for name, leaf in zip(names, leaves, strict=True))
    positive = sizes_not_negative(fn.sizes)
    valid = sizes_in_bounds(positive, statements, arrays, fn.sizes) if check_bounds else positive
    if valid.is_empty():
        raise InputError(f"no sizes keep all accesses of '{fn.name}' inside their arrays", fn.loc, "check the shapes")
    context = valid if valid.n_basic_set() == 1 else positive
    order = _order(nest, iter(statements), fn.sizes)[0]
    return Scop(
        name=fn.name,
        context=context,
        valid_sizes=valid,
        statements=statements,
        arrays=tuple(arrays.values()),
        tree=Domain(isl.union_set(s.domain for s in statements), Context(context, order)),
        function=fn,
        kills=_kills(zip(leaves, statements, strict=True), arrays),
    )


def _require_readable(fn: Function) -> None:
    """Sizes and loop variables must be words that isl does not keep for itself, such as max and mod."""
    loops = ((node.var, node.loc) for node in walk(fn.body) if isinstance(node, For))
    for name, loc in dict([*loops, *((size, fn.loc) for size in fn.sizes)]).items():
        if not is_name(name):
            raise InputError(f"'{name}' cannot name a size or a loop: isl cannot read it", loc, "rename it")


def _space(where: Where, sizes: tuple[str, ...], name: str = "") -> AffineSpace:
    return AffineSpace(name, tuple(loop.var for loop in where.loops), sizes)


@dataclass(frozen=True)
class _Leaf:
    """A statement to be: its body, and what encloses it."""

    body: tuple[Stmt, ...]
    where: Where
    kills: tuple[str, ...] = ()  # temporaries whose life begins here


@dataclass(frozen=True)
class _Loop:
    loop: For
    children: tuple[_Leaf | _Loop, ...]


_Nest = tuple[_Leaf | _Loop, ...]


def _nest(body: tuple[Stmt, ...], where: Where, sizes: tuple[str, ...]) -> _Nest:
    """The loops and statements of `body` in source order; affine branches dissolve into guards."""
    found: list[_Leaf | _Loop] = []
    for group in _groups(body):
        match group:
            case (For() as loop,) if _space(where.inside(loop), sizes).has(*loop_conditions(loop)):
                below = _nest(loop.body, where.inside(loop), sizes)
                found += [_Loop(loop, below)] if below else []
            case (If(cond=cond, then=then, other=other),) if _space(where, sizes).has(cond):
                found += _nest(then, where.given(cond), sizes)
                found += _nest(other, where.given(Unary("!", cond)), sizes)
            case (If() as branch,) if _can_distribute(branch):
                guarded = [(branch.cond, branch.then), (Unary("!", branch.cond), branch.other)]
                found += [_guard(child, cond) for cond, part in guarded for child in _nest(part, where, sizes)]
            case _ if any(isinstance(node, Store) for node in walk(group)):
                found.append(_Leaf(group, where))
    born = tuple(stmt.array.name for stmt in body if isinstance(stmt, Alloc))
    match found:
        case [_Leaf() as first, *rest] if first.where == where:  # it runs once each time that the block is entered
            found = [replace(first, kills=(*first.kills, *born)), *rest]
    return tuple(found)


def _groups(body: tuple[Stmt, ...]) -> list[tuple[Stmt, ...]]:
    """`body` cut into statements: a temporary that no loop touches joins all that lies between its uses."""
    groups: list[tuple[Stmt, ...]] = [(stmt,) for stmt in body if not isinstance(stmt, Alloc)]
    for alloc in body:
        if isinstance(alloc, Alloc):
            users = [k for k, group in enumerate(groups) if touches(group, alloc.array.name)]
            if users:
                first, last = users[0], users[-1] + 1
                merged = tuple(stmt for group in groups[first:last] for stmt in group)
                if not any(isinstance(node, For) for node in walk(merged)):
                    groups[first:last] = [(alloc, *merged)]
    return groups


def _can_distribute(branch: If) -> bool:
    """May each statement inside test the condition for itself? Not if one of them could change it."""
    is_changed = stored((*branch.then, *branch.other)) & loaded(branch.cond)
    return any(isinstance(node, For) for node in walk(branch)) and not is_changed


def _guard(child: _Leaf | _Loop, cond: Expr) -> _Leaf | _Loop:
    """Every statement below, run only if `cond` holds."""
    if isinstance(child, _Loop):
        return replace(child, children=tuple(_guard(c, cond) for c in child.children))
    return replace(child, body=(If(cond, child.body, loc=child.body[0].loc),))


def _leaves(nest: _Nest) -> Iterator[_Leaf]:
    for child in nest:
        if isinstance(child, _Loop):
            yield from _leaves(child.children)
        else:
            yield child


def _statement(name: str, leaf: _Leaf, sizes: tuple[str, ...], arrays: dict[str, Array]) -> Statement:
    space = _space(leaf.where, sizes, name)
    domain = reduce(isl.Set.intersect, map(space.where, leaf.where.conditions), space.universe)
    reads, writes = accesses(leaf.body, space, arrays)
    return Statement(
        name=name,
        iterators=space.iterators,
        domain=domain.coalesce(),
        writes=writes,
        reads=reads,
        body=leaf.body,
        loc=next((stmt.loc for stmt in leaf.body if stmt.loc and not isinstance(stmt, Alloc)), None),
        reduction=reduction_operator(leaf.body) if updates_alone(reads, writes, domain) else "",
    )


def updates_alone(reads: tuple[Access, ...], writes: tuple[Access, ...], domain: isl.Set) -> bool:
    """Is what an instance reads of the arrays that it writes the very element, or surely another one?"""
    for write in writes:
        element = write.relation.intersect_domain(domain)
        for read in reads:
            if read.array == write.array:
                other = read.relation.intersect_domain(domain)
                if not (other.is_equal(element) or other.is_disjoint(element)):
                    return False
    return True


def _kills(leaves: Iterable[tuple[_Leaf, Statement]], arrays: dict[str, Array]) -> isl.UnionMap:
    """{ S[i] -> t[] }: what an earlier iteration left in a temporary is dead before S[i]."""
    dead = (
        isl.Map.from_domain_and_range(statement.domain, isl.Set(f"{{ {name}[] }}"))
        for leaf, statement in leaves
        for name in leaf.kills
        if name in arrays and not arrays[name].shape
    )
    return isl.union_map(dead)


def _order(nest: _Nest, statements: Iterator[Statement], sizes: tuple[str, ...]) -> tuple[Tree, list[Statement]]:
    """The source order of `nest`, and the statements in it, which are taken from `statements`."""
    parts: list[tuple[Tree, list[Statement]]] = []
    for child in nest:
        if isinstance(child, _Leaf):
            parts.append((Leaf(), [next(statements)]))
        else:
            tree, below = _order(child.children, statements, sizes)
            member = Member(_loop_schedule(child.loop, below, sizes))
            parts.append((Band((member,), permutable=False, child=tree), below))
    if len(parts) == 1:
        return parts[0]
    branches = tuple(Filter(isl.union_set(s.domain for s in below), tree) for tree, below in parts)
    return InOrder(branches), [statement for _, below in parts for statement in below]


def _loop_schedule(loop: For, statements: list[Statement], sizes: tuple[str, ...]) -> isl.UnionMap:
    """{ S[i, j] -> [i] } for each statement in the loop; [-i] when it counts down."""
    value = Unary("-", Var(loop.var)) if loop.step < 0 else Var(loop.var)
    spaces = (AffineSpace(s.name, s.iterators, sizes) for s in statements)
    return isl.union_map(isl.Map.from_pw_aff(space.function(value)) for space in spaces)
