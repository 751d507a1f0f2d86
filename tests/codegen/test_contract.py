"""polysched/codegen/memory/contract.py: temporary arrays that an iteration keeps to itself become scalars."""

from __future__ import annotations

import random

import nests
import pytest
from nests import loop, nest

import polysched.codegen.memory.contract as file
from polysched.codegen.memory.contract import contract
from polysched.ir.build import add, binary, load, mul, store, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, If, Let
from polysched.ir.text import show

i, j, k, n = var("i"), var("j"), var("k"), var("n")
A, B, S = Array("A", f64, (n, n)), Array("B", f64, (n,)), Array("s", f64, (n,), "private")


def sums(*inner, kind="serial"):
    """s[i] lives through one iteration of i, and `inner` runs at its end."""
    add_row = loop("k", 0, n, store(S, (i,), add(load(S, i), load(A, i, k))))
    body = loop("i", 0, n, store(S, (i,), 0.0), add_row, *(inner or (store(B, (i,), load(S, i)),)), kind=kind)
    return nest("sums", "n", [A, B], Alloc(S), body)


def arrays(fn) -> list[str]:
    """The temporaries with dimensions that are left."""
    return [node.array.name for node in walk(fn.body) if isinstance(node, Alloc) and node.array.shape]


def assert_contracts(fn, left=()):
    done = contract(fn)
    assert arrays(done) == list(left)
    for size in (1, 2, 5):
        nests.assert_same_outcome(fn, done, nests.arguments_for(fn, random.Random(size), size))


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_a_row_sum_is_a_scalar_of_its_iteration(kind):
    note = " (parallel)" if kind == "parallel" else ""
    assert show(contract(sums(kind=kind))) == (
        "def sums(n: size, A: f64[n, n], B: f64[n]):\n"
        f"    for i in 0..n{note}:\n"
        "        alloc s: private f64[]\n"
        "        s[] = 0.0\n"
        "        for k in 0..n:\n"
        "            s[] = s[] + A[i, k]\n"
        "        B[i] = s[]"
    )
    assert_contracts(sums(kind=kind))


def test_where_the_iterator_is_a_subscript_nothing_is_asked_of_the_nest(monkeypatch):
    def asked(*_, **__):
        raise AssertionError

    monkeypatch.setattr(file, "extract", asked)
    assert_contracts(sums())
    contract(sums(store(B, (i,), load(S, sub(i, 1)))))  # of two subscripts comes no scalar
    with pytest.raises(AssertionError):
        contract(nest("f", "n", [B], Alloc(S), loop("i", 0, n, store(S, (0,), 1.0), store(B, (i,), load(S, 0)))))


def test_without_temporaries_the_same_function_comes_back():
    fn = nests.gemm()
    assert contract(fn) is fn


def test_scalars_stay_where_they_are():
    t = Array("t", f64, (), "private")
    fn = nest("f", "n", [B], loop("i", 0, n, Alloc(t), store(t, (), 1.0), store(B, (i,), load(t))))
    assert contract(fn) == fn


def test_an_array_that_another_loop_reads_stays():
    fn = sums(loop("j", 0, 1, store(B, (i,), 0.0)))
    later = loop("j", 0, n, store(B, (j,), load(S, j)))
    assert_contracts(nest("f", "n", [A, B], *fn.body, later), left=["s"])


def test_a_value_that_the_next_iteration_reads_keeps_its_element():
    before = store(B, (i,), load(S, binary("max", 0, sub(i, 1))))
    assert_contracts(sums(before), left=["s"])


def test_two_elements_in_one_iteration_are_no_scalar():
    last = store(S, (0,), load(B, i))
    assert_contracts(sums(store(B, (i,), load(S, i)), last), left=["s"])


def test_a_declaration_may_go_under_a_guard_that_does_not_read_it():
    fn = sums()
    (alloc, rows) = fn.body
    guarded = nest("f", "n", [A, B], alloc, If(binary("<", n, 4), (rows,)))
    assert_contracts(guarded)


def test_names_bound_by_lets_are_seen_through():
    """s[t] with t = i + 1 - 1: the same iteration still."""
    t = var("t")
    body = (Let("t", sub(add(i, 1), 1)), store(S, (t,), load(B, t)), store(B, (i,), mul(load(S, t), 2.0)))
    assert_contracts(nest("f", "n", [B], Alloc(S), loop("i", 0, n, *body)))


def test_a_name_that_changes_in_an_inner_loop_is_no_fixed_subscript():
    t, u = var("t"), var("u")
    write = loop("j", 0, n, Let("t", j), store(S, (t,), load(B, j)))
    read = loop("k", 0, n, Let("u", k), store(B, (k,), load(S, u)))
    assert_contracts(nest("f", "n", [B], Alloc(S), loop("i", 0, n, write, read)), left=["s"])


def test_a_running_sum_is_one_scalar_around_its_loop():
    start = If(binary("==", i, 0), (store(S, (0,), 0.0),))
    add_on = store(S, (0,), add(load(S, 0), load(B, i)))
    fn = nest("f", "n", [B], Alloc(S), loop("i", 0, n, start, add_on, store(B, (i,), load(S, 0))))
    assert_contracts(fn)
    assert isinstance(contract(fn).body[0], Alloc)


