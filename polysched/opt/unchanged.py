"""Does a kernel run the region's own loops, in their own order? Then compilers make as much of the text as it was.

for (i = 0; i < n; i++) a[i] = b[i] + 1;    ->    the same, on threads: one thread is better off with the text
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from itertools import combinations

from polysched.codegen.lowered import names_in
from polysched.frontend.c.region import Region
from polysched.ir.integers.linear import difference
from polysched.ir.node import statements, walk
from polysched.ir.nodes import Alloc, Binary, Const, Expr, For, Function, If, Load, Select, Store, Var
from polysched.model.tree.order import flatten
from polysched.prelude.macro_statements import macro_statements
from polysched.results.compiled import Compiled
from polysched.support import isl


def runs_the_same_loops(done: Compiled, region: Region) -> bool:
    """Is the order that of the source, in as many loops, conditions and stores, with nothing that the kernel knows and
    a compiler does not: that pointers are apart, and that iterations are SIMD lanes? Compilers, too, write out the
    constant loops that a private scalar lives through."""
    loops = [node for node in walk(done.kernel.body) if isinstance(node, For)]
    source = macro_statements(region.function)
    if _may_overlap(source, region) or {loop.kind for loop in loops} - _PLAIN:
        return False
    if done.scop.dead:
        return False
    lanes = [loop for loop in loops if loop.kind == "vector"]
    if lanes and (any(loop.reduces for loop in lanes) or not _is_evident(source)):
        return False
    if _shape(done.kernel) != _shape(source):
        return False
    return isl.decided(lambda: flatten(done.tree).is_equal(flatten(done.scop.tree)), unknown=False)


def _may_overlap(fn: Function, region: Region) -> bool:
    """Might what is stored overlap something else, as far as a compiler knows?"""
    stored = {node.array for node in walk(fn.body) if isinstance(node, Store)}
    pairs = combinations([array.name for array in fn.arrays], 2)
    return any(region.may_overlap(one, other, stored) for one, other in pairs)


_PLAIN = {"serial", "parallel", "dynamic", "vector"}


def _is_evident(fn: Function) -> bool:
    """Does each innermost loop use what it stores at one place of an iteration alone, as any compiler sees?"""
    constant = {array.name for array in fn.arrays if all(isinstance(extent, Const) for extent in array.shape[1:])}
    loops = (node for node in statements(fn.body) if isinstance(node, For))
    innermost = (loop for loop in loops if not any(isinstance(node, For) for node in statements(loop.body)))
    return all(_is_one_place(loop, constant) for loop in innermost)


def _is_one_place(loop: For, constant: Set[str]) -> bool:
    """Does an iteration use no element that another stores? Of arrays in `constant`, all extents but the first are
    known: what is in another row is another element."""
    accesses = [node for node in walk(loop.body) if isinstance(node, Load | Store)]
    stores = {(node.array, node.index) for node in accesses if isinstance(node, Store)}
    return all(
        _is_linear(index)
        and (index == node.index or (array in constant and _are_in_other_rows(loop.var, index, node.index)))
        for array, index in stores
        for node in accesses
        if node.array == array
    )


def _is_linear(index: tuple[Expr, ...]) -> bool:
    """Is it made of sums and products?"""
    return all(
        isinstance(node, Var | Const) or (isinstance(node, Binary) and node.op in ("+", "-", "*"))
        for node in walk(index)
    )


def _are_in_other_rows(var: str, one: tuple[Expr, ...], other: tuple[Expr, ...]) -> bool:
    """Do they differ by a constant in a dimension along which the loop over `var` does not move?"""
    pairs = zip(one, other, strict=True)
    return any(var not in names_in(a) and set(difference(a, b) or ()) == {None} for a, b in pairs)


def _shape(fn: Function) -> Counter[str]:
    """How many there are of what takes time."""
    nodes = list(walk(fn.body))
    allocated = [node.array for node in nodes if isinstance(node, Alloc)]
    locals_ = {array.name for array in allocated if not array.shape}  # in registers, as what the kernel makes of them
    timed = (n for n in nodes if isinstance(n, For | If | Select | Store))
    shape = Counter(type(n).__name__ for n in timed if not (isinstance(n, Store) and n.array in locals_))
    return shape + Counter(arrays=sum(bool(array.shape) for array in allocated))
