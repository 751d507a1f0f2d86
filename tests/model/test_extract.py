"""polysched/model/extract.py: nests as domains, access relations and source order."""

import random

import nests
import pytest

from polysched.codegen.lower import lower
from polysched.errors import InputError
from polysched.ir.build import add, binary, floormod, load, mul, store, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.nodes import Alloc, Array, Binary, Const, For, Function, If, Select
from polysched.model.extract import extract
from polysched.model.tree.text import show_tree
from polysched.support import isl

i, j, k, n = var("i"), var("j"), var("k"), var("n")
A, B = Array("A", f64, (n,)), Array("B", f64, (n,))
INDEX = Array("index", i64, (n,))


def function(*body, arrays=(A, B), sizes=("n",)):
    return Function("test", tuple(sizes), tuple(arrays), body)


def loop(name, lo, hi, *body, step=1):
    return For(name, add(lo, 0) if not isinstance(lo, int) else Const(lo), hi, step, body)


def relations(accesses):
    return [(isl.Map(str(a.relation)), a.must) for a in accesses]


def same(relation, text):
    return relation.is_equal(isl.Map(text))


def test_b1_domain_and_source_order_of_the_two_loop_stencil():
    scop = extract(nests.stencil2(), check_bounds=False)
    (statement,) = scop.statements
    assert statement.domain.is_equal(isl.Set("[N] -> { S[i,j] : 0 <= i < N and 0 <= j < N }"))
    assert show_tree(scop.tree) == (
        "domain: { S[i, j] : 0 <= i < N and 0 <= j < N }\n"
        "  context: { : N >= 0 }\n"
        "    band:\n"
        "      [S[i, j] -> i]\n"
        "      band:\n"
        "        [S[i, j] -> j]"
    )


def test_b2_three_read_maps_and_one_write_map():
    (statement,) = extract(nests.stencil2(), check_bounds=False).statements
    assert [str(read.relation) for read in statement.reads] == [
        "[N] -> { S[i, j] -> a[i, 1 + j] }",
        "[N] -> { S[i, j] -> a[i, j] }",
        "[N] -> { S[i, j] -> a[i, -1 + j] }",
    ]
    assert [str(write.relation) for write in statement.writes] == ["[N] -> { S[i, j] -> a[1 + i, j] }"]


def test_strides_guards_and_backward_loops():
    body = loop("i", sub(n, 1), Const(-1), If(Binary("==", floormod(i, 3), Const(0)), (store(A, (i,), 1.0),)), step=-2)
    (statement,) = extract(function(body)).statements
    expected = "[n] -> { S[i] : 0 <= i < n and (n - 1 - i) mod 2 = 0 and i mod 3 = 0 }"
    assert statement.domain.is_equal(isl.Set(expected))


def test_else_is_the_complement():
    branch = If(Binary("<", i, Const(2)), (store(A, (i,), 1.0),), (store(B, (i,), 2.0),))
    first, second = extract(function(loop("i", 0, n, branch))).statements
    assert first.domain.is_equal(isl.Set("[n] -> { S0[i] : 0 <= i < n and i < 2 }"))
    assert second.domain.is_equal(isl.Set("[n] -> { S1[i] : 2 <= i < n }"))


def test_a_data_dependent_subscript_may_touch_any_element():
    (statement,) = extract(
        function(loop("i", 0, n, store(A, (load(INDEX, i),), load(B, i))), arrays=(A, B, INDEX))
    ).statements
    (write,) = statement.writes
    assert not write.must
    assert same(write.relation, "[n] -> { S[i] -> A[x] : 0 <= x < n }")


def test_a_data_dependent_guard_makes_may_writes():
    guarded = If(Binary(">", load(B, i), Const(0.0, f64)), (store(A, (i,), 1.0),))
    (statement,) = extract(function(loop("i", 0, n, guarded))).statements
    assert statement.body == (guarded,)
    assert [write.must for write in statement.writes] == [False]


def test_a_data_dependent_loop_is_one_statement():
    rows = Array("rows", i64, (add(n, 1),))
    inner = For("k", load(rows, i), load(rows, add(i, 1)), 1, (store(A, (i,), add(load(A, i), load(B, k))),))
    (statement,) = extract(function(loop("i", 0, n, inner), arrays=(A, B, rows))).statements
    assert statement.iterators == ("i",)
    assert same(statement.writes[0].relation, "[n] -> { S[i] -> A[i] }") and not statement.writes[0].must


