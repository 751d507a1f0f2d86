"""Arrays that belong to a loop, lowered: each iteration declares its own."""

import random

from by_hand import blur, matmul
from nests import arguments_for, assert_same_outcome

import polysched as ps
from polysched import Schedule
from polysched.codegen.lower import lower
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, For
from polysched.ir.text import show
from polysched.model.tree.nodes import Storage
from polysched.model.tree.to_isl import mark_text, parse_mark


@ps.nest
def one_block(b: ps.f64[8], a: ps.f64[9]):
    for i in range(8):
        b[i] = a[i] + a[i + 1]


@ps.nest
def once(b: ps.f64[8], a: ps.f64[9]):
    for t in range(1):
        for i in range(8):
            b[i] = a[i + t] + a[i + 1]


def test_the_mark_as_text():
    assert mark_text(Storage(("A_c", "B_c"))) == "storage:A_c,B_c"
    assert parse_mark("storage:A_c,B_c") == Storage(("A_c", "B_c"))


def test_the_array_is_declared_in_its_loop():
    cached = Schedule(one_block).tile("i", sizes=(4,)).cache_read("a", at="i_o")
    assert show(lower(cached.tree, cached.draft.scop)).partition("\n")[2] == """\
    for c0 in 0..1 + 1:
        alloc a_c: private f64[5]
        for c1 in 4 * c0..4 * c0 + 4 + 1:
            a_c[c1 - 4 * c0] = a[c1]
        for c2 in 4 * c0..4 * c0 + 3 + 1:
            b[c2] = a_c[c2 - 4 * c0] + a_c[c2 + 1 - 4 * c0]"""


def test_a_loop_of_one_iteration_keeps_the_array_and_its_uses_together():
    """isl gives each statement a loop of its own where it sees that the order allows it."""
    cached = Schedule(once).cache_read("a", at="t")
    kernel = lower(cached.tree, cached.draft.scop)
    assert [node.array.name for node in walk(kernel.body) if isinstance(node, Alloc)] == ["a_c"]
    assert_same_outcome(once.function, kernel, arguments_for(once.function, random.Random(1), 8))


def test_copies_of_a_block_name_their_arrays_apart():
    unrolled = Schedule(blur).tile("i", sizes=(4,)).cache_read("a", at="i_o").peel("i_o", first=1)
    kernel = lower(unrolled.tree, unrolled.draft.scop)
    names = [node.array.name for node in walk(kernel.body) if isinstance(node, Alloc)]
    assert names == ["a_c", "a_c_1"]
    for n in (1, 4, 9):
        assert_same_outcome(blur.function, kernel, arguments_for(blur.function, random.Random(n), n))


def test_arrays_inside_of_blocks_of_blocks():
    tiled = Schedule(matmul).tile("i", "j", "k", sizes=(8, 8, 4)).tile("i", "j", sizes=(2, 2), names=("i_t", "j_t"))
    cached = tiled.cache_read("A", at="k_o").cache_write("C", at="j_t").parallel("i_o")
    kernel = lower(cached.tree, cached.draft.scop)
    (parallel,) = (node for node in walk(kernel.body) if isinstance(node, For) and node.kind.startswith(("par", "dyn")))
    assert {node.array.name for node in walk(parallel) if isinstance(node, Alloc)} == {"A_c", "C_c"}
    for n in (1, 5, 9):
        assert_same_outcome(matmul.function, kernel, arguments_for(matmul.function, random.Random(n), n))
