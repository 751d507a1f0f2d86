from __future__ import annotations

import random

import pytest

from polysched.config.options import Options
from polysched.deps.dataflow import dependences
from polysched.errors import BudgetExceeded
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, walk
from polysched.model.tree.text import show_tree
from polysched.solve import bands
from polysched.solve.scheduler import Scheduled, find_schedule
from tests import nests
from tests.scops import scop, stmt
from tests.solve.enumerated import assert_legal

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PuLP announces its next version


def scheduled(model: Scop, **options) -> Scheduled:
    """The schedule, checked by enumeration."""
    deps = dependences(model, reorder_reductions=options.get("reorder_reductions", False))
    found = find_schedule(model, deps, Options(**options))
    if not deps.reorder_reductions:
        assert_legal(model, found.tree)
    return found


def rows(found: Scheduled) -> list[str]:
    """The lines of the tree below domain and context, without indentation."""
    return [line.strip() for line in show_tree(found.tree).splitlines()[2:]]


def test_two_loop_stencil_B6():
    found = scheduled(extract(nests.stencil2(margin=1)))
    assert rows(found) == ["band: permutable", "[S[i, j] -> i]", "[S[i, j] -> i + j]"]
    assert found.rung == "pluto"


def test_every_dependence_has_its_distance_and_bound_B8():
    first, second = scheduled(extract(nests.stencil2(margin=1))).solves
    assert [str(d).partition("delta ")[2] for d in first.distances] == ["1 <= 1"] * 3
    assert [str(d).partition("delta ")[2] for d in second.distances] == ["0 <= 2", "1 <= 2", "2 <= 2"]
    assert second.solution == {"u": 0, "w": 2, "C1": 1, "C2": 1, "c0": 0}
    assert [d.is_coincident for d in second.distances] == [True, False, False]


def test_gemm_initialisation_apart_and_two_parallel_loops():
    assert rows(scheduled(extract(nests.gemm()))) == [
        "sequence",
        "filter: S0",
        "band: permutable",
        "[S0[i, j] -> i] coincident",
        "[S0[i, j] -> j] coincident",
        "filter: S1",
        "band: permutable",
        "[S1[i, j, k] -> i] coincident",
        "[S1[i, j, k] -> j] coincident",
        "[S1[i, j, k] -> k]",
    ]


def test_two_statements_in_a_time_loop_are_shifted_into_one_band():
    assert rows(scheduled(extract(nests.jacobi_1d()))) == [
        "band: permutable",
        "[S0[t, i] -> t; S1[t, i] -> t]",
        "[S0[t, i] -> 2t + i; S1[t, i] -> 1 + 2t + i]",
        "sequence",
        "filter: S0",
        "filter: S1",
    ]


def test_seidel_is_skewed_until_all_loops_permute():
    assert rows(scheduled(extract(nests.seidel_2d()))) == [
        "band: permutable",
        "[S[t, i, j] -> t]",
        "[S[t, i, j] -> t + i]",
        "[S[t, i, j] -> 2t + i + j]",
    ]


def test_a_loop_that_counts_down_stays_backward():
    assert rows(scheduled(extract(nests.reversed_sweep()))) == ["band:", "[S[i] -> -i]"]


@pytest.mark.parametrize("fn", nests.canonical(), ids=lambda fn: fn.name)
@pytest.mark.parametrize("fusion", ["smart", "max", "none"])
def test_canonical_nests_are_legal(fn, fusion):
    found = scheduled(extract(fn), fusion=fusion)
    assert found.rung == "pluto" and not found.in_source_order and not found.reasons


@pytest.mark.parametrize("seed", range(30))
def test_random_nests_are_legal(seed):
    model = extract(nests.random_nest(random.Random(seed)), check_bounds=False)
    fusion = ("smart", "max", "none")[seed % 3]
    assert scheduled(model, fusion=fusion, negative_coefficients=seed % 4 == 3).rung == "pluto"


def fdtd() -> Scop:
    """Three fields that update each other in turn, as in fdtd-2d."""
    inside = "0 <= t < T and 1 <= i < N and 1 <= j < N"
    return scop(
        "[T, N] -> { : T >= 1 and N >= 2 }",
        stmt(f"{{ E[t, i, j] : {inside} }}", writes="e[i, j]", reads=["e[i, j]", "h[i, j]", "h[i - 1, j]"]),
        stmt(f"{{ F[t, i, j] : {inside} }}", writes="f[i, j]", reads=["f[i, j]", "h[i, j]", "h[i, j - 1]"]),
        stmt(f"{{ H[t, i, j] : {inside} }}", writes="h[i, j]", reads=["h[i, j]", "e[i + 1, j]", "f[i, j + 1]"]),
        order=[("t", ("i", ("j", "E")), ("i", ("j", "F")), ("i", ("j", "H")))],
    )


def test_three_fields_share_one_permutable_band():
    found = scheduled(fdtd())
    band = next(node for node in walk(found.tree) if isinstance(node, Band))
    assert band.permutable and len(band.members) == 3
    assert rows(found)[4:] == ["sequence", "filter: E", "filter: F", "filter: H"]


