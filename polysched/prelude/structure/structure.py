"""Structure before motion: fused loops and flat arrays taken apart, where that makes a nest affine.

    for p in 0..h * w:                               for y in 0..h:
        out[p] = a[p // w, p % w]       ->               for x in 0..w:
                                                             out[y, x] = a[y, x]

Then its loops can be scheduled, tiled and mapped, and nothing is left to divide at run time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polysched.ir.effects import may_change
from polysched.ir.node import variables, walk
from polysched.ir.nodes import Expr, For, Function, If, Load, Stmt, Store
from polysched.model.affine import AffineSpace
from polysched.model.loops import loop_conditions
from polysched.prelude.structure.dimensions import with_dimensions
from polysched.prelude.structure.radix import products_in
from polysched.prelude.structure.remainders import without_remainders
from polysched.prelude.structure.unfuse import unfuse
from polysched.support.remembered import remembered


@remembered  # asked for before loops over tiles are looked for, and after
def structured(fn: Function) -> Function:
    """`fn` with its loops and flat arrays taken apart; the same object if there are none, or if subscripts would be
    left which are not affine, as they may be in a loop that is not affine either."""
    apart, checked = unfuse(fn), set(products_in(fn))
    for candidate in (apart, fn) if apart is not fn else (fn,):
        shaped = with_dimensions(without_remainders(candidate, checked))
        if shaped is not fn and all(_may_stand(*use) for use in _uses(shaped.body, AffineSpace("", (), fn.sizes))):
            return shaped
    return fn


def _uses(body: tuple[Stmt, ...], space: AffineSpace, is_affine: bool = True) -> Iterator[tuple[Expr, AffineSpace]]:
    """Every subscript, and the affine loops around it: in one that is not, no loop is."""
    for stmt in body:
        match stmt:
            case For(var, lo, hi, body=inner):
                yield from ((subscript, space) for subscript in _subscripts((lo, hi)))
                inside = replace(space, iterators=(*space.iterators, var))
                if is_affine and inside.has(*loop_conditions(stmt)):
                    yield from _uses(inner, inside)
                else:
                    yield from _uses(inner, space, False)
            case If(cond, then, other):
                yield from ((subscript, space) for subscript in _subscripts((cond,)))
                yield from _uses((*then, *other), space, is_affine)
            case _:
                yield from ((subscript, space) for subscript in _subscripts((stmt,)))


def _subscripts(nodes: tuple[Expr | Stmt, ...]) -> Iterator[Expr]:
    return (subscript for node in walk(nodes) if isinstance(node, Load | Store) for subscript in node.index)


def _may_stand(subscript: Expr, space: AffineSpace) -> bool:
    """Is the subscript affine, or unknown before the nest runs?"""
    is_unknown = may_change(subscript) or not variables(subscript) <= {*space.iterators, *space.sizes}
    return is_unknown or space.has(subscript)
