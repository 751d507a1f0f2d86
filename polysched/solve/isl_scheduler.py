"""isl's own scheduler, as an alternative to ours and to test against: in a process of its own, with a time limit.

It can run for minutes through any quota of operations, and cannot be interrupted; so it is given texts and is
stopped with its process. Verdoolaege and Janssens, 2017: "Scheduling for PPCG".
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from polysched import isl
from polysched.deps.dependences import Dependences
from polysched.errors import BudgetExceeded
from polysched.model.scop import Scop
from polysched.model.tree import Context, Domain, Tree
from polysched.model.tree_isl import from_isl
from polysched.solve.budget import Deadline


def isl_schedule(scop: Scop, dependences: Dependences, deadline: Deadline) -> Tree:
    """The tree that isl finds; BudgetExceeded when the deadline passes first or isl gives up."""
    deadline.check("isl's scheduler")
    request = {
        "domain": str(scop.domain),
        "context": str(scop.context),
        "validity": str(dependences.validity),
        "proximity": str(dependences.proximity),
        "coincidence": str(dependences.coincidence),
    }
    # A fresh interpreter rather than a fork, which is not safe beside the threads of numeric libraries.
    command = [sys.executable, "-c", f"from {__name__} import serve; serve()"]
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    try:
        answer = subprocess.run(
            command,
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=deadline.left,
            env={**os.environ, "PYTHONPATH": path},
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise BudgetExceeded("isl's scheduler ran out of time; a larger solve_seconds gives it more") from error
    except subprocess.CalledProcessError as error:
        raise BudgetExceeded(f"isl's scheduler failed: {error.stderr.strip().splitlines()[-1]}") from error
    return _under_context(from_isl(isl.Schedule(answer.stdout)), scop)


def serve() -> None:
    """Reads the constraints from standard input and writes the schedule; runs in the process of its own."""
    request = json.load(sys.stdin)
    constraints = isl.ScheduleConstraints.on_domain(isl.UnionSet(request["domain"]))
    constraints = constraints.set_context(isl.Set(request["context"]))
    constraints = constraints.set_validity(isl.UnionMap(request["validity"]))
    constraints = constraints.set_proximity(isl.UnionMap(request["proximity"]))
    constraints = constraints.set_coincidence(isl.UnionMap(request["coincidence"]))
    print(constraints.compute_schedule())


def _under_context(tree: Tree, scop: Scop) -> Tree:
    assert isinstance(tree, Domain), "isl's schedules start with a domain"
    return Domain(scop.domain, Context(scop.context, tree.child))
