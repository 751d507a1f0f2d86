"""Dead instances, left out: others overwrite what they store before anything reads it.

    for i in 0..n - 1:                          for i in 0..n - 1:
        S0: a[i + 1] = b[i]             ->          S1: a[i] = c[i]
        S1: a[i] = c[i]                         S0: a[n - 1] = b[n - 2]

An instance lives if a living one reads what it stores, or if that is what one of the user's arrays holds in the end:
what a read of everything there would get (`values.with_ends`).

Keeps: what the user's arrays hold in the end. Instances that may do more than store, as divide by zero, stay. So do all
of a statement where those that live have as many loops as before, or are no convex set: telling them apart would take
as long as running them all. Where isl cannot tell, they live.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

from polysched.deps.dependences import Dependences
from polysched.deps.last import last_before
from polysched.deps.timed import timed_accesses
from polysched.deps.values import with_ends
from polysched.ir.effects import may_be_dropped
from polysched.ir.node import walk
from polysched.ir.nodes import Expr
from polysched.model.scop import Scop, Statement
from polysched.model.tree.instances import only
from polysched.model.tree.nodes import Domain
from polysched.support import isl

_Instances = dict[str, isl.Set]  # { S[i] } by statement


def without_dead(scop: Scop, dependences: Dependences) -> Scop:
    """`scop` without its dead instances, which `Scop.dead` has then; the same object if none are left out."""
    statements = tuple(replace(s, domain=s.domain.intersect_params(scop.context)) for s in scop.statements)
    living = {s.name: s.domain for s in statements}
    read = _read(living, dependences)
    at_least = {s.name: read[s.name].union(_not_overwritten(s, scop, dependences)) for s in statements}
    droppable = [s for s in statements if all(may_be_dropped(n) for n in walk(s.body) if isinstance(n, Expr))]
    if not any(_loops(at_least[s.name]) < _loops(s.domain) for s in droppable):
        return scop
    last = _last_writers(scop)
    for _ in statements:  # each may have been all that reads what another one stores
        read = _read(living, dependences)
        left = {name: domain.intersect(read[name].union(last[name])).coalesce() for name, domain in living.items()}
        fewer = {s.name: left[s.name] for s in droppable if _is_simpler(left[s.name], s.domain)}
        before, living = living, living | fewer
        if all(living[name].is_equal(instances) for name, instances in before.items()):
            break
    gone = tuple(replace(s, domain=s.domain.subtract(living[s.name])) for s in statements)
    return _only(living, scop, tuple(s for s in gone if not s.domain.is_empty()))


def _read(living: _Instances, dependences: Dependences) -> _Instances:
    """Those that store what a living one reads."""
    found = {name: _union(domain, ()) for name, domain in living.items()}
    for d in dependences.of("flow"):
        found[d.source] = found[d.source].union(d.relation.intersect_range(living[d.sink]).domain())
    return found


def _not_overwritten(statement: Statement, scop: Scop, dependences: Dependences) -> isl.Set:
    """Its instances that store to an array of the user's what surely nothing stores to again."""
    known = statement.domain
    users = {array.name for array in scop.function.arrays}
    order = [d for d in dependences.of("output") if d.source == statement.name]
    again = (
        _union(known, (d.relation.domain() for d in order if d.array == array))
        for array in {write.array for write in statement.writes} & users
    )
    return _union(known, map(known.subtract, again))


def _last_writers(scop: Scop) -> _Instances:
    """Those that store what an array of the user's holds in the end, or may."""
    found = {s.name: _union(s.domain, ()) for s in scop.statements}
    accesses = timed_accesses(with_ends(scop))
    ends = [access for access in accesses if access.statement not in found]
    for pair in last_before(ends, [access for access in accesses if access.is_write], math.inf):
        name = pair.source.statement
        found[name] = found[name].union(pair.instances.domain())
    return found


def _union(like: isl.Set, sets: Iterable[isl.Set]) -> isl.Set:
    """All of them, in the space of `like`."""
    return reduce(isl.Set.union, sets, isl.Set.empty(like.get_space()))


# --- what is worth it


def _is_simpler(left: isl.Set, domain: isl.Set) -> bool:
    """Is it worth it to run what is left of the domain, and no more?"""
    pieces = left.get_basic_sets()
    is_plain = len(pieces) <= 1 and _divisions(pieces) <= _divisions(domain.get_basic_sets())
    return is_plain and _loops(left) < _loops(domain)


def _loops(instances: isl.Set) -> int:
    """The dimensions that no equation fixes; -1 if there are no instances."""
    hulls = [piece.affine_hull() for piece in instances.get_basic_sets() if not piece.is_empty()]
    fixed = (sum(constraint.is_equality() for constraint in hull.get_constraints()) for hull in hulls)
    return max((instances.dim(isl.dim_type.set) - count for count in fixed), default=-1)


def _divisions(pieces: list[isl.BasicSet]) -> int:
    return max((piece.dim(isl.dim_type.div) for piece in pieces), default=0)


# --- what is left


def _only(living: _Instances, scop: Scop, dead: tuple[Statement, ...]) -> Scop:
    """The nest of these instances, without the dead ones."""
    left = tuple(s for s in scop.statements if not living[s.name].is_empty())
    if not left or not dead:
        return scop
    assert isinstance(scop.tree, Domain)
    instances = isl.union_set(living[s.name] for s in left)
    return replace(
        scop,
        statements=tuple(replace(s, domain=living[s.name]) for s in left),
        tree=Domain(instances, only(scop.tree.child, instances, whole_loops=True)),
        dead=dead,
    )
