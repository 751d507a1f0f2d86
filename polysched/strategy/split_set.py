"""Index-set splitting as edits: the parts that `transform/trees/split_set.py` finds, one after the other."""

from __future__ import annotations

from functools import partial

from polysched.model.tree.nodes import Band, Sequence
from polysched.strategy.script import Script
from polysched.support import isl
from polysched.transform.edits.base.loops import loops
from polysched.transform.trees.split_set import is_serial, split


def pieces(script: Script) -> None:
    """Serial nests of one statement in parts that are parallel."""
    serial = [(node, around) for node, around in script.around.walk(script.tree) if is_serial(node)]
    domain = script.scop.domain
    found = [isl.decided(partial(split, band, around.reaching, domain), unknown=None) for band, around in serial]
    for (band, _), parts in zip(serial, found, strict=True):
        if parts is not None:
            split_in(script, band, parts)


def split_in(script: Script, band: Band, parts: Sequence) -> None:
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
        script.do("split_set", name, _condition(instances.gist(own)))
        name = next(each.name for each in loops(script.draft.nested) if each.name not in before)


def _condition(instances: isl.Set) -> str:
    """Which of a statement's instances these are, in its iterators and the sizes."""
    parts = [" and ".join(map(_compared, basic.get_constraints())) for basic in instances.get_basic_sets()]
    return parts[0] if len(parts) == 1 else " or ".join(f"({part})" for part in parts)


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
    return f"(({positive} - ({negative})) // {div.get_denominator_val()})"
