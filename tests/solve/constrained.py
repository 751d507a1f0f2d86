"""Schedules with constraints, checked by enumeration, and as text."""

from __future__ import annotations

from polysched.config.constraints import Constraint
from polysched.config.options import Options
from polysched.deps.dataflow import dependences
from polysched.model.scop import Scop
from polysched.model.tree.text import show_tree
from polysched.solve.constraints.honoured import unmet
from polysched.solve.scheduler import Scheduled, find_schedule
from tests.solve.enumerated import assert_legal


def scheduled(model: Scop, *constraints: Constraint, **options) -> Scheduled:
    asked = Options(constraints=constraints, **options)
    deps = dependences(model, reorder_reductions=asked.reorder_reductions)
    found = find_schedule(model, deps, asked)
    if not asked.reorder_reductions:
        assert_legal(model, found.tree)
    assert found.constraints == constraints and not unmet(found.tree, model, deps, constraints)
    return found


def rows(found: Scheduled) -> list[str]:
    """The lines of the tree below domain and context, without indentation."""
    return [line.strip() for line in show_tree(found.tree).splitlines()[2:]]
