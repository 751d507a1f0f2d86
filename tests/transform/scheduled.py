"""Nests up to their schedule, and what must hold of it after any transformation.

    nest = scheduled(gemm())
    nest.assert_holds(tiled(nest, 32))
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import nests

from polysched import isl
from polysched.codegen.lower import lower
from polysched.deps.dataflow import dependences
from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.ir.nodes import Function
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.model.tree import Band, Member, Tree
from polysched.options import Options
from polysched.solve.scheduler import find_schedule
from polysched.transform.tile import tile_all


@dataclass(frozen=True)
class Scheduled:
    fn: Function
    scop: Scop
    deps: Dependences
    tree: Tree

    def assert_holds(self, tree: Tree) -> None:
        """`tree` is legal, its flags and marks say the truth, and its loops compute the same bits."""
        require_legal(tree, self.deps, self.scop)
        lowered = lower(tree, self.scop)
        for n in (1, 2, 5):
            nests.assert_same_outcome(self.fn, lowered, nests.arguments_for(self.fn, random.Random(n), n))


def scheduled(fn: Function, *, reorder_reductions: bool = False) -> Scheduled:
    scop = extract(fn)
    deps = dependences(scop, reorder_reductions=reorder_reductions)
    return Scheduled(fn, scop, deps, find_schedule(scop, deps, Options()).tree)


def tiled(nest: Scheduled, *sizes: int) -> Tree:
    """Its loops in tiles of these sizes."""
    return tile_all(nest.tree, nest.scop, nest.deps, Options(tile_sizes=sizes))


def random_scheduled(seed: int) -> Scheduled:
    return scheduled(nests.random_nest(random.Random(seed)))


def band(*schedules: str, permutable: bool = True, coincident: tuple[int, ...] = ()) -> Band:
    """`band("S[i, j] -> i", "S[i, j] -> j", coincident=(1,))`: the members of these numbers are coincident."""
    return Band(
        tuple(Member(union_map(text), coincident=k in coincident) for k, text in enumerate(schedules)), permutable
    )


def union_map(text: str) -> isl.UnionMap:
    """`S[i] -> i; T[i] -> i + 1` as isl's."""
    functions = (function.split(" -> ") for function in text.split("; "))
    return isl.UnionMap("{ " + "; ".join(f"{instance} -> [{value}]" for instance, value in functions) + " }")
