"""Nests up to their schedule, and what must hold of it after any transformation.

    nest = scheduled(gemm())
    nest.assert_holds(tiled(nest, 32))
    nest.assert_holds(written(nest, order))             the tree after a phase of the strategy for CPUs
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import nests

from polysched.codegen.lower import lower
from polysched.config.options import Options
from polysched.deps.dataflow import dependences
from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.frontend.python import parse_nest
from polysched.ir.nodes import Function
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Domain, Member, Tree
from polysched.solve.scheduler import find_schedule
from polysched.strategy.cpu import tiles
from polysched.strategy.script import Script
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.loops import nested
from polysched.transform.edits.base.reduces import with_reduces


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


def in_source_order(text: str) -> Scheduled:
    """The nest of a text, in the order of the text."""
    fn = parse_nest(text.strip(), "nest.py")
    scop = extract(fn)
    return Scheduled(fn, scop, dependences(scop), scop.tree)


def on_loops(scop: Scop, tree: Tree, deps: Dependences | None = None) -> Scheduled:
    """The statements of a scop on these loops, whose order need not be legal."""
    return Scheduled(scop.function, scop, dependences(scop) if deps is None else deps, Domain(scop.domain, tree))


def script_of(
    nest: Scheduled, phase: Callable[..., Any], *args: Any, options: Options | None = None, tree: Tree | None = None
) -> Script:
    """What a phase of a strategy writes for the nest, or for another tree of it."""
    draft = Draft(scop=nest.scop, dependences=nest.deps, nested=nested(tree or nest.tree), waits=True)
    script = Script(draft, options or Options())
    phase(script, *args)
    return script


def written(
    nest: Scheduled, phase: Callable[..., Any], *args: Any, options: Options | None = None, tree: Tree | None = None
) -> Tree:
    """The tree after that phase."""
    return with_reduces(script_of(nest, phase, *args, options=options, tree=tree).tree, nest.deps)


def tiled(nest: Scheduled, *sizes: int) -> Tree:
    """Its loops in tiles of these sizes."""
    return written(nest, tiles, options=Options(tile_sizes=sizes))


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
