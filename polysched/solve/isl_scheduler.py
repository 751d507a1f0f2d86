"""isl's own scheduler, as an alternative to ours and to test against: in a process of its own, with a time limit.

It can run for minutes through any quota of operations. Verdoolaege and Janssens, 2017: "Scheduling for PPCG".
"""

from __future__ import annotations

from polysched.deps.dependences import Dependences, union
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Context, Domain, Tree
from polysched.model.tree.to_isl import from_isl
from polysched.support import isl
from polysched.support.bounded import call_within
from polysched.support.clock import Deadline


def isl_schedule(scop: Scop, dependences: Dependences, deadline: Deadline) -> Tree:
    """The tree that isl finds; BudgetExceeded when the deadline passes first or isl gives up."""
    deadline.check("isl's scheduler")
    within = (union(dependences.scheduled), dependences.flow, dependences.coincidence)
    schedule = call_within(deadline.left, isl_scheduler, scop.domain, scop.context, *within)
    tree = from_isl(isl.Schedule(schedule))
    assert isinstance(tree, Domain), "isl's schedules start with a domain"
    return Domain(scop.domain, Context(scop.context, tree.child))


def isl_scheduler(
    domain: isl.UnionSet, context: isl.Set, validity: isl.UnionMap, proximity: isl.UnionMap, coincidence: isl.UnionMap
) -> str:
    """isl's schedule, as text; runs in the process of its own."""
    constraints = isl.ScheduleConstraints.on_domain(domain).set_context(context)
    constraints = constraints.set_validity(validity).set_proximity(proximity).set_coincidence(coincidence)
    return str(constraints.compute_schedule())
