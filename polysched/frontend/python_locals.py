"""Arrays of a nest's own: `t = np.empty((n, m), np.float32)` in front of its loops.

The text stays one that Python runs. Nobody sees such an array when the nest has ended: a schedule may fold it, lay it
out anew, compute it where it is read, or leave it out.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polysched.errors import InputError
from polysched.frontend.python_expressions import Scope
from polysched.frontend.python_functions import CASTS
from polysched.frontend.python_signature import extent, last_name
from polysched.frontend.python_source import Source
from polysched.ir.dtypes import DType, boolean, f64, i64
from polysched.ir.nodes import Array, Binary, Const, Expr
from polysched.model.affine import AffineSpace, NotAffine
from polysched.model.loops import sizes_not_negative

_FILLED = ("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "empty_like")
_DTYPES = {**CASTS, "float": f64, "int": i64, "bool": boolean}
_HINT = "write t = np.empty((n, m), np.float32) in front of all else, and assign its elements"


def local_arrays(source: Source, scope: Scope, body: Sequence[ast.stmt]) -> tuple[Sequence[ast.stmt], list[Array]]:
    """The statements after those that make arrays, and these arrays, by the sizes in `scope`."""
    made: dict[str, Array] = {}
    for k, node in enumerate(body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.Call() as call) if is_made(call):
                if scope.is_bound(name) or name in made:
                    raise source.error(target, f"'{name}' has a meaning already", "give the array a name of its own")
                made[name] = _made(source, scope, name, call)
            case _:
                return body[k:], list(made.values())
    return (), list(made.values())


def is_made(call: ast.Call) -> bool:
    """Does it make an array?"""
    return last_name(call.func) in ("empty", *_FILLED)


def misplaced(source: Source, call: ast.Call) -> InputError:
    """For a call that makes an array where none can be made."""
    return source.error(call, "an array is made in front of all other statements of a nest", _HINT)


def _made(source: Source, scope: Scope, name: str, call: ast.Call) -> Array:
    if last_name(call.func) in _FILLED:
        raise source.error(call, f"'{ast.unparse(call.func)}' cannot be in a nest", _HINT)
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    given = [*call.args, *(named[each] for each in ("shape", "dtype") if each in named)]
    if not 1 <= len(given) <= 2 or not set(named) <= {"shape", "dtype"}:
        raise source.error(call, f"'{name}' needs a shape, and may have a dtype", _HINT)
    shape = given[0].elts if isinstance(given[0], ast.Tuple | ast.List) else [given[0]]
    dtype = _dtype(source, given[1]) if len(given) == 2 else f64
    extents = (extent(source, scope, name, entry) for entry in shape)
    return Array(name, dtype, tuple(_not_negative(length, scope.sizes) for length in extents), "private")


def _not_negative(length: Expr, sizes: tuple[str, ...]) -> Expr:
    """No elements for sizes for which Python would raise an error."""
    try:
        fits = AffineSpace("", (), sizes).where(Binary(">=", length, Const(0))).params()
    except NotAffine:
        return Binary("max", length, Const(0))
    return length if sizes_not_negative(sizes).is_subset(fits) else Binary("max", length, Const(0))


def _dtype(source: Source, node: ast.expr) -> DType:
    name = node.value if isinstance(node, ast.Constant) else last_name(node)
    if name not in _DTYPES:
        raise source.error(node, f"'{ast.unparse(node)}' is no dtype", "write np.float32, np.float64, np.int32, ...")
    return _DTYPES[name]
