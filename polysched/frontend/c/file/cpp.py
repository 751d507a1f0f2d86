"""Whether a C file is C++ too, so that it can be a part of a CUDA file.

    double *p = malloc(n);              no: C++ has no conversion from void *
    void f(int n, double a[n][n])       no: C++ has no arrays of variable length
    void f(double *restrict p)          yes: what C++ only spells in another way is defined in front of it
"""

from __future__ import annotations

from collections.abc import Sequence

from clang.cindex import Diagnostic, Index, TranslationUnitLoadError

from polysched.errors import InputError
from polysched.frontend.c.file.source import Source, compiler_headers, is_in_compiler_header

SPELLINGS = {"restrict": "__restrict__", "_Bool": "bool", "_Static_assert": "static_assert"}

# As strict as nvcc and g++, which clang is not by itself.
_STRICT = ("-std=c++17", "-nostdinc++", "-Werror=vla-extension", "-Werror=c99-designator", "-Werror=narrowing")


def require_cpp(path: str, data: bytes, include: Sequence[str] = (), define: Sequence[str] = ()) -> None:
    """InputError, with the place, if the C file is no C++; `data` are its bytes."""
    spelled = (f"-D{name}={other}" for name, other in SPELLINGS.items())
    given = (*(f"-I{folder}" for folder in include), *(f"-D{name}" for name in define))
    try:
        arguments = ["-x", "c++", *_STRICT, *spelled, *given, *compiler_headers()]
        unit = Index.create().parse(path, arguments, [(path, data)])
    except TranslationUnitLoadError:
        raise InputError(f"clang cannot parse {path} as C++", None, _HINT) from None
    for complaint in unit.diagnostics:
        if complaint.severity >= Diagnostic.Error and not is_in_compiler_header(complaint):
            place = Source(path, data, unit).place(complaint.location)
            message = f"this is not C++, which a .cu file is: {complaint.spelling.partition(' [-W')[0]}"
            raise InputError(message, place, _HINT)


_HINT = "write it so that it is C++ too; or give an output that ends in .c, which gets a file of kernels beside it"
