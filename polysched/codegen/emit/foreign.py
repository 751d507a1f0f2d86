"""Functions in C that the user gave, as a text defines them.

    static inline void polysched_matvec4(double *y, int64_t y_0, const double *A, int64_t A_0, int64_t A_1, ...)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from textwrap import wrap

from polysched.ir.dtypes import DType, i64
from polysched.ir.nodes import Foreign

_WIDTH = 105  # of the lines of a parameter list


def definitions(functions: Iterable[Foreign], spelled: Callable[[DType], str]) -> list[str]:
    """The lines that define these functions; `spelled` gives the word for a type."""
    return [line for k, of in enumerate(functions) for line in ([""] if k else []) + _definition(of, spelled)]


def _definition(of: Foreign, spelled: Callable[[DType], str]) -> list[str]:
    pointers = [f"{'const ' if k else ''}{spelled(array.dtype)} *{array.name}" for k, array in enumerate(of.arrays)]
    scalars = [f"{spelled(scalar.dtype)} {scalar.name}" for scalar in of.scalars]
    strides = [f"{array.name}_{k}" for array in of.arrays for k in range(len(array.shape))]
    parameters = [*pointers, *scalars, *(f"{spelled(i64)} {name}" for name in strides)]
    unused = [name for name in strides if not re.search(rf"\b{name}\b", of.body)]
    head = wrap(f"static inline void {of.name}({', '.join(parameters)})", _WIDTH, subsequent_indent="        ")
    return [
        *head,
        "{",
        *(f"    (void){name};" for name in unused),
        *(f"    {line}".rstrip() for line in of.body.strip("\n").splitlines()),
        "}",
    ]
