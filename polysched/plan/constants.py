"""Parameters that the user calls constant: they must be, and be there."""

from __future__ import annotations

from polysched.config.options import Options, Target
from polysched.errors import InputError
from polysched.ir.node import walk
from polysched.ir.nodes import Function, Store


def require_constants(fn: Function, target: Target, options: Options) -> None:
    """InputError if a constant is no parameter, or is written, or the target cannot prepare anything."""
    names = options.constants
    if not names:
        return
    known = [*fn.sizes, *(scalar.name for scalar in fn.scalars), *(array.name for array in fn.arrays)]
    if unknown := [name for name in names if name not in known]:
        what = f"'{fn.name}' has no parameter '{unknown[0]}' to be constant"
        raise InputError(what, hint=f"its parameters are {', '.join(known)}")
    for node in walk(fn.body):
        if isinstance(node, Store) and node.array in names:
            what = f"'{node.array}' is constant by Options(constants=...), and '{fn.name}' writes it here"
            raise InputError(what, node.loc, hint="leave it out of the constants")
    if target != "c":
        raise InputError(f"constants are prepared in C, and the target is {target}", hint="leave constants out")
