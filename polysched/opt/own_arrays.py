"""Arrays that iterations work in, with a copy for each iteration of the outermost loop, so that it can run on threads.

    double row[100];                                each i has a row of its own, and the last one leaves its
    for (i = 0; i < n; i++) {                       values in `row`; not where all of them would take more memory
        for (j = 0; j < 100; j++) row[j] = ...      than a program expects
        for (j = 0; j < 100; j++) ... row[j] ...
    }
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import prod

from polysched.config.heuristics.whole import MOST_COPIED
from polysched.config.options import Options
from polysched.errors import BudgetExceeded, InputError
from polysched.ir.build import binary, mul
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Alloc, Cast, Const, Expr, Function
from polysched.prelude.expand_arrays import arrays_for_threads, expand_arrays
from polysched.support import isl

_SECONDS = 5.0  # to find them


@dataclass(frozen=True)
class Threaded:
    """A nest, how it is compiled, and on which sizes."""

    function: Function
    options: Options
    when: tuple[Expr, ...] = ()


def with_own_arrays(function: Function, options: Options, dead: Collection[str] = ()) -> Threaded:
    """The nest with such copies, in its own order; as it is where there are none. What is left in those that are
    `dead` is nobody's."""
    plain = Threaded(function, options)
    if not options.parallel:
        return plain
    try:
        with isl.within(_SECONDS):
            names = arrays_for_threads(function)
            expanded = expand_arrays(function, *names, loops=1, dead=tuple(dead)) if names else function
    except (BudgetExceeded, InputError):
        return plain
    if expanded is function:
        return plain
    in_order = replace(options, scheduler="source", tile=False, wavefront=False, register_tiles=False)
    copies = [stmt.array for stmt in expanded.body if isinstance(stmt, Alloc)]
    when = []
    for copy in copies:
        count, *row = copy.shape
        bytes_of_row = prod(int(extent.value) for extent in row if isinstance(extent, Const)) * copy.dtype.bits // 8
        most = Const(float(MOST_COPIED // len(copies)), f64)
        when.append(binary("<=", mul(Cast(count, f64), Const(float(bytes_of_row), f64)), most))
    return Threaded(expanded, in_order, tuple(when))
