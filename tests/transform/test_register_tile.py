"""polysched/transform/trees/register_tile.py: blocks of elements that a loop adds to, for the vector registers."""

from __future__ import annotations

import random
from dataclasses import replace

import nests
import pytest
from nests import Operand, add, binary, lift, loop, mul, n, nest, sub, var

from polysched.codegen.lower import lower
from polysched.codegen.memory.register_tiles import register_tiles
from polysched.config.machine import Machine
from polysched.config.options import Options
from polysched.ir.build import load, store
from polysched.ir.dtypes import f64
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import Alloc, Array, If, Stmt
from polysched.model.tree.nodes import Band, Tree, Unroll, Vector, marks_in, walk
from polysched.model.tree.text import show_tree
from polysched.strategy import cpu
from tests.transform.scheduled import Scheduled, random_scheduled, scheduled, script_of, tiled, written

# Register tiles of 4 rows and 3 columns.
TINY = Options(machine=Machine(vector_bytes=8, vector_registers=4))
i, j, k = var("i"), var("j"), var("k")
TERMS = tuple(var(name) for name in "qrs")
A, B, C = (Array(name, f64, (n, n)) for name in "ABC")
X, Y = (Array(name, f64, (n,)) for name in "XY")


def register_tiled(nest: Scheduled) -> Tree:
    return written(nest, cpu.register_tiles, [], options=TINY)


def cube(body: Stmt) -> Scheduled:
    return scheduled(nest("cube", "n", (A, B, C), loop("i", 0, n, loop("j", 0, n, loop("k", 0, n, body)))))


def square(body: Stmt) -> Scheduled:
    return scheduled(nest("square", "n", (A, X, Y), loop("i", 0, n, loop("j", 0, n, body))))


def update(target, *factors) -> Stmt:
    return store(next(a for a in (A, B, C, X, Y) if a.name == target.array), target.index, add(target, mul(*factors)))


def marks(tree: Tree) -> list:
    return marks_in(tree)


def below_the_root(tree: Tree) -> str:
    """Without the domain and context."""
    return show_tree(tree.child.child)


def test_a_matrix_product_runs_in_blocks_of_rows_and_columns():
    product = cube(update(load(C, i, j), load(A, i, k), load(B, k, j)))
    assert below_the_root(register_tiled(product)) == """\
band: permutable
  [S[i, j, k] -> floor((j)/3)] coincident
  [S[i, j, k] -> floor((i)/4)] coincident
  band:
    [S[i, j, k] -> k]
    mark: unroll
      band:
        [S[i, j, k] -> i] coincident
        mark: vector
          band:
            [S[i, j, k] -> j] coincident"""
    product.assert_holds(register_tiled(product))


def test_dot_products_run_several_rows_at_a_time():
    products = square(update(load(Y, i), load(A, i, j), load(X, j)))
    tree = register_tiled(products)
    assert "floor((i)/4)" in show_tree(tree)
    assert marks(tree) == [Unroll()]
    products.assert_holds(tree)


def test_without_a_loop_to_unroll_several_updates_of_a_row_are_made_at_a_time():
    updates = square(update(load(Y, j), load(A, i, j), load(X, i)))
    tree = register_tiled(updates)
    assert "floor((i)/4)" in show_tree(tree)
    assert marks(tree) == [Vector(), Unroll()]
    updates.assert_holds(tree)


def test_updates_that_need_each_other_are_not_made_at_a_time():
    """At one i all j are independent, but x[i] is what earlier iterations of j read: not so for four i at once."""
    solve = scheduled(
        nest("f", "n", (A, Y), loop("i", 0, n, loop("j", 0, i, update(load(Y, j), load(A, i, j), load(Y, i)))))
    )
    tree = register_tiled(solve)
    assert marks(tree) == []
    solve.assert_holds(tree)


def test_several_statements_and_statements_that_reuse_nothing_stay():
    for fn in (nests.jacobi_2d(), nests.seidel_2d(), nests.guarded()):
        assert script_of(scheduled(fn), cpu.register_tiles, [], options=TINY).edits == []


def test_the_statements_of_a_nest_are_tiled_each():
    product = scheduled(nests.gemm())
    tree = register_tiled(product)
    assert marks(tree) == [Unroll(), Vector()]
    product.assert_holds(tree)


@pytest.mark.parametrize(
    "body",
    [
        If(binary("<", k, i), (update(load(C, i, j), load(A, i, k), load(B, k, j)),)),
        If(binary(">", k, i), (update(load(C, i, j), load(A, i, k), load(C, k, j)),)),
        If(binary("<=", j, i), (update(load(C, i, j), load(A, i, k), load(A, j, k)),)),
        update(load(C, i, j), load(A, k, i), load(B, j, k)),
        update(load(C, i, sub(sub(n, 1), j)), load(A, i, k), load(B, k, j)),
    ],
    ids=["k < i", "trmm", "syrk", "transposed", "backwards"],
)
def test_triangles_and_transposes_hold_inside_of_tiles_too(body):
    nest = cube(body)
    nest.assert_holds(register_tiled(nest))
    inside = replace(nest, tree=tiled(nest, 2, 3))
    inside.assert_holds(register_tiled(inside))


