"""Prints a function as C (gnu11) with OpenMP; without -fopenmp the same text runs serially.

    for i in 0..n (parallel):               void scale(double *restrict a, int64_t n)
        a[i] = a[i] * 2.0                   {
                                  ->            #pragma omp parallel for schedule(static)
                                                for (int64_t i = 0; i < n; i++) {
                                                    a[i] *= 2.0;
                                                }
                                            }
Needs: arrays have at most one dimension (`linearize`); to be compiled with -fwrapv and -ffp-contract=off.
"""

from __future__ import annotations

from polysched.codegen.emit.dialect import C
from polysched.codegen.emit.printer import Printer
from polysched.codegen.emit.source import Source, loc_of, parameters
from polysched.codegen.emit.vector_math import vector_forms
from polysched.ir.nodes import Function


def emit_c(fn: Function, *, vector_math: bool = False) -> Source:
    """The C text of `fn`: one function, arrays by pointer, sizes (int64_t) and scalars by value. With `vector_math`,
    functions of the library have vector forms, which round otherwise."""
    printer = Printer(fn, C)
    entry = printer.names.fresh(fn.name)
    names = parameters(fn)
    printer.signature(f"void {entry}", names)
    printer.mention(names)
    printer.block(fn.body)
    printer.close()
    lines = [*printer.header(vector_forms(fn) if vector_math else ""), *printer.lines, ""]
    flags = tuple(dict.fromkeys(flag for each in fn.foreign for flag in each.flags))
    locs = tuple(map(loc_of, lines))
    return Source(target="c", text="\n".join(lines), entry=entry, parameters=names, flags=flags, locs=locs)
