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

from collections.abc import Callable
from dataclasses import replace

from polysched.codegen.constants.split import Split
from polysched.codegen.emit.dialect import C
from polysched.codegen.emit.printer import Printer
from polysched.codegen.emit.source import Prepare, Source, loc_of, parameters
from polysched.codegen.emit.vector_math import vector_forms
from polysched.config.options import Options
from polysched.ir.nodes import Function


def emit_c(fn: Function, *, vector_math: bool = False) -> Source:
    """The C text of `fn`: one function, arrays by pointer, sizes (int64_t) and scalars by value. With `vector_math`,
    functions of the library have vector forms, which round otherwise."""
    return _source([fn], vector_math=vector_math)


def emit_prepared(parts: Split) -> Callable[[Function, Options], Source]:
    """What prints the parts of a function: one that fills the arrays that are prepared, and one that takes them."""

    def emit(_: Function, options: Options) -> Source:
        source = _source([parts.prepare, parts.rest], vector_math=options.fast_math)
        prepare = Prepare(entry=_entry(parts.prepare), parameters=parameters(parts.prepare), arrays=parts.arrays)
        return replace(source, prepare=prepare)

    return emit


def _source(functions: list[Function], *, vector_math: bool) -> Source:
    """The text of these, the last of which is the entry."""
    printers = [_printed(fn) for fn in functions]
    last, names = printers[-1], parameters(functions[-1])
    for other in printers[:-1]:
        last.includes |= other.includes
        last.externals |= other.externals
        last.helpers |= other.helpers
    forms = vector_forms(*functions) if vector_math else ""
    lines = [*last.header(forms), *(line for each in printers for line in (*each.lines, ""))]
    flags = tuple(dict.fromkeys(flag for fn in functions for each in fn.foreign for flag in each.flags))
    locs = tuple(map(loc_of, lines))
    entry = _entry(functions[-1])
    return Source(target="c", text="\n".join(lines), entry=entry, parameters=names, flags=flags, locs=locs)


def _entry(fn: Function) -> str:
    """What the function is called in C."""
    return Printer(fn, C).names.fresh(fn.name)


def _printed(fn: Function) -> Printer:
    printer, names = Printer(fn, C), parameters(fn)
    printer.signature(f"void {printer.names.fresh(fn.name)}", names)
    printer.mention(names)
    printer.block(fn.body)
    printer.close()
    return printer
