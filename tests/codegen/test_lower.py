"""polysched/codegen/lower.py: schedule trees become loops that run the same instances in the tree's order."""

from __future__ import annotations

import random
from dataclasses import replace

import nests
import numpy as np
import pytest
from nests import loop, nest

from polysched.codegen.lower import lower
from polysched.errors import BudgetExceeded
from polysched.ir.build import add, load, store, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, For, If, Let
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.model.extract import extract
from polysched.model.tree.nodes import Domain, Filter, InOrder, Leaf, Map, Parallel, Unroll, Vector, marked_as
from polysched.support import isl
from tests.transform.scheduled import band, random_scheduled, scheduled

i, k, n = var("i"), var("k"), var("n")
A, B, M = Array("A", f64, (n,)), Array("B", f64, (n,)), Array("M", i64, (n,))
STENCIL = extract(nests.stencil2(margin=1))


def test_a_skewed_loop_around_another():
    tree = Domain(STENCIL.domain, band("S[i, j] -> i + j", "S[i, j] -> j"))
    assert show(lower(tree, STENCIL)).splitlines()[1:3] == [
        "    for c0 in 0..2 * N - 1:",
        "        for c1 in max(0, -N + c0 + 1)..min(N - 1, c0) + 1:",
    ]


@pytest.mark.parametrize(
    ("mark", "kind"),
    [(Parallel(), "parallel"), (Vector(), "vector"), (Unroll(), "unrolled"), (Map("block.y"), "block.y")],
    ids=["parallel", "vector", "unroll", "map"],
)
def test_a_mark_becomes_the_kind_of_the_first_loop_below_it(mark, kind):
    marked = marked_as(band("S[i, j] -> i", "S[i, j] -> j"), mark)
    assert kinds(Domain(STENCIL.domain, marked)) == [kind, "serial"]
    inner = replace(band("S[i, j] -> i"), child=marked_as(band("S[i, j] -> j"), mark))
    assert kinds(Domain(STENCIL.domain, inner)) == ["serial", kind]


def test_every_loop_has_its_own_mark():
    inner = replace(band("S[i, j] -> i"), child=marked_as(band("S[i, j] -> j"), Vector()))
    assert kinds(Domain(STENCIL.domain, marked_as(inner, Parallel()))) == ["parallel", "vector"]


def kinds(tree) -> list[str]:
    return [node.kind for node in walk(lower(tree, STENCIL).body) if isinstance(node, For)]


def test_strides_are_steps():
    scop = extract(nests.strided())
    assert [node.step for node in walk(lower(scop.tree, scop).body) if isinstance(node, For)] == [2]


def test_steps_are_positive_even_where_the_loop_ran_down():
    fn = nests.reversed_sweep()
    scop = extract(fn)
    lowered = lower(scop.tree, scop)
    verify(lowered, "lowered")
    assert [node.step for node in walk(lowered.body) if isinstance(node, For)] == [1]
    nests.assert_same_outcome(fn, lowered, nests.arguments_for(fn, random.Random(0), 6))


def test_a_loop_of_one_iteration_is_no_loop():
    fn = nest("last", "n", [A], loop("i", sub(n, 1), n, store(A, (i,), 1.0)))
    scop = extract(fn)
    lowered = lower(scop.tree, scop)
    verify(lowered, "lowered")
    assert not any(isinstance(node, For) for node in walk(lowered.body))
    nests.assert_same_outcome(fn, lowered, nests.arguments_for(fn, random.Random(0), 5))


def test_a_mapped_loop_of_one_iteration_stays_a_loop():
    """What runs on block zero must not run on the others, which a statement elsewhere in the kernel may have."""
    fn = nest("last", "n", [A], loop("i", sub(n, 1), n, store(A, (i,), 1.0)))
    scop = extract(fn)
    (statement,) = scop.statements
    for value in ("i", "7"):  # isl knows the second one beforehand, and makes no loop
        tree = Domain(scop.domain, marked_as(band(f"{statement.name}[i] -> {value}"), Map("block.x")))
        lowered = lower(tree, scop)
        verify(lowered, "lowered")
        assert [node.kind for node in walk(lowered.body) if isinstance(node, For)] == ["block.x"]
        nests.assert_same_outcome(fn, lowered, nests.arguments_for(fn, random.Random(0), 5))


def test_a_mapped_loop_over_pieces_is_one_loop():
    """Alone, isl makes a loop for i = 0, one for both statements, and one for the last i."""
    first = loop("i", 0, n, store(A, (i,), 1.0))
    inner = loop("k", 1, sub(n, 1), store(B, (k,), 2.0))
    fn = nest("pieces", "n", [A, B], first, inner)
    scop = extract(fn)
    s, t = (statement.name for statement in scop.statements)
    both = f"{s}[i] -> i; {t}[k] -> k"
    order = InOrder(tuple(Filter(isl.UnionSet.from_set(part.domain), Leaf()) for part in scop.statements))
    tree = Domain(scop.domain, marked_as(replace(band(both), child=order), Map("block.x")))
    lowered = lower(tree, scop)
    verify(lowered, "lowered")
    assert [node.kind for node in walk(lowered.body) if isinstance(node, For)] == ["block.x"]
    for size in (1, 2, 3, 6):
        nests.assert_same_outcome(fn, lowered, nests.arguments_for(fn, random.Random(0), size))


