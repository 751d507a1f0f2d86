"""Index-set splitting: a loop nest of one statement in parts that can run one after the other, each of them parallel
(Griebl, Feautrier and Lengauer, LCPC 1999).

    band: i, j                                      sequence
                                                      filter: i < k and j < k     band: i, j   coincident
    p[i, j] = min(p[i, j], p[i, k] + p[k, j])   ->    filter: i < k and j = k     band: i, j   coincident
                                                      filter: i = k and j < k     ...

The parts are where the ends of dependences divide the domain: what is a source or a sink, and what is not. Each is
taken off by an edit, as .split_set("i", "k >= i + 1 and k >= j + 1").
"""

from __future__ import annotations

from functools import partial
from typing import TypeGuard

from polysched.deps.coincidence import mark_under
from polysched.deps.components import strongly_connected
from polysched.model.tree.nodes import Band, Filter, InOrder, Leaf, Tree
from polysched.strategy.script import Script
from polysched.support import isl
from polysched.support.remembered import remembered
from polysched.transform.edits.base.loops import loops

_MOST = 16  # parts


def pieces(script: Script) -> None:
    """Serial nests of one statement in parts that are parallel."""
    serial = [(node, around) for node, around in script.around.walk(script.tree) if _is_serial(node)]
    domain = script.scop.domain
    found = [isl.decided(partial(split, band, around.reaching, domain), unknown=None) for band, around in serial]
    for (band, _), parts in zip(serial, found, strict=True):
        if parts is not None:
            split_in(script, band, parts)


def split_in(script: Script, band: Band, parts: InOrder) -> None:
    """The loops of the band for each part in turn."""
    (own,) = isl.sets_of(script.scop.domain.intersect(band.members[0].schedule.domain()))
    name = band.members[0].name
    left = own.intersect_params(script.scop.context)
    for part in parts.children[:-1]:
        (instances,) = isl.sets_of(part.filter)
        if left.is_disjoint(instances):  # for sizes that there are
            continue
        left = left.subtract(instances)
        if left.is_empty():
            break
        before = {each.name for each in loops(script.draft.nested)}
        script.do("split_set", name, condition_of(instances.gist(own)))
        name = next(each.name for each in loops(script.draft.nested) if each.name not in before)


def _is_serial(node: Tree) -> TypeGuard[Band]:
    """Is it an innermost band over one statement, without a parallel loop?"""
    if not isinstance(node, Band) or not isinstance(node.child, Leaf) or any(m.coincident for m in node.members):
        return False
    return node.members[0].schedule.domain().n_set() == 1


def split(band: Band, reaching: isl.UnionMap, domain: isl.UnionSet) -> InOrder | None:
    """The parts of an innermost band over one statement, in an order that keeps the dependences; None if there are
    none, too many, or one with several instances has no coincident member.

    `reaching` are the dependences that nothing above the band orders, `domain` the instances that reach it.
    """
    members = band.members
    own = domain.intersect(members[0].schedule.domain())
    relations = isl.maps_of(reaching.intersect_domain(own).intersect_range(own))
    if not isinstance(band.child, Leaf) or own.n_set() != 1 or len(relations) != 1:
        return None
    parts = _parts(isl.Set.from_union_set(own), relations[0])
    order = None if parts is None else _ordered(parts, reaching)
    if order is None or len(order) < 2 or not all(_is_parallel(band, part, reaching) for part in order):
        return None
    return InOrder(tuple(_branch(band, part) for part in _joined(order, band, reaching)))


def _ordered(parts: list[isl.Set], reaching: isl.UnionMap) -> list[isl.Set] | None:
    """The parts in the order that the dependences ask for; None if they go back and forth."""
    named = {str(k): part for k, part in enumerate(parts)}
    pairs = [
        (source, sink)
        for source, one in named.items()
        for sink, other in named.items()
        if source != sink and not _between(one, other, reaching).is_empty()
    ]
    order = strongly_connected(list(named), pairs)
    return [named[name] for (name, *_) in order] if len(order) == len(parts) else None


