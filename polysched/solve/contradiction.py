"""Which constraints contradict each other or the dependences: as few as possible, by leaving out one after the other.

    order("S", "j") contradicts the dependences, for loop 1 of S:
    flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)
      nest.py:5:13: S
          a[i + 1, j] = a[i, j + 1]
          ^

First constraints are left out of the whole search, then dependences of the ILP that has no solution (the deletion
filter of Chinneck and Dravnieks, ORSA Journal on Computing 1991).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from polysched import isl
from polysched.constraints import Constraint
from polysched.deps.legality import Instance, Violation
from polysched.errors import BudgetExceeded, IllegalSchedule
from polysched.model.scop import Scop
from polysched.model.witness import smallest
from polysched.solve.farkas import Edge
from polysched.solve.fusion import Contradiction
from polysched.solve.hyperplane import sum_text

Retry = Callable[[tuple[Constraint, ...]], Contradiction | None]  # the search with these constraints alone


def contradiction_error(
    found: Contradiction, constraints: tuple[Constraint, ...], retry: Retry, scop: Scop
) -> IllegalSchedule:
    """The error that names the constraints and the dependences that contradict each other, none of them needlessly."""
    for constraint in constraints:
        fewer = tuple(c for c in constraints if c is not constraint)
        again = retry(fewer)
        if again is not None:
            constraints, found = fewer, again
    edges = _needed(found)
    violations = [_violation(edge, found, scop) for edge in edges]
    lines = [f"{_claim(constraints, edges)}, for {_place(found)}", *map(str, violations)]
    message = lines[0] + (":" if violations else "") + "".join(f"\n{line}" for line in lines[1:])
    return IllegalSchedule(message, violation=next(iter(violations), None), hint=_hint(found))


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


def _violation(edge: Edge, found: Contradiction, scop: Scop) -> Violation:
    """A pair that runs the wrong way round if the next loop is fixed; else the first of the dependence."""
    sizes, point = smallest(_wrong(edge, found).wrap())
    depth = scop.statement(edge.source).depth
    source, sink = Instance(edge.source, point[:depth]), Instance(edge.sink, point[depth:])
    return Violation(dependence=edge.dependence, source=source, sink=sink, sizes=sizes, scop=scop)


def _wrong(edge: Edge, found: Contradiction) -> isl.Map:
    plan, form, relation = found.plan, found.fusion.search.form, edge.relation.to_map()
    iterators, row = form.iterators[edge.source], dict(form.demands.fixed(edge.source, plan.found))
    if not edge.is_loop or len(row) < len(iterators):
        return relation
    value = sum_text((row[k], iterator) for k, iterator in enumerate(iterators))
    time = isl.Map(f"{{ {edge.source}[{', '.join(iterators)}] -> [{value}] }}")
    for wrong in (relation.intersect(time.lex_gt_map(time)), relation.subtract(time.apply_range(time.reverse()))):
        if not wrong.is_empty():
            return wrong
    return relation


def _hint(found: Contradiction) -> str:
    demands, plan = found.fusion.demands, found.plan
    for name in plan.names:
        for k, factor in demands.fixed(name, plan.found):
            if factor * demands.forward[name][k] < 0 < factor:
                iterator = demands.iterators[name][k]
                return f"{iterator} counts down in the source: the loop is -{iterator}"
    return ""