def test_running_sums_of_columns_keep_their_elements():
    """One subscript, but it changes in the loop inside; and each value is used in the next iteration outside."""
    start = If(binary("==", i, 0), (store(S, (k,), 0.0),))
    add_on = store(S, (k,), add(load(S, k), load(A, i, k)))
    rows = loop("i", 0, n, loop("k", 0, n, start, add_on, store(A, (i, k), load(S, k))))
    assert_contracts(nest("f", "n", [A], Alloc(S), rows), left=["s"])


def test_each_of_two_temporaries_is_judged_alone():
    other = Array("t", f64, (n,), "private")
    fn = sums(store(B, (i,), load(S, i)), store(other, (i,), load(S, i)))
    later = loop("j", 0, n, store(B, (j,), load(other, j)))
    assert_contracts(nest("f", "n", [A, B], Alloc(other), *fn.body, later), left=["t"])


def test_a_temporary_declared_inside_the_second_loop():
    square = Array("s", f64, (n, n), "private")
    row = loop("k", 0, n, store(square, (i, j), add(load(square, i, j), load(A, i, k))))
    body = loop("j", 0, n, store(square, (i, j), 0.0), row, store(A, (i, j), load(square, i, j)))
    assert_contracts(nest("f", "n", [A], Alloc(square), loop("i", 0, n, body)))


def test_an_array_declared_where_one_element_is_used_is_a_scalar():
    fn = nest("f", "n", [B], loop("i", 0, n, Alloc(S), store(S, (i,), load(B, i)), store(B, (i,), load(S, i))))
    assert_contracts(fn)
    both = (store(S, (i,), 1.0), store(S, (sub(n, 1),), 2.0), store(B, (i,), load(S, i)))
    assert_contracts(nest("f", "n", [B], loop("i", 0, n, Alloc(S), *both)), left=["s"])
    moving = (loop("k", 0, n, store(S, (k,), load(B, k))), store(B, (i,), load(S, i)))
    assert_contracts(nest("f", "n", [B], loop("i", 0, n, Alloc(S), *moving)), left=["s"])


def halved(kind, *later):
    """Row i of t lives through one iteration of i."""
    t = Array("t", f64, (n, n), "private")
    half = loop("j", 0, n, store(t, (i, j), mul(load(A, i, j), 0.5)))
    back = loop("k", 0, n, store(A, (i, k), load(t, i, sub(sub(n, k), 1))))
    return nest("f", "n", [A], Alloc(t), loop("i", 0, n, half, back, kind=kind), *later)


def test_a_row_that_an_iteration_keeps_to_itself_is_its_own():
    fn = halved("parallel")
    done = contract(fn, rows=True)
    (rows,) = done.body
    assert show(rows.body[0]) == "alloc t: private f64[n]"
    assert arrays(contract(fn)) == ["t"] and contract(fn) == fn
    for size in (1, 2, 5):
        nests.assert_same_outcome(fn, done, nests.arguments_for(fn, random.Random(size), size))


def test_rows_are_of_parallel_loops_that_alone_use_them():
    t = Array("t", f64, (n, n), "private")
    later = loop("m", 0, n, store(A, (0, var("m")), load(t, 0, var("m"))))
    for fn in (halved("serial"), halved("parallel", later)):
        assert contract(fn, rows=True) == fn


@pytest.mark.parametrize("seed", range(60))
def test_random_uses_of_a_temporary_keep_their_results(seed):
    fn = random_uses(random.Random(seed))
    done = contract(fn)
    for size in (1, 4):
        nests.assert_same_outcome(fn, done, nests.arguments_for(fn, random.Random(size), size))


def test_some_random_uses_are_contracted_and_some_are_not():
    assert {len(arrays(contract(random_uses(random.Random(seed))))) for seed in range(60)} == {0, 1}


def random_uses(rng: random.Random):
    """One or two loops that store to s and read it, mostly at their own iteration."""
    wide = Array("s", f64, (add(n, 1),), "private")

    def near(x):
        return add(x, 1) if rng.random() < 0.15 else x

    def use(x):
        value = binary(rng.choice("+*"), load(wide, near(x)), load(B, x))
        return rng.choice([store(wide, (near(x),), value), store(B, (x,), value), store(wide, (near(x),), load(B, x))])

    def uses(name):
        x = var(name)
        return loop(name, 0, n, store(wide, (near(x),), load(B, x)), *(use(x) for _ in range(rng.randint(1, 3))))

    return nest("f", "n", [B], Alloc(wide), *map(uses, rng.choice([("i",), ("i",), ("i", "j")])))


def test_sides_of_a_branch_have_temporaries_of_their_own():
    """No value goes from one side to the other, since one of them runs."""

    def row(name):
        total = loop("k", 0, n, store(S, (var(name),), add(load(S, var(name)), load(A, var(name), k))))
        return loop(name, 0, n, store(S, (var(name),), 0.0), total, store(B, (var(name),), load(S, var(name))))

    either = If(binary("<=", n, 3), (row("i"),), (row("j"),))
    assert_contracts(nest("sums", "n", [A, B], Alloc(S), either))
    after = loop("l", 0, n, store(B, (var("l"),), load(S, var("l"))))
    assert_contracts(nest("sums", "n", [A, B], Alloc(S), either, after), left=["s"])
    stored = loop("l", 0, n, store(S, (var("l"),), 1.0))
    used = loop("m", 0, n, store(B, (var("m"),), load(S, var("m"))))
    whole = If(binary("<=", n, 3), (row("i"),), (stored, used))
    assert_contracts(nest("sums", "n", [A, B], Alloc(S), whole), left=["s"])