@remembered  # most parts stay as they are where two are joined
def _between(source: isl.Set, sink: isl.Set, reaching: isl.UnionMap) -> isl.UnionMap:
    return reaching.intersect_domain(isl.UnionSet.from_set(source)).intersect_range(isl.UnionSet.from_set(sink))


def _joined(parts: list[isl.Set], band: Band, reaching: isl.UnionMap) -> list[isl.Set]:
    """Fewer parts: two that make a convex set are one, if that is as parallel."""
    for k, one in enumerate(parts):
        for other in parts[k + 1 :]:
            both = one.union(other).coalesce()
            if both.n_basic_set() == 1 and _between(one, other, reaching).is_empty():
                rest = [part for part in parts if part is not one and part is not other]
                order = _ordered([both, *rest], reaching)
                if order is not None and _between(other, one, reaching).is_empty():
                    return _joined(order, band, reaching)
    return parts


def _parts(domain: isl.Set, relation: isl.Map) -> list[isl.Set] | None:
    """The domain divided by the domain and the range of each convex part of the relation."""
    parts = [domain]
    for basic in relation.get_basic_maps():
        ends = isl.Map.from_basic_map(basic)
        for end in (ends.domain(), ends.range()):
            halves = (half for part in parts for half in (part.intersect(end), part.subtract(end)))
            parts = [half.coalesce() for half in halves if not half.is_empty()]
            if len(parts) > _MOST:
                return None
    return parts


def _branch(band: Band, part: isl.Set) -> Filter:
    own = isl.UnionSet.from_set(part)
    return Filter(own, band.within(own))


def _is_parallel(band: Band, part: isl.Set, reaching: isl.UnionMap) -> bool:
    marked = mark_under(_branch(band, part).child, _between(part, part, reaching))
    return isinstance(marked, Band) and any(member.coincident for member in marked.members)


# --- as text


def condition_of(instances: isl.Set) -> str:
    """Which of a statement's instances these are, in its iterators and the sizes."""
    parts = [" and ".join(map(_compared, _conditions(basic))) for basic in instances.get_basic_sets()]
    return parts[0] if len(parts) == 1 else " or ".join(f"({part})" for part in parts)


def _conditions(basic: isl.BasicSet) -> list[isl.Constraint]:
    """But those that say what a quotient is."""
    return [each for each in basic.get_constraints() if not each.is_div_constraint()]


def _compared(constraint: isl.Constraint) -> str:
    """Positive terms on the left, the others on the right: k >= i + 1."""
    left, right = _sides(constraint.get_aff())
    return f"{left} {'==' if constraint.is_equality() else '>='} {right}"


def _sides(aff: isl.Aff) -> tuple[str, str]:
    """Sums that differ by a multiple of it: of its positive terms, and of the others."""
    scale = aff.get_denominator_val()
    terms: list[tuple[isl.Val, str]] = []
    for kind in (isl.dim_type.in_, isl.dim_type.param):
        terms += [(aff.get_coefficient_val(kind, k), aff.get_dim_name(kind, k) or "") for k in range(aff.dim(kind))]
    for k in range(aff.dim(isl.dim_type.div)):
        factor = aff.get_coefficient_val(isl.dim_type.div, k)
        terms += [] if factor.is_zero() else [(factor, _quotient(aff.get_div(k)))]
    terms.append((aff.get_constant_val(), ""))
    whole = [(int(factor.mul(scale).get_num_si()), name) for factor, name in terms]
    positive, negative = ([_term(abs(c), name) for c, name in whole if c * sign > 0] for sign in (1, -1))
    return " + ".join(positive) or "0", " + ".join(negative) or "0"


def _term(factor: int, name: str) -> str:
    if not name:
        return str(factor)
    return name if factor == 1 else f"{factor} * {name}"


def _quotient(div: isl.Aff) -> str:
    """floor(sum / d)"""
    positive, negative = _sides(div)
    total = positive if negative == "0" else f"{positive} - ({negative})"
    return f"({total if total.isidentifier() else f'({total})'} // {div.get_denominator_val()})"
