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
    return _source(_Printed(fn), vector_math=vector_math)


def emit_prepared(parts: Split) -> Callable[[Function, Options], Source]:
    """What prints the parts of a function: one that fills the arrays that are prepared, and one that takes them."""

    def emit(_: Function, options: Options) -> Source:
        first, rest = _Printed(parts.prepare), _Printed(parts.rest)
        prepare = Prepare(entry=first.entry, parameters=first.parameters, arrays=parts.arrays)
        return replace(_source(first, rest, vector_math=options.fast_math), prepare=prepare)

    return emit


class _Printed(Printer):
    """A function as text, and what it is called in C."""

    def __init__(self, fn: Function):
        super().__init__(fn, C)
        self.entry, self.parameters = self.names.fresh(fn.name), parameters(fn)
        self.signature(f"void {self.entry}", self.parameters)
        self.mention(self.parameters)
        self.block(fn.body)
        self.close()


def _source(*printed: _Printed, vector_math: bool) -> Source:
    """The text of these functions, the last of which is the entry."""
    last, functions = printed[-1], [each.fn for each in printed]
    for other in printed[:-1]:
        last.includes |= other.includes
        last.externals |= other.externals
        last.helpers |= other.helpers
    forms = vector_forms(*functions) if vector_math else ""
    lines = [*last.header(forms), *(line for each in printed for line in (*each.lines, ""))]
    return Source(
        target="c",
        text="\n".join(lines),
        entry=last.entry,
        parameters=last.parameters,
        flags=tuple(dict.fromkeys(flag for fn in functions for each in fn.foreign for flag in each.flags)),
        locs=tuple(map(loc_of, lines)),
    )