def mirrored() -> Scop:
    """T reads backwards what S writes."""
    return scop(
        "[N] -> { : N >= 1 }",
        stmt("{ S[i] : 0 <= i < N }", writes="b[i]", reads="a[i]"),
        stmt("{ T[i] : 0 <= i < N }", writes="c[i]", reads="b[N - 1 - i]"),
    )


def test_only_negative_coefficients_fuse_a_mirrored_read():
    apart = ["sequence", "filter: S", "band:", "[S[i] -> i] coincident", "filter: T", "band:", "[T[i] -> i] coincident"]
    assert rows(scheduled(mirrored())) == apart
    fused = rows(scheduled(mirrored(), negative_coefficients=True))
    assert fused == ["band:", "[S[i] -> 1 + i; T[i] -> N - i] coincident", "sequence", "filter: S", "filter: T"]


def test_the_source_order_of_a_downward_loop_inside_an_upward_one():
    model = scop(
        "[N] -> { : N >= 1 }",
        stmt("{ S[i, j] : 0 <= i < N and 0 <= j < N }", writes="a[i, j]", reads=["a[i - 1, j]", "a[i, j + 1]"]),
        order=[("i", ("-j", "S"))],
    )
    assert rows(scheduled(model)) == ["band: permutable", "[S[i, j] -> i]", "[S[i, j] -> -j]"]


def dot() -> Scop:
    return scop(
        "[N] -> { : N >= 1 }",
        stmt("{ S[i] : 0 <= i < N }", writes="s[]", reads=["s[]", "x[i]"], reduction="+"),
    )


def test_a_reduction_that_may_be_reordered_is_still_not_parallel():
    assert rows(scheduled(dot(), reorder_reductions=True)) == ["band:", "[S[i] -> i]"]


@pytest.mark.parametrize("solver", ["isl", "pulp", "scipy"])
def test_the_back_ends_find_the_same_stencil_schedule(solver):
    model = extract(nests.stencil2(margin=1))
    assert rows(scheduled(model, solver=solver)) == rows(scheduled(model))


def test_isl_scheduler_as_alternative():
    found = scheduled(extract(nests.gemm()), scheduler="isl", solve_seconds=60.0)
    assert found.rung == "isl"


def test_source_order_with_parallel_loops_on_request():
    found = scheduled(extract(nests.gemm()), scheduler="source")
    assert found.rung == "source order with parallel loops found"
    assert rows(found)[:2] == ["band:", "[S0[i, j] -> i; S1[i, j, k] -> i] coincident"]


def test_without_time_the_fallback_is_named_and_legal_F3():
    found = scheduled(extract(nests.seidel_2d()), solve_seconds=0.0)
    assert found.rung == "source order with parallel loops found"
    assert found.reasons[0] == "pluto: isl ran out of time"


def test_without_isl_operations_the_fallback_is_the_source_tree_F3():
    model = extract(nests.seidel_2d())
    found = scheduled(model, isl_operations=10)
    assert found.rung == "source order" and found.tree is model.tree
    assert found.reasons[-1] == "source order with parallel loops found: isl used up 10 operations"


def test_a_component_too_slow_for_its_share_is_left_in_source_order(monkeypatch):
    def slow(problem, solver, deadline):
        if "C3" in problem.names:
            raise BudgetExceeded("the scheduling ILP ran out of time")
        return lexmin(problem, solver, deadline)

    lexmin = bands.lexmin
    monkeypatch.setattr(bands, "lexmin", slow)
    found = scheduled(extract(nests.gemm()))
    assert found.rung == "pluto per SCC" and found.in_source_order == ("S1",)
    loops = [f"[S1[i, j, k] -> {loop}" for loop in ("i] coincident", "j] coincident", "k]")]
    assert rows(found)[6:] == ["band:", loops[0], "band:", loops[1], "band:", loops[2]]


def winograd() -> Scop:
    """The inverse transform's tiles, and their copy into the output: nested floor and modulo by 4 and 14."""
    return scop(
        "[B] -> { : B >= 1 }",
        stmt("{ S[co, p, vh, vw] : 0 <= co < 64 and 0 <= p < 196B and 0 <= vh, vw < 4 }", writes="I[co, p, vh, vw]"),
        stmt(
            "{ T[n, co, h, w] : 0 <= n < B and 0 <= co < 64 and 0 <= h, w < 56 }",
            reads="I[co, 196n + 14*floor(h/4) + floor(w/4), h mod 4, w mod 4]",
            writes="O[n, co, h, w]",
        ),
    )


def test_nested_floor_and_modulo_do_not_hang_F3():
    model = winograd()
    ours = find_schedule(model, dependences(model), Options())
    assert ours.rung == "pluto"
    loops = [f"[S[co, p, vh, vw] -> {x}] coincident" for x in ("co", "p", "vh", "vw")]
    assert rows(ours)[2:7] == ["band: permutable", *loops]


def test_isl_scheduler_is_stopped_F3():
    model = winograd()
    found = find_schedule(model, dependences(model), Options(scheduler="isl", solve_seconds=1.0))
    assert found.rung == "source order with parallel loops found"
    assert found.reasons == ("isl: isl_scheduler took more than 0.8 s",)
