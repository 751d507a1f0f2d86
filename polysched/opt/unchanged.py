"""Does a kernel run the region's own loops, in their own order? Then compilers make as much of the text as it was.

for (i = 0; i < n; i++) a[i] = b[i] + 1;    ->    the same, on threads: one thread is better off with the text
"""

from __future__ import annotations

from collections import Counter

from polysched import isl
from polysched.compiled import Compiled
from polysched.frontend.c.region import Region
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, For, Function, If, Select, Store
from polysched.model.order import flatten


def runs_the_same_loops(done: Compiled, region: Region) -> bool:
    """Is the order that of the source, in as many loops, conditions and stores, with nothing that the kernel knows and
    a compiler does not: that pointers are apart, and that iterations are SIMD lanes?"""
    kinds = {node.kind for node in walk(done.kernel.body) if isinstance(node, For)}
    if not {array.name for array in region.function.arrays} <= region.unaliased or kinds - _PLAIN:
        return False
    if _shape(done.kernel) != _shape(region.function):
        return False
    return isl.decided(lambda: flatten(done.schedule).is_equal(flatten(done.scop.tree)), unknown=False)


_PLAIN = {"serial", "parallel", "dynamic"}


def _shape(fn: Function) -> Counter[str]:
    """How many there are of what takes time."""
    nodes = list(walk(fn.body))
    allocated = sum(isinstance(node, Alloc) and bool(node.array.shape) for node in nodes)
    return Counter(type(n).__name__ for n in nodes if isinstance(n, For | If | Select | Store)) + Counter(
        arrays=allocated
    )
