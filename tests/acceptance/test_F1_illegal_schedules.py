"""F1: an illegal edit is refused with a pair of instances and its source lines, and changes nothing."""

from __future__ import annotations

import pytest

import polysched as ps
from polysched.model.tree.nodes import Domain, Parallel, Vector, marked_as, with_children
from polysched.operators.examples import stencil
from polysched.support import isl
from tests.transform.scheduled import band

LOOPS = "S[i, j] -> i", "S[i, j] -> j"

EDITS = {
    "interchanged": (band(*LOOPS[::-1], permutable=False), "S[i=0, j=1] must run before S[i=1, j=0] (N = 2)"),
    "backwards": (band("S[i, j] -> -i", LOOPS[1], permutable=False), "S[i=0, j=1] must run before S[i=1, j=0]"),
    "falsely permutable": (
        band(*LOOPS),
        "S[i=0, j=1] must run before S[i=1, j=0], but member 1 of their permutable band puts it later",
    ),
    "falsely coincident": (
        band(*LOOPS, permutable=False, coincident=(0,)),
        "S[i=0, j=1] must run before S[i=1, j=0], but member 0 of their band, flagged coincident, separates them",
    ),
    "falsely parallel": (
        marked_as(band(*LOOPS, permutable=False), Parallel()),
        "but member 0 of their band, flagged parallel, separates them",
    ),
    "falsely SIMD": (
        with_children(band("S[i, j] -> i + j"), (marked_as(band("S[i, j] -> i"), Vector()),)),
        "but member 0 of their band, flagged vector, separates them",
    ),
}


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize(("edit", "witness"), EDITS.values(), ids=EDITS)
def test_F1_an_illegal_schedule_is_refused_with_a_witness_and_its_lines(edit, witness, target):
    done = ps.optimize(stencil)
    before = ps.to_yaml(done.scheduled.tree), str(done.source)
    schedule = Domain(done.scop.domain, edit)
    with pytest.raises(ps.IllegalSchedule) as error:
        ps.optimize(stencil, target, schedule=schedule)
    message = str(error.value)
    assert message.startswith("flow dependence on a: S[i=0, j=") and witness in message
    assert "examples.py:14:13: S\n                a[i + 1, j + 1] = 0.25 * a[i, j + 2]" in message
    again = ps.optimize(stencil)
    assert (ps.to_yaml(done.scheduled.tree), str(done.source)) == before
    assert (ps.to_yaml(again.scheduled.tree), str(again.source)) == before


def test_F1_a_schedule_that_leaves_instances_out_or_runs_others_is_refused():
    done = ps.optimize(stencil)
    order = band(*LOOPS, permutable=False)
    inner = done.scop.statements[0].domain.lower_bound_val(isl.dim_type.set, 1, isl.Val(1))
    with pytest.raises(ps.IllegalSchedule, match=r"S\[i=0, j=0\] never runs \(N = 1\)"):
        ps.optimize(stencil, schedule=Domain(isl.UnionSet.from_set(inner), order))
