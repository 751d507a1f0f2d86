from __future__ import annotations

import random

import pytest

import polysched as ps
from polysched.config.constraints import innermost, max_skew, order, outer_parallel, separate, tile_sizes, together
from polysched.errors import IllegalSchedule
from polysched.model.extract import extract
from tests import nests
from tests.solve.constrained import scheduled


def message(model, *constraints, **options) -> str:
    with pytest.raises(IllegalSchedule) as raised:
        scheduled(model, *constraints, **options)
    return str(raised.value)


def stencil():
    return extract(nests.stencil2(margin=1))


def test_an_order_that_one_dependence_forbids():
    assert message(stencil(), order("S", "j")) == (
        'order("S", "j") contradicts the dependences, for loop 1 of S:\n'
        "flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)"
    )


def test_the_source_lines_are_shown():
    @ps.nest
    def shifted(a: ps.f64["N + 1", "N + 1"], N: ps.size):
        for i in range(N):
            for j in range(N):
                a[i + 1, j] = a[i, j + 1]

    with pytest.raises(IllegalSchedule) as raised:
        ps.optimize(shifted, options=ps.Options(constraints=(order("S", "j"),)))
    loc = raised.value.violation.scop.statements[0].loc
    assert str(raised.value) == (
        'order("S", "j") contradicts the dependences, for loop 1 of S:\n'
        "flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)\n"
        f"  {loc}: S\n"
        "                    a[i + 1, j] = a[i, j + 1]\n"
        "                    ^"
    )
    assert raised.value.violation.sink.iteration == (1, 0)


def test_no_loop_is_parallel_for_two_dependences():
    """Distances (1, -1) and (1, 0) leave no direction."""
    assert message(stencil(), outer_parallel(), max_skew(3), tile_sizes("S", (8, 8))) == (
        "outer_parallel() contradicts the dependences, for loop 1 of S:\n"
        "flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)\n"
        "flow dependence on a: S[i=0, j=0] must run before S[i=1, j=0] (N = 2)"
    )


def test_two_constraints_and_one_dependence():
    gemm = extract(nests.gemm())
    text = message(gemm, order("S1", "k"), max_skew(1), outer_parallel("S1"), separate("S0", "S1"))
    assert text == (
        'order("S1", "k") and outer_parallel("S1") together contradict the dependences, for loop 1 of S1:\n'
        "flow dependence on C: S1[i=0, j=0, k=0] must run before S1[i=0, j=0, k=1] (ni = 1, nj = 1, nk = 2)"
    )


def test_constraints_that_contradict_each_other():
    gemm = extract(nests.gemm())
    assert message(gemm, order("S1", "i"), outer_parallel(), order("S*", "j")) == (
        'order("S1", "i") and order("S*", "j") contradict each other, for loop 1 of S1'
    )
    assert message(gemm, max_skew(0), order("S1", "i + j")) == (
        'max_skew(0) and order("S1", "i + j") contradict each other, for loop 1 of S1'
    )
    backward = (order("S1", "j - 2i"), max_skew(1))
    for signed in (False, True):
        assert message(gemm, *backward, negative_coefficients=signed) == (
            'order("S1", "j - 2i") and max_skew(1) contradict each other, for loop 1 of S1'
        )
    assert message(gemm, together("S*"), separate("S0", "S1")) == (
        'together("S*") and separate("S0", "S1") contradict each other, for loop 1 of S0 and S1'
    )
    assert message(gemm, together("S*"), innermost("S0", "j")) == (
        'together("S*") and innermost("S0", "j") contradict each other, for loop 2 of S0 and S1, inside of i'
    )


def test_a_cycle_holds_statements_together():
    assert message(extract(nests.jacobi_1d()), separate("S0", "S1")) == (
        'separate("S0", "S1") contradicts the dependences, for loop 1 of S0 and S1:\n'
        "flow dependence on A: S1[t=0, i=1] must run before S0[t=1, i=2] (tsteps = 2, n = 4)\n"
        "flow dependence on B: S0[t=0, i=1] must run before S1[t=0, i=2] (tsteps = 1, n = 4)"
    )


def test_lanes_that_carry_a_dependence():
    assert message(extract(nests.seidel_2d()), innermost("S", "j")) == (
        'innermost("S", "j") contradicts the dependences, for loop 3 of S, inside of t, t + i:\n'
        "flow dependence on A: S[t=0, i=1, j=1] must run before S[t=0, i=1, j=2] (tsteps = 1, n = 4)"
    )


def test_a_loop_that_would_run_outside_too():
    """Of seidel no order has i alone inside; but what was asked for says so by itself."""
    seidel = extract(nests.seidel_2d())
    assert message(seidel, order("S", "t", "i + j", "i"), innermost("S", "i")) == (
        'order("S", "t", "i + j", "i") and innermost("S", "i") contradict each other, for loop 2 of S, inside of t: '
        "i is in the loop i + j, which is not the last"
    )


def test_the_loops_named_are_those_asked_for():
    """Without the order, the solver would get to j inside of t, t + i."""
    seidel = extract(nests.seidel_2d())
    assert message(seidel, order("S", "t", "2t + i"), innermost("S", "j")) == (
        'order("S", "t", "2t + i") and innermost("S", "j") together contradict the dependences, '
        "for loop 3 of S, inside of t, 2t + i:\n"
        "flow dependence on A: S[t=0, i=1, j=1] must run before S[t=0, i=1, j=2] (tsteps = 1, n = 4)"
    )
    assert message(seidel, order("S", "t", "t + i"), innermost("S", "j")).startswith('innermost("S", "j") contradicts')


def test_a_loop_that_counts_down():
    assert message(extract(nests.reversed_sweep()), order("S", "i")) == (
        'order("S", "i") contradicts the dependences, for loop 1 of S:\n'
        "flow dependence on A: S[i=1] must run before S[i=0] (n = 3)\n"
        "hint: i counts down in the source: the loop is -i"
    )


def test_a_pair_is_found_where_isl_misses_the_first_one():
    """Its lexmin of the pairs, which lie in residue classes, is empty."""
    model = extract(nests.random_nest(random.Random(123)), check_bounds=False)
    text = message(model, order("S", "k", "i", "j"))
    assert text.startswith('order("S", "k", "i", "j") contradicts the dependences, for loop 1 of S:\n')
    assert "must run before" in text


OUT_OF_TIME = "isl ran out of time"


def test_out_of_time_source_order_will_do_if_it_meets_them():
    found = scheduled(extract(nests.gemm()), order("S1", "i"), solve_seconds=0.0)
    assert found.rung == "source order with parallel loops found" and found.reasons[0] == f"pluto: {OUT_OF_TIME}"


def test_out_of_time_nothing_is_dropped():
    assert message(extract(nests.gemm()), order("S1", "k"), solve_seconds=0.0) == (
        "no schedule that was found meets the constraints:\n"
        f"  pluto: {OUT_OF_TIME}\n"
        f"  pluto per SCC: {OUT_OF_TIME}\n"
        '  source order with parallel loops found: it does not meet order("S1", "k")\n'
        '  source order: it does not meet order("S1", "k")'
    )


def test_another_scheduler_is_not_trusted():
    gemm = extract(nests.gemm())
    assert message(gemm, order("S1", "k"), scheduler="isl", solve_seconds=60.0) == (
        "no schedule that was found meets the constraints:\n"
        '  isl: it does not meet order("S1", "k")\n'
        '  source order with parallel loops found: it does not meet order("S1", "k")\n'
        '  source order: it does not meet order("S1", "k")'
    )
    assert scheduled(gemm, max_skew(0), scheduler="source").rung == "source order with parallel loops found"
