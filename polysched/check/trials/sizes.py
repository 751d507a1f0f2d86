"""Sizes worth running a nest with, to see whether its kernel is right: how large may be said, and some or all be fixed.

    small_sizes(scop, {}, 20_000)            {"n": 1, "m": 1}, ..., {"n": 0, "m": 3}, ..., {"n": 17, "m": 17}: partial,
                                             full and several tiles, and loops that do not run inside of some that do
    ladders(nest, scop, {}, over=342)        [{"n": 34, "m": 34}, {"n": 66, "m": 66}, ...], then one large at a time
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from polysched.ir.integers.intervals import Interval, interval
from polysched.ir.interp import evaluate
from polysched.ir.node import walk
from polysched.ir.nodes import Expr, For, Function, If, Load, Stmt, Var
from polysched.model.scop import Scop, Statement
from polysched.model.witness import smallest
from polysched.support import isl

Sizes = dict[str, int]

_SMALL = (1, 2, 3, 7, 17, 33, 65)
_APART = 7  # here the sizes differ from each other, so that no two are mixed up unnoticed
_BEFORE_EMPTY, _BESIDE_EMPTY, _MOST_EMPTY = 4, 3, 3  # sizes of zero: after so many, beside others of 3, for three names
_ALIKE = (1, 2, 3, 5, 7, 17, 34, 66, 130)  # up to more than one tile of any size of ours, and part of the next
_ALONE = ((34, 3), (130, 3), (130, 7))  # one of them, and the others
_LOOSE = 8  # how much larger than a domain its box may be; isl counts what is in it one by one


def small_sizes(scop: Scop, fixed: Sizes, most_instances: int) -> Iterator[Sizes]:
    """Those at which the nest is valid, and has at most so many instances of statements."""
    alike = list(_near(scop, fixed, _SMALL))
    for sizes in (*alike[:_BEFORE_EMPTY], *_valid(scop, _empty(scop, fixed)), *alike[_BEFORE_EMPTY:]):
        if _has_at_most(scop, sizes, most_instances):
            yield sizes


def ladders(nest: Function, scop: Scop, fixed: Sizes, over: int = -1) -> list[list[Sizes]]:
    """Ascending sizes: all alike, of more work than `over`, and each alone large."""
    names = [name for name in scop.function.sizes if name not in fixed]
    alike = _near(scop, fixed, _ALIKE)
    alone = ([{**dict.fromkeys(names, small), name: large} for large, small in _ALONE] for name in names)
    free = ([{name: {**fixed, **some}[name] for name in scop.function.sizes} for some in it] for it in alone)
    return [
        [sizes for sizes in alike if work(nest, scop, sizes) > over],
        *(list(_valid(scop, it)) for it in free if len(names) > 1),
    ]


def work(nest: Function, scop: Scop, sizes: Sizes) -> int:
    """About how many elements there are, and accesses to them: as if the domains were boxes."""
    accesses = sum((len(s.reads) + len(s.writes)) * isl.box(domain) * turns for s, domain, turns in _at(scop, sizes))
    return accesses + sum(prod(int(evaluate(extent, sizes)) for extent in array.shape) for array in nest.arrays)


def _near(scop: Scop, fixed: Sizes, values: Sequence[int]) -> Iterator[Sizes]:
    """Sizes that are all alike, one of these values each; if none are valid, the next larger ones that are."""
    found = list(_valid(scop, (_alike(scop, fixed, value) for value in values)))
    yield from found or _valid(scop, filter(None, (_above(scop, fixed, value) for value in values)))


def _empty(scop: Scop, fixed: Sizes) -> Iterator[Sizes]:
    """One of several sizes zero: loops over it have no iterations, those over others have."""
    names = [name for name in scop.function.sizes if name not in fixed]
    if len(names) > 1:
        yield from ({**_alike(scop, fixed, _BESIDE_EMPTY), name: 0} for name in names[:_MOST_EMPTY])


def _above(scop: Scop, fixed: Sizes, value: int) -> Sizes | None:
    """The least valid sizes that are all at least the value, but for those fixed; None if there are none."""
    allowed, kind = scop.valid_sizes, isl.dim_type.param
    for k, name in enumerate(scop.function.sizes):
        given = isl.Val(fixed.get(name, value))
        allowed = allowed.fix_val(kind, k, given) if name in fixed else allowed.lower_bound_val(kind, k, given)
    return None if allowed.is_empty() else smallest(allowed)[0]


def _alike(scop: Scop, fixed: Sizes, value: int) -> Sizes:
    apart = int(value == _APART)
    return {name: fixed.get(name, value + k * apart) for k, name in enumerate(scop.function.sizes)}


def _valid(scop: Scop, candidates: Iterable[Sizes]) -> Iterator[Sizes]:
    """Each once."""
    seen: list[Sizes] = []
    extents = [extent for array in scop.function.arrays for extent in array.shape]  # which may be no affine ones
    for sizes in candidates:
        exists = sizes not in seen and all(evaluate(extent, sizes) >= 0 for extent in extents)
        if exists and not isl.at(scop.valid_sizes, sizes).is_empty():
            seen.append(sizes)
            yield sizes


def _has_at_most(scop: Scop, sizes: Sizes, most: int) -> bool:
    found = list(_at(scop, sizes))
    boxes = sum(turns * isl.box(domain) for _, domain, turns in found)
    if most < boxes <= _LOOSE * most:
        return sum(turns * int(domain.count_val().get_num_si()) for _, domain, turns in found) <= most
    return boxes <= most


def _at(scop: Scop, sizes: Sizes) -> Iterator[tuple[Statement, isl.Set, int]]:
    """The statements, with their instances at these sizes, and their turns."""
    for statement in scop.statements:
        domain = isl.at(statement.domain, sizes)
        yield statement, domain, _turns(statement, domain, sizes)


def _turns(statement: Statement, domain: isl.Set, sizes: Sizes) -> int:
    """At most how often the innermost statements run in an instance, which holds the loops that are not affine; those
    whose bounds only data tells count once."""
    if domain.is_empty() or not any(isinstance(stmt, For) for stmt in walk(statement.body)):
        return 1
    known = {name: (value, value) for name, value in sizes.items()}
    return _runs(statement.body, known | {name: isl.ends(domain, k) for k, name in enumerate(statement.iterators)})


def _runs(body: Iterable[Stmt], known: dict[str, Interval]) -> int:
    runs = 0
    for stmt in body:
        match stmt:
            case For(var=var, lo=lo, hi=hi, step=step):
                low, high = _between(lo, known), _between(hi, known)
                if low is None or high is None:
                    runs += _runs(stmt.body, known)
                    continue
                ends = (low[0], high[1]) if step > 0 else (high[0], low[1])
                runs += max(0, -(-(ends[1] - ends[0]) // abs(step))) * _runs(stmt.body, {**known, var: ends})
            case If(then=then, other=other):
                runs += max(_runs(then, known), _runs(other, known))
            case _:
                runs += 1
    return runs


def _between(expr: Expr, known: dict[str, Interval]) -> Interval | None:
    """Numbers that the value lies between; None if data is in it, or what else is not known."""
    if any(isinstance(node, Load) or (isinstance(node, Var) and node.name not in known) for node in walk(expr)):
        return None

    def inner(part: Expr) -> Interval:
        return known[part.name] if isinstance(part, Var) else interval(part, inner)

    return inner(expr)
