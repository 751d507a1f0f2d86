"""polysched/codegen/parallel/threads.py: when a parallel loop is worth its threads."""

from __future__ import annotations

import nests
import pytest
from nests import add, binary, const, load, loop, n, nest, store, sub, var

from polysched.codegen.lower import lower
from polysched.codegen.parallel.threads import known, threshold, worth_threads
from polysched.config.heuristics.cpu import OPERATIONS, SIMD_OPERATIONS, STREAM_OPERATIONS
from polysched.ir.build import floordiv
from polysched.ir.dtypes import f64
from polysched.ir.interp import evaluate
from polysched.ir.node import walk
from polysched.ir.nodes import Array, Call, Const, For, Var
from polysched.ir.text import show
from polysched.model.extract import extract
from polysched.strategy.cpu import threads
from polysched.support import isl
from tests.transform.scheduled import random_scheduled, scheduled, tiled, written

i, j, m = var("i"), var("j"), var("m")
A, B = Array("A", f64, (n, n)), Array("B", f64, (n, n))
COPY = store(A, (i, j), load(B, i, j))  # two operations


def conditions(body, around=(), sizes="n") -> list[str]:
    scop = extract(nest("f", sizes, (A, B), body))
    return [show(cond) for cond in worth_threads(scop.statements, scop.context, around, OPERATIONS)]


def test_work_is_the_instances_times_the_operations_of_one():
    assert conditions(loop("i", 0, n, loop("j", 0, n, COPY))) == [f"f64(n) * (f64(n) * 2.0) >= {OPERATIONS}.0"]


def test_threads_are_started_in_each_iteration_of_the_loops_around():
    t = loop("t", 0, var("T"))
    (text,) = conditions(loop("i", 0, n, loop("j", 0, n, COPY)), (t,))
    assert text == f"f64(n) * (f64(n) * 2.0) >= f64(T) * {OPERATIONS}.0"


def test_a_triangle_counts_as_the_box_around_it():
    assert conditions(loop("i", 0, n, loop("j", 0, add(i, 1), COPY))) == [f"f64(n) * (f64(n) * 2.0) >= {OPERATIONS}.0"]


def test_loops_around_are_counted_for_all_values_of_those_around_them():
    around = (loop("t", 0, n), loop("u", var("t"), n))
    (text,) = conditions(loop("i", 0, n, loop("j", 0, n, COPY)), around)
    assert not {"t", "u"} & set(text.split())


def test_a_loop_around_whose_iterations_are_not_known_leaves_the_threads():
    around = (loop("t", 0, load(A, 0, 0)),)
    assert conditions(loop("i", 0, n, loop("j", 0, n, COPY)), around) == []
    assert worth_threads((), isl.Set("{ : }"), (), SIMD_OPERATIONS) == ()


def test_many_large_sizes_do_not_overflow():
    scop = extract(nest("f", "n", (A, B), loop("i", 0, n, loop("j", 0, n, loop("k", 0, n, loop("l", 0, n, COPY))))))
    (cond,) = worth_threads(scop.statements, scop.context, (), OPERATIONS)
    assert evaluate(cond, {"n": 100_000}) is True


def test_a_call_costs_more_than_an_operation():
    root = store(A, (i, j), Call("sqrt", (load(B, i, j),), f64))
    assert conditions(loop("i", 0, n, loop("j", 0, n, root))) == [f"f64(n) * (f64(n) * 22.0) >= {OPERATIONS}.0"]


def test_what_processors_do_in_one_instruction_is_an_operation():
    root = store(A, (i, j), Call("floor", (load(B, i, j),), f64))
    assert conditions(loop("i", 0, n, loop("j", 0, n, root))) == [f"f64(n) * (f64(n) * 3.0) >= {OPERATIONS}.0"]
    assert threshold(loop("i", 0, n, root)) == STREAM_OPERATIONS


def test_enough_work_whatever_the_sizes_are_needs_no_condition():
    assert conditions(loop("i", 0, OPERATIONS, COPY)) == []


