"""Which functions glibc's libmvec has a vector form of that the compiler calls: found out once, by compiling a loop.

    libmvec_has(text)       ("expf", "tanhf") of those that a text would have
"""

from __future__ import annotations

import re
from functools import cache

from polysched.codegen.emit.vector_math import MACRO, prototype
from polysched.errors import ToolchainError
from polysched.runtime.toolchain import C_FLAGS, Compiler, compile_shared, find_compiler

WITH_LIBMVEC = ("-lmvec", "-lm")


def libmvec_has(text: str) -> tuple[str, ...]:
    """The functions for which the text asks by its macros, as far as there are vector forms of them."""
    asked = dict.fromkeys(re.findall(rf"{MACRO}(\w+)", text))
    return tuple(name for name in asked if _is_called(name, find_compiler()))


@cache
def _is_called(name: str, compiler: Compiler) -> bool:
    """Does `compiler` make a loop over the function one over its vector form, which is there to be linked?"""
    declared = prototype(name)
    own, count = declared.splitlines()[1].split()[0], declared.count(",") + 1
    call = f"{name}({', '.join(['a[i]'] * count)})"
    loop = f"#pragma omp simd\n    for (int i = 0; i < 1024; i++) a[i] = {call};"
    text = f"{declared}\nvoid probe({own} *a)\n{{\n    {loop}\n}}\n"
    try:
        path = compile_shared(text, "probe", flags=(*C_FLAGS, "-Wl,-z,defs"), libraries=WITH_LIBMVEC)
        return re.search(rb"_ZGV\w+_" + name.encode() + rb"\0", path.read_bytes()) is not None
    except (ToolchainError, OSError):
        return False