@pytest.mark.parametrize("seed", range(25))
def test_random_nests_stay_legal_and_compute_the_same_bits(seed):
    nest = random_scheduled(seed)
    nest = replace(nest, tree=written(nest, cpu.strides))
    nest.assert_holds(register_tiled(nest))


def convolution(rows: Operand, columns: Operand, *trips: Operand, reorder: bool = True) -> Scheduled:
    """C[i, j] += A[i, q, r, s] * B[q, r, s + j], or with r and s alone, its terms in any order or none."""
    *outer, last = terms = TERMS[-len(trips) :]
    shapes = {"A": (rows, *trips), "B": (*trips[:-1], add(columns, trips[-1])), "C": (rows, columns)}
    a, b, c = arrays = [Array(name, f64, tuple(map(lift, shape))) for name, shape in shapes.items()]
    body = update(load(c, i, j), load(a, i, *terms), load(b, *outer, add(last, j)))
    for term, trip in reversed([*zip((i, j, *terms), (rows, columns, *trips), strict=True)]):
        body = loop(term.name, 0, trip, body)
    return scheduled(nest("convolution", "n" if n in trips else "", arrays, body), reorder_reductions=reorder)


def outside(tree: Tree) -> list[str]:
    """The loops down to the last one over blocks."""
    members = [member for node in walk(tree) if isinstance(node, Band) for member in node.members]
    last = max(k for k, member in enumerate(members) if member.rounds)
    return [str(member.function).rpartition("[(")[2].rpartition(")]")[0] for member in members[: last + 1]]


def test_the_window_of_a_convolution_is_inside_of_blocks_that_fill_its_rows():
    small = convolution(6, 7, 2, 3, 2)
    assert below_the_root(register_tiled(small)) == """\
band: permutable
  [S[i, j, q, r, s] -> floor((j)/3)] coincident
  [S[i, j, q, r, s] -> floor((i)/3)] coincident
  band: permutable
    [S[i, j, q, r, s] -> q]
    [S[i, j, q, r, s] -> r]
    [S[i, j, q, r, s] -> s]
    mark: unroll
      band:
        [S[i, j, q, r, s] -> i] coincident
        mark: vector
          band:
            [S[i, j, q, r, s] -> j] coincident"""
    small.assert_holds(register_tiled(small))


@pytest.mark.parametrize(
    ("trips", "expected"),
    [((8, 8), []), ((13, 5), ["r"]), ((2, 8, 8), ["q"]), ((1, 13, 5), ["q", "r"]), ((n, 3), ["r"]), ((3, n), ["r"])],
    ids=["64 terms", "65 terms", "64 terms of two", "65 of two", "n outside", "n inside"],
)
def test_of_a_sum_as_many_loops_are_inside_as_have_64_terms(trips, expected):
    window = convolution(5, 4, *trips)
    tree = register_tiled(window)
    assert outside(tree) == [*expected, "floor((j)/2)", "floor((i)/5)"]  # which fill both loops
    window.assert_holds(tree)


def test_a_skewed_window_is_inside_as_it_stands():
    """Where sums have an order, r and s are permutable as r and 4r + s alone: 25 terms, whatever their ranges."""
    window = convolution(16, 48, 5, 5, reorder=False)
    tree = register_tiled(window)
    assert outside(tree) == ["floor((j)/3)", "floor((i)/4)"] and "4r" not in below_the_root(tree)
    window.assert_holds(tree)
    kernel = register_tiles(lower(tree, window.scop))
    assert sum(isinstance(node, Alloc) for node in walk_ir(kernel.body)) == 1
    nests.assert_same_outcome(window.fn, kernel, nests.arguments_for(window.fn, random.Random(0), 5))


@pytest.mark.parametrize(
    ("target", "subscripts", "expected"),
    [(load(Y, i), (i, *TERMS[1:]), "floor((i)/3)"), (load(Y, j), (*TERMS[1:], j), "floor((s)/4)")],
    ids=["dot products", "updates of a row"],
)
def test_without_rows_and_columns_the_other_loops_of_a_sum_stay_outside(target, subscripts, expected):
    a, b, y = Array("A", f64, (lift(9),) * 3), Array("B", f64, (lift(3),) * 2), Array("Y", f64, (lift(9),))
    inside = loop("r", 0, 3, loop("s", 0, 3, update(target, load(a, *subscripts), load(b, *TERMS[1:]))))
    sums = scheduled(nest("f", "", (a, b, y), loop(target.index[0].name, 0, 9, inside)), reorder_reductions=True)
    assert outside(register_tiled(sums)) == ["r", expected]
    sums.assert_holds(register_tiled(sums))


@pytest.mark.parametrize("seed", range(12))
def test_random_windows_compute_the_same_bits_in_registers(seed):
    rng = random.Random(seed)
    window = convolution(rng.randint(1, 9), rng.randint(1, 9), *(rng.choice((1, 2, 3, n)) for _ in range(seed % 3 + 1)))
    done = register_tiles(lower(register_tiled(window), window.scop))
    for size in (1, 4):
        nests.assert_same_outcome(window.fn, done, nests.arguments_for(window.fn, rng, size))