@pytest.mark.parametrize(
    "bounds",
    [(0, 0), (5, 3), (n, 0), (0, floordiv(n, 3)), (binary("max", 0, sub(n, 3)), binary("min", n, 7))],
    ids=["empty", "backwards", "never", "rounded", "of several"],
)
def test_any_bounds_give_a_condition_over_sizes(bounds):
    scop = extract(nest("f", "n", (A, B), loop("i", *bounds, loop("j", 0, n, COPY))))
    found = worth_threads(scop.statements, scop.context, (), OPERATIONS)
    for cond in found:
        assert {node.name for node in walk(cond) if isinstance(node, Var)} <= {"n"}
        assert evaluate(cond, {"n": 0}) is False


def test_without_loops_a_statement_makes_the_work_of_one():
    scop = extract(nest("f", "n", (A, B), store(A, (const(0), const(0)), 1.0)))
    (cond,) = worth_threads(scop.statements, scop.context, (), OPERATIONS)
    assert show(cond) == "false"


def test_no_threads_start_where_an_array_is_too_short_for_enough_work():
    """a[i + m] with i < m, s174 of TSVC-2: what is in bounds is never enough, whatever m is."""
    a = Array("a", f64, (const(32_000),))
    scop = extract(nest("f", "m", (a,), loop("i", 0, m, store(a, (add(i, m),), load(a, i)))))
    assert [show(cond) for cond in worth_threads(scop.statements, scop.context, (), STREAM_OPERATIONS)] == ["false"]


def parallel_loops(fn) -> list[For]:
    return [node for node in walk(fn.body) if isinstance(node, For) and node.kind in ("parallel", "dynamic")]


def test_lowered_loops_say_when_and_uneven_ones_are_shared_out_one_by_one():
    copy, triangle = (
        scheduled(nest("f", "n", (A, B), loop("i", 0, n, loop("j", 0, end, COPY)))) for end in (n, add(i, 1))
    )
    (even,) = parallel_loops(lower(written(copy, threads, []), copy.scop))
    (uneven,) = parallel_loops(lower(written(triangle, threads, []), triangle.scop))
    assert (even.kind, uneven.kind) == ("parallel", "dynamic")
    assert [show(cond) for cond in even.when] == [f"f64(n) * (f64(n) * 2.0) >= {OPERATIONS}.0"]


def test_inside_of_a_serial_loop_iterations_stay_on_their_threads():
    fn = nests.lu()
    nest = scheduled(fn)
    for tree in (nest.tree, tiled(nest, 2)):
        for node in parallel_loops(lower(written(nest, threads, [], tree=tree), nest.scop)):
            assert node.kind == "parallel"


@pytest.mark.parametrize("seed", range(40))
def test_conditions_of_random_nests_can_be_told_where_the_loop_is(seed):
    """They are over sizes, and names that are bound around: the verifier holds this of lowered functions."""
    nest = random_scheduled(seed)
    for tree in (nest.tree, tiled(nest, 2)):
        marked = written(nest, threads, [], tree=tree)
        nest.assert_holds(marked)
        for node in parallel_loops(lower(marked, nest.scop)):
            assert len(node.when) <= 1


def test_simd_makes_work_shorter():
    scop = extract(nest("copy", "n", (A, B), loop("i", 0, n, loop("j", 0, n, COPY))))
    (cond,) = worth_threads(scop.statements, scop.context, (), SIMD_OPERATIONS)
    assert show(cond) == f"f64(n) * (f64(n) * 2.0) >= {SIMD_OPERATIONS}.0"


def test_a_loop_that_goes_once_over_its_data_starts_threads_last():
    over_data = loop("i", 0, n, store(A, (i, i), load(B, i, i)))
    assert threshold(over_data) == STREAM_OPERATIONS
    assert threshold(loop("i", 0, n, store(A, (i, i), Call("sin", (load(B, i, i),), f64)))) == OPERATIONS
    assert threshold(loop("i", 0, n, loop("j", 0, n, COPY))) == OPERATIONS
    assert threshold(loop("i", 0, n, loop("j", 0, n, COPY, kind="vector"))) == SIMD_OPERATIONS


def test_a_condition_on_constants_is_known():
    assert known((binary(">=", Const(2.0, f64), Const(1.0, f64)),)) is True and known(()) is True
    assert known((binary(">=", n, 5), binary(">=", Const(0.0, f64), Const(1.0, f64)))) is False
    assert known((binary(">=", n, 5),)) is None