@pytest.mark.parametrize("mark", [Parallel(), Vector()])
@pytest.mark.parametrize("count", [n, 9], ids=["any size", "constant size"])
def test_a_simd_loop_over_shifted_statements_has_no_guards(mark, count):
    first, second = store(A, (i,), 1.0), store(B, (k,), load(A, k))
    fn = nest("shifted", "n", [A, B], loop("i", 0, count, first), loop("k", 0, count, second))
    scop = extract(fn)
    s, t = (statement.name for statement in scop.statements)
    order = InOrder(tuple(Filter(isl.UnionSet.from_set(part.domain), Leaf()) for part in scop.statements))
    shifted = replace(band(f"{s}[i] -> i; {t}[k] -> k + 1"), child=order)
    lowered = lower(Domain(scop.domain, marked_as(shifted, mark)), scop)
    assert not any(isinstance(node, If) for each in walk(lowered.body) if isinstance(each, For) for node in walk(each))
    for size in (9, 10, 12):
        nests.assert_same_outcome(fn, lowered, nests.arguments_for(fn, random.Random(0), size))
    if count is n:
        for size in (0, 1, 2):
            nests.assert_same_outcome(fn, lowered, nests.arguments_for(fn, random.Random(0), size))


def test_one_iteration_that_differs_by_case_is_a_let():
    """isl puts the value of an only iteration into the body itself where it can; random nest 102 has one left."""
    done = random_scheduled(102)
    assert any(isinstance(node, Let) for node in walk(lower(done.tree, done.scop).body))
    done.assert_holds(done.tree)


def opaque():
    """A data-dependent loop over a temporary of its own: one statement."""
    t = Array("t", f64, (), "private")
    update = store(t, (), add(load(t), load(A, k)))
    inner = loop("k", 0, load(M, i), update)
    return nest("opaque", "n", [A, B, M], loop("i", 0, n, Alloc(t), store(t, (), 0.0), inner, store(B, (i,), load(t))))


def test_loops_and_temporaries_inside_of_a_statement_are_fresh_in_every_copy():
    fn = nest("twice", "n", [B, M], loop("i", 0, n, loop("k", 0, load(M, i), store(B, (i,), add(load(B, i), 1.0)))))
    scop = extract(fn)
    (statement,) = scop.statements
    halves = (isl.UnionSet(f"{{ {statement.name}[i] : i % 2 = {half} }}") for half in (0, 1))
    one = band(f"{statement.name}[i] -> i")
    lowered = lower(Domain(scop.domain, InOrder(tuple(Filter(half, one) for half in halves))), scop)
    verify(lowered, "lowered")
    names = [node.var for node in walk(lowered.body) if isinstance(node, For)]
    assert len(names) == len(set(names)) == 4
    arguments = {"n": 5, "B": np.zeros(5), "M": np.array([3, 0, 2, 1, 4])}
    nests.assert_same_outcome(fn, lowered, arguments)


@pytest.mark.parametrize("taken", ["c0", "t_1"])
def test_names_that_the_nest_has_are_not_taken_again(taken):
    other = Array(taken, f64, (n,))
    (rows,) = opaque().body
    fn = nest("opaque", "n", [A, B, M, other], rows, rows, loop("i", 0, n, store(other, (i,), 2.0)))
    scop = extract(fn)
    lowered = lower(scop.tree, scop)
    verify(lowered, "lowered")
    arguments = {"n": 4, "A": np.arange(4.0), "B": np.zeros(4), "M": np.array([1, 0, 4, 2]), taken: np.zeros(4)}
    nests.assert_same_outcome(fn, lowered, arguments)


def test_a_budget_that_is_too_small_is_an_error_and_the_next_call_works():
    with pytest.raises(BudgetExceeded, match="isl used up 100 operations"), isl.within(operations=100):
        lower(STENCIL.tree, STENCIL)
    with isl.within(operations=10_000_000):
        assert lower(STENCIL.tree, STENCIL) == lower(STENCIL.tree, STENCIL)


@pytest.mark.parametrize("fn", nests.canonical(), ids=lambda fn: fn.name)
def test_scheduled_nests_lower_to_well_formed_functions(fn):
    done = scheduled(fn)
    lowered = lower(done.tree, done.scop)
    verify(lowered, "lowered")
    nests.assert_same_outcome(fn, lowered, nests.arguments_for(fn, random.Random(1), 5))


@pytest.mark.parametrize("seed", range(40))
def test_random_nests_lower_to_well_formed_functions_that_compute_the_same_bits(seed):
    done = random_scheduled(seed)
    verify(lower(done.tree, done.scop), "lowered")
    done.assert_holds(done.tree)