def test_a_temporary_between_two_stores_makes_one_statement():
    t = Array("t", f64, (), "private")
    body = (Alloc(t), store(t, (), load(A, i)), store(B, (i,), load(t)))
    (statement,) = extract(function(loop("i", 0, n, *body))).statements
    assert len(statement.body) == 3
    assert {a.array for a in (*statement.reads, *statement.writes)} == {"A", "B"}


def test_a_temporary_is_dead_before_its_block():
    t = Array("t", f64, (), "private")
    summing = loop("k", 0, n, store(t, (), add(load(t), load(A, k))))
    body = (Alloc(t), store(t, (), 0.0), summing, store(B, (i,), load(t)))
    scop = extract(function(loop("i", 0, n, *body)))
    assert scop.kills.is_equal(isl.UnionMap("[n] -> { S0[i] -> t[] : 0 <= i < n }"))


def test_a_read_after_a_write_of_the_same_instance_is_not_a_read():
    t = Array("t", f64, (), "private")
    body = (Alloc(t), store(t, (), load(A, i)), store(B, (i,), load(t)), store(A, (i,), add(load(B, i), load(t))))
    (statement,) = extract(function(loop("i", 0, n, *body))).statements
    assert [read.array for read in statement.reads] == ["A"]


def test_sizes_that_keep_accesses_in_bounds_are_found():
    m = var("m")
    scop = extract(function(loop("i", 0, m, store(A, (i,), 1.0)), sizes=("n", "m")))
    assert scop.valid_sizes.is_equal(isl.Set("[n, m] -> { : 0 <= n and 0 <= m <= n }"))


def test_an_access_that_always_leaves_its_array_is_refused():
    with pytest.raises(InputError) as error:
        extract(function(loop("i", 0, n, store(A, (add(i, 1),), 1.0))))
    assert str(error.value) == (
        "'A' has shape [n], but i = 0 touches A[1] when n = 1\n"
        'hint: shrink the loop, guard the access, or declare the array larger, as in n + 1 for n'
    )


def test_a_guarded_padding_read_is_in_bounds():
    inside = binary("&&", Binary(">=", sub(i, 1), Const(0)), Binary("<", i, n))
    value = Select(inside, load(A, sub(i, 1)), Const(0.0, f64))
    (statement,) = extract(function(loop("i", 0, n, store(B, (i,), value)))).statements
    assert same(statement.reads[0].relation, "[n] -> { S[i] -> A[i - 1] : 1 <= i < n }")


def test_a_nest_that_stores_nothing_is_refused():
    with pytest.raises(InputError, match="'test' stores nothing"):
        extract(function(loop("i", 0, n)))


def test_a_remainder_by_the_extent_is_in_bounds_and_may_be_any_element():
    scop = extract(function(loop("i", 0, n, store(B, (i,), load(A, floormod(mul(i, i), n))))))
    ((relation, must),) = relations(scop.statements[0].reads)
    assert same(relation, "[n] -> { S[i] -> A[x] : 0 <= x < n }") and not must
    with pytest.raises(InputError, match="is not affine"):
        extract(function(loop("i", 0, n, store(B, (i,), load(A, floormod(mul(i, i), add(n, 1)))))))


def test_a_subscript_that_is_not_affine_is_refused():
    with pytest.raises(InputError) as error:
        extract(function(loop("i", 0, n, store(A, (mul(i, i),), 1.0))))
    assert str(error.value) == (
        "subscript 'i * i' of 'A' is not affine: i * i\n"
        "hint: use a dimension for each index, as in A[i, j] for A[i * n + j]; or load the subscript from an array"
    )


@pytest.mark.parametrize("seed", range(60))
def test_source_order_lowered_again_computes_the_same(seed):
    rng = random.Random(seed)
    fn = nests.random_nest(rng)
    scop = extract(fn)
    lowered = lower(scop.tree, scop)
    for size in (1, 2, 5):
        nests.assert_same_outcome(fn, lowered, nests.arguments_for(fn, rng, size))
