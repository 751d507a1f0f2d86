"""polysched/codegen/instances.py: isl's loops run the instances that they were built for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nests import loop, nest

from polysched.codegen.instances import has_strides, leaves_out_by_remainder, runs_exactly
from polysched.codegen.lower import lower
from polysched.errors import CannotLower
from polysched.ir.build import store, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array
from polysched.model.extract import extract
from polysched.model.tree.nodes import Domain
from polysched.support import isl
from tests.transform.scheduled import band

DOMAINS = {
    "a box": "[n, m] -> { S[i, j] : 0 <= i < n and 0 <= j < m }",
    "a triangle with bounds in both sizes": "[n, m] -> { S[i, j] : 0 <= i < n and i <= j < m and j <= i + 5 }",
    "strides": "[n, m] -> { S[i, j] : 0 <= i < n and i <= j < m and (i + j) mod 3 = 1 }",
    "all but a remainder": "[n, m] -> { S[i, j] : 0 <= i < n and 0 <= j < m and not (j mod 3 = 1) }",
    "two pieces": "[n, m] -> { S[i, j] : 0 <= i < n and (0 <= j < m or j = 2n) }",
    "two statements": "[n, m] -> { S[i, j] : 0 <= i < n and 0 <= j < m; T[i, j] : 0 <= i < n and j = -1 }",
    "a choice": "[n, m] -> { S[i, j] : -1 <= i < j <= n - 2 and (n + j) mod 2 = 0 and (j >= 3 or j <= 1) }",
    "negative quotients": "[n, m] -> { S[i, j] : -n <= 3i <= n and -m <= 2j + i <= m }",
}
ORDERS = ["i, j", "i + j, j", "2i + j, i - j", "-j, i", "floor(i/4), floor((i + j)/4), i, j"]


def loops_of(domain: str, order: str = "i, j", context: str = "[n, m] -> { : n >= 0 and m >= 0 }") -> isl.AstNode:
    isl.DEFAULT_CONTEXT.set_ast_build_detect_min_max(1)
    schedule = isl.UnionMap(f"{{ S[i, j] -> [0, {order}]; T[i, j] -> [1, {order}] }}")
    schedule = schedule.intersect_domain(isl.UnionSet(domain))
    return isl.AstBuild.from_context(isl.Set(context)).node_from_schedule_map(schedule)


def exact(loops: isl.AstNode, domain: str) -> bool:
    return runs_exactly(loops, isl.UnionSet(domain), isl.Set("[n, m] -> { : n >= 0 and m >= 0 }"))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", DOMAINS)
def test_loops_run_the_domain_that_they_were_built_for(name, order):
    assert exact(loops_of(DOMAINS[name], order), DOMAINS[name])


@pytest.mark.parametrize(
    ("built", "wanted"),
    [
        ("0 <= i < n and 0 <= j < m", "0 <= i < n and 0 <= j <= m"),
        ("0 <= i < n and 0 <= j < m", "0 <= i < n and 0 < j < m"),
        ("0 <= i < n and j = 0", "0 <= i < n and 0 <= j < m"),
        ("0 <= i < n and 0 <= j < m and j mod 4 = 0", "0 <= i < n and 0 <= j < m and j mod 2 = 0"),
        ("0 <= i < n and 0 <= j < m and j mod 2 = 0", "0 <= i < n and 0 <= j < m and j mod 2 = 1"),
        ("0 <= i < n and n <= j < m", "0 <= i < n and j = 0"),
        ("false", "0 <= i < n and 0 <= j < m"),
    ],
    ids=["last one missing", "one too many", "one iteration", "step", "first", "elsewhere", "none"],
)
def test_other_instances_are_seen(built, wanted):
    built, wanted = (f"[n, m] -> {{ S[i, j] : {where} }}" for where in (built, wanted))
    assert not exact(loops_of(built), wanted)
    assert exact(loops_of(wanted), wanted)


def test_instances_of_another_statement_are_seen():
    two = DOMAINS["two statements"]
    assert not exact(loops_of(two), DOMAINS["a box"])
    assert not exact(loops_of(DOMAINS["a box"]), two)


def test_steps_and_remainders_are_found():
    assert not has_strides(isl.UnionSet(DOMAINS["a box"])) and has_strides(isl.UnionSet(DOMAINS["strides"]))
    assert leaves_out_by_remainder(loops_of(DOMAINS["strides"]))
    assert leaves_out_by_remainder(loops_of(DOMAINS["a box"], "2i + j, i - j"))
    assert not leaves_out_by_remainder(loops_of(DOMAINS["a box"], "i + j, j"))


def test_loops_that_leave_instances_out_are_refused():
    """For q + r isl takes one iteration where two values are even."""
    q, r = var("q"), var("r")
    A = Array("A", f64, (64, 64))
    rows = loop("q", 0, 64, loop("r", 0, 64, store(A, [q, r], 1.0)))
    scop = extract(nest("kernel", "t u", [A], rows))
    box = "3t <= r <= 3t + 2 and 0 <= q + r - 4u <= 3"
    domain = isl.Set(f"[t, u] -> {{ S[q, r] : q mod 2 = 0 and r mod 7 = 0 and {box} }}")
    scop = replace(scop, statements=(replace(scop.statements[0], domain=domain),))
    lower(Domain(scop.domain, band("S[q, r] -> q", "S[q, r] -> r")), scop)
    with pytest.raises(CannotLower, match="isl's loops may leave out some of the instances"):
        lower(Domain(scop.domain, band("S[q, r] -> r", "S[q, r] -> q + r")), scop)
