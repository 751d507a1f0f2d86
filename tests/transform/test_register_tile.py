"""polysched/transform/register_tile.py: blocks of elements that a loop adds to, for the vector registers."""

from __future__ import annotations

from dataclasses import replace

import nests
import pytest
from nests import add, binary, loop, mul, n, nest, sub, var

from polysched.ir.build import load, store
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array, If, Stmt
from polysched.machine import Machine
from polysched.model.tree import Mark, Tree, Unroll, Vector, walk
from polysched.model.tree_text import show_tree
from polysched.transform.register_tile import register_tile_all
from polysched.transform.strides import stride_one_innermost
from tests.transform.scheduled import Scheduled, random_scheduled, scheduled, tiled

TINY = Machine(vector_bytes=8, vector_registers=4)  # register tiles of 4 rows and 3 columns
i, j, k = var("i"), var("j"), var("k")
A, B, C = (Array(name, f64, (n, n)) for name in "ABC")
X, Y = (Array(name, f64, (n,)) for name in "XY")


def register_tiled(nest: Scheduled) -> Tree:
    return register_tile_all(nest.tree, nest.scop, nest.deps, TINY)


def cube(body: Stmt) -> Scheduled:
    return scheduled(nest("cube", "n", (A, B, C), loop("i", 0, n, loop("j", 0, n, loop("k", 0, n, body)))))


def square(body: Stmt) -> Scheduled:
    return scheduled(nest("square", "n", (A, X, Y), loop("i", 0, n, loop("j", 0, n, body))))


def update(target, *factors) -> Stmt:
    return store(next(a for a in (A, B, C, X, Y) if a.name == target.array), target.index, add(target, mul(*factors)))


def marks(tree: Tree) -> list:
    return [node.mark for node in walk(tree) if isinstance(node, Mark)]


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
        nest = scheduled(fn)
        assert register_tiled(nest) == nest.tree


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
    nest = replace(nest, tree=stride_one_innermost(nest.tree, nest.scop))
    nest.assert_holds(register_tiled(nest))
