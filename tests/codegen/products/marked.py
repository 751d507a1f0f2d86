"""Nests whose last loop is marked as lowering marks sums of products, and what becomes of them.

    fn = marked('''def f(C: f32[4, 8], A: f32[4, 5], B: f32[5, 8]):
        ...''')
    show(packed(fn, SMALL))                  # after `assert_same_outcome`
"""

from __future__ import annotations

import random
from dataclasses import replace

import nests

from polysched.codegen.products.find import pack_products
from polysched.config.machine import Machine
from polysched.frontend.python import parse_nest
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, For, Function, Load, Store
from polysched.ir.simplify import simplify

SMALL = Machine(vector_bytes=16, vector_registers=6, l1=256, l2=256)  # tiles of 3 x 4 f32, blocks of 128 bytes
LARGE = Machine(vector_bytes=16, vector_registers=6)  # the same tiles, one block


def marked(text: str, kind: str = "packed", behind: int = 0) -> Function:
    """The Python nest with its last loop of this kind, or the one that so many are behind."""
    fn = parse_nest(text, "products.py")
    *before, last = fn.body[: len(fn.body) - behind]
    assert isinstance(last, For)
    return replace(fn, body=(*before, replace(last, kind=kind), *fn.body[len(before) + 1 :]))


def packed(fn: Function, machine: Machine) -> Function:
    """What `pack_products` makes of it, with expressions simplified; it computes the same bits."""
    done: Function = simplify(pack_products(fn, machine))
    nests.assert_same_outcome(fn, done, nests.arguments_for(fn, random.Random(7), 0))
    return done


def nest(arrays: str, loops: str, update: str, kind: str = "packed") -> Function:
    """`update` in marked loops, as in "i8 j9": i up to 8, j up to 9."""
    extents = {loop[0]: int(loop[1:]) for loop in loops.split()}
    lines = [f"def f({arrays}):"]
    lines += [f"{' ' * 4 * k}for {name} in range({extent}):" for k, (name, extent) in enumerate(extents.items(), 1)]
    return marked("\n".join([*lines, " " * 4 * (len(extents) + 1) + update]), kind)


def copies(fn: Function) -> dict[str, tuple[int, ...]]:
    """The arrays that are copied, and the shapes of the copies."""
    arrays = (node.array for node in walk(fn.body) if isinstance(node, Alloc))
    own = {array.name: tuple(int(extent.value) for extent in array.shape) for array in arrays}
    stores = [node for node in walk(fn.body) if isinstance(node, Store)]
    results = {store.array for store in stores} - own.keys()
    found = {}
    for store in stores:
        sources = {node.array for node in walk(store.value) if isinstance(node, Load)} - results
        if store.array in own and sources.isdisjoint(own):
            found |= dict.fromkeys(sources, own[store.array])
    return found


def kinds(fn: Function) -> set[str]:
    return {node.kind for node in walk(fn.body) if isinstance(node, For)}
