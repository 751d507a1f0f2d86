"""Which constraints contradict each other or the dependences: as few as possible, by leaving out one after the other.

    order("S", "j") contradicts the dependences, for loop 1 of S:
    flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)
      nest.py:5:13: S
          a[i + 1, j] = a[i, j + 1]
          ^

First constraints are left out of the whole search, then dependences of the ILP that has no solution (the deletion
filter of Chinneck and Dravnieks, ORSA Journal on Computing 1991). What remains speaks of the loops that were asked for:
an order stays if without it the search fails inside of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from polysched.config.constraints import Constraint, Innermost, Order, factors, fits, is_asked
from polysched.deps.legality import violation_of
from polysched.errors import BudgetExceeded, IllegalSchedule
from polysched.model.scop import Scop
from polysched.solve.farkas import Edge
from polysched.solve.fusion import Contradiction
from polysched.solve.hyperplane import sum_text
from polysched.support import isl

Retry = Callable[[tuple[Constraint, ...]], Contradiction | None]  # the search with these constraints alone


def contradiction_error(
    found: Contradiction, constraints: tuple[Constraint, ...], retry: Retry, scop: Scop
) -> IllegalSchedule:
    """The error that names the constraints and the dependences that contradict each other, none of them needlessly."""
    alone = _contradicts(found, ())  # without dependences, which then none is named instead
    for constraint in constraints:
        fewer = tuple(c for c in constraints if c is not constraint)
        again = retry(fewer)
        if again is not None and not (alone and not _contradicts(again, ())) and _is_inside(again, constraint):
            constraints, found = fewer, again
    edges = _needed(found)
    violations = [replace(violation_of(edge.dependence, _wrong(edge, found)), scop=scop) for edge in edges]
    reason = "".join(f"\n{violation}" for violation in violations) or _reason(found)
    message = f"{_claim(constraints, edges)}, for {_place(found)}" + (f":{reason}" if reason else "")
    return IllegalSchedule(message, violation=next(iter(violations), None), hint=_hint(found))


def _is_inside(found: Contradiction, left_out: Constraint) -> bool:
    """Are the loops outside of it those of the order left out?"""
    if not isinstance(left_out, Order):
        return True
    plan, iterators = found.plan, found.fusion.search.form.iterators
    return all(
        is_asked(row, asked, iterators[name])
        for name in plan.names
        if fits(name, [left_out.statement])
        for row, asked in zip(plan.found[name], left_out.rows, strict=False)
    )


def _needed(found: Contradiction) -> tuple[Edge, ...]:
    """One piece of each dependence that it takes."""
    edges = found.plan.edges
    for dependence in reversed(list({id(edge.dependence): edge.dependence for edge in edges}.values())):
        fewer = tuple(edge for edge in edges if edge.dependence is not dependence)
        if _contradicts(found, fewer):
            edges = fewer
    return tuple({id(edge.dependence): edge for edge in reversed(edges)}.values())[::-1]


def _contradicts(found: Contradiction, edges: tuple[Edge, ...]) -> bool:
    fusion = replace(found.fusion, policy="none", is_lenient=False)
    try:
        fusion.bands(found.plan.names, edges, found.plan.found)
    except Contradiction:
        return True
    except BudgetExceeded:
        return False
    return False


def _claim(constraints: Iterable[Constraint], edges: Iterable[Edge]) -> str:
    *others, last = map(str, constraints)
    if not others:
        return f"{last} contradicts the dependences" if edges else f"{last} cannot be met"
    both = f"{', '.join(others)} and {last}"
    return f"{both} together contradict the dependences" if edges else f"{both} contradict each other"


def _place(found: Contradiction) -> str:
    """As in "loop 2 of S, inside of i"."""
    plan, form = found.plan, found.fusion.search.form
    name = max(plan.names, key=lambda name: len(form.iterators[name]) - len(plan.found[name]))
    outer = [sum_text(zip(row, form.iterators[name], strict=True)) for row in plan.found[name]]
    inside = f", inside of {', '.join(outer)}" if outer else ""
    return f"loop {len(outer) + 1} of {' and '.join(plan.names)}{inside}"


def _reason(found: Contradiction) -> str:
    """Which loop of an order an iterator is in that is kept for the last."""
    constraints, plan = found.fusion.demands.constraints, found.plan
    for name in plan.names:
        level = len(plan.found[name])
        kept = [c.iterator for c in constraints if isinstance(c, Innermost) and fits(name, [c.statement])]
        orders = [c for c in constraints if isinstance(c, Order) and fits(name, [c.statement])]
        for row in (c.rows[level] for c in orders if level < len(c.rows)):
            for iterator in (iterator for iterator in kept if (factors(row) or {}).get(iterator)):
                return f" {iterator} is in the loop {row}, which is not the last"
    return ""


def _wrong(edge: Edge, found: Contradiction) -> isl.Map:
    """The pairs that run the wrong way round if the next loop is fixed; else all of the dependence."""
    relation, source, sink = edge.relation.to_map(), _next_loop(edge.source, found), _next_loop(edge.sink, found)
    if source is None or sink is None:
        return relation
    apart = relation.subtract(source.apply_range(sink.reverse())) if edge.is_loop else relation
    backward = relation.intersect(source.lex_gt_map(sink))
    return next((wrong for wrong in (backward, apart) if not wrong.is_empty()), relation)


def _next_loop(name: str, found: Contradiction) -> isl.Map | None:
    """{ S[i, j] -> [i + j] } if all of its factors are fixed."""
    form = found.fusion.search.form
    iterators, row = form.iterators[name], dict(form.demands.fixed(name, found.plan.found))
    if len(row) < len(iterators):
        return None
    value = sum_text((row[k], iterator) for k, iterator in enumerate(iterators))
    return isl.Map(f"{{ {name}[{', '.join(iterators)}] -> [{value}] }}")


def _hint(found: Contradiction) -> str:
    demands, plan = found.fusion.demands, found.plan
    for name in plan.names:
        for k, factor in demands.fixed(name, plan.found):
            if factor * demands.forward[name][k] < 0 < factor:
                iterator = demands.iterators[name][k]
                return f"{iterator} counts down in the source: the loop is -{iterator}"
    return ""
