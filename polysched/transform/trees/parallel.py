"""Which loop of a band runs on threads: the first parallel one that has more than one iteration."""

from __future__ import annotations

from polysched.model.tree.nodes import Band, Member
from polysched.support import isl
from polysched.support.remembered import remembered


def for_threads(band: Band, domain: isl.UnionSet | None) -> int | None:
    """The first coincident member that runs more than once; None if there is none."""
    parallel = (k for k, member in enumerate(band.members) if member.coincident)
    return next((k for k in parallel if not runs_once(band.members[k], domain)), None)


@remembered
def runs_once(member: Member, domain: isl.UnionSet | None) -> bool:
    """Has the member one value for these instances, if they are known?"""
    if domain is None:
        return False
    values = member.schedule.intersect_domain(domain).range()
    return values.n_set() == 1 and bool(isl.sets_of(values)[0].is_singleton())
