"""Mapped trees by the times that the cost model predicts, where rules cannot tell which of two is better."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from polysched.codegen.lower import lower
from polysched.codegen.memory.accumulate import accumulate
from polysched.codegen.memory.register_tiles import register_tiles
from polysched.codegen.products.find import pack_products
from polysched.config.heuristics.cost import ALIKE
from polysched.config.machine import Machine
from polysched.config.options import Options
from polysched.cost.prediction import Prediction, predict
from polysched.cost.sizes import typical_sizes
from polysched.errors import BudgetExceeded, CannotLower
from polysched.ir.nodes import Function
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Product, Tree, marks_in
from polysched.support import isl


def predicted(
    tree: Tree, scop: Scop, sizes: Mapping[str, int], options: Options, machine: Machine | None = None
) -> Prediction | None:
    """The time of the loops of a mapped tree on all cores, of this machine or of that of the options; None if they
    cannot be made with little work."""
    machine = machine or options.machine
    loops = loops_of(tree, scop, options)
    with suppress(BudgetExceeded, ArithmeticError), isl.within(_SECONDS, _OPERATIONS):
        return predict(loops, sizes, machine, machine.cores if options.parallel else 1) if loops else None
    return None


def loops_of(tree: Tree, scop: Scop, options: Options) -> Function | None:
    """The loops of a mapped tree, packed and in registers; None if they cannot be made with little work."""
    with suppress(BudgetExceeded, CannotLower, ArithmeticError), isl.within(_SECONDS, _OPERATIONS):
        packed = pack_products(lower(tree, scop), options.machine, parallel=options.parallel)
        return accumulate(register_tiles(packed))
    return None


_OPERATIONS = 2_000_000  # of isl, whatever the time that they take, so that all machines choose alike
_SECONDS = 10.0


def gains(found: tuple[Tree, Scop], simpler: tuple[Tree, Scop], options: Options) -> bool:
    """Is the first of two mapped trees of a nest predicted to take less time, by more than can be told apart?

    True, too, where that is not known, as of products: their loops are made of tiles later.
    """
    if any(isinstance(mark, Product) for mark in marks_in(found[0])):
        return True
    scop = simpler[1]
    sizes = typical_sizes(scop.function, scop.valid_sizes, options.machine)
    if sizes is None:
        return True
    after, before = (predicted(*each, sizes, options) for each in (found, simpler))
    return not after or not before or not before.seconds or after.seconds < ALIKE * before.seconds
