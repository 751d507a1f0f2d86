"""From the parameters of a Python function to those of a nest, by the text of their annotations; arrays of its own.

    (a: ps.f32["n", "n + 1"], alpha: f64 = 2, n: size)    ->    array a[n, n + 1] of f32, scalar alpha, size n
    t = np.empty((n, m), np.float32)                      ->    array t[n, m] of f32, private

The names of the types count, whatever they are imported from. `Annotated[np.ndarray, f32["n"]]`, which type checkers
understand, is f32["n"].

Arrays of a nest's own are made in front of its loops, so that the text stays one that Python runs. Nobody sees such an
array when the nest has ended: a schedule may fold it, lay it out anew, compute it where it is read, or leave it out.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.frontend.arithmetic import fits
from polysched.frontend.python_expressions import Expressions, Scope
from polysched.frontend.python_functions import CASTS, DTYPES
from polysched.frontend.python_source import Source, names_in
from polysched.ir.dtypes import DType, Size, boolean, f64, i64
from polysched.ir.nodes import LARGEST_SIZE, Array, Binary, Const, Expr
from polysched.model.affine import AffineSpace, NotAffine
from polysched.model.loops import sizes_not_negative

_NAMES = ", ".join(name for name in DTYPES if name not in ("bool", "bool_"))  # those of `polysched`


def signature(
    source: Source, definition: ast.FunctionDef, defaults: Mapping[str, Any] | None = None, *, of_op: bool = False
) -> tuple[tuple[str, ...], Scope]:
    """The names of the parameters in order, and a scope that holds them.

    `defaults` are what Python has for parameters; None takes them from the text. Of an operator, names in shapes are
    sizes, parameters or not, and a parameter with a default and no annotation is a constant.
    """
    args = definition.args
    params = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    for star in (args.vararg, args.kwarg):
        if star is not None:
            raise source.error(star, f"'*{star.arg}' cannot be in a nest", "name each parameter")
    written = _written_defaults(args)
    known = _literals(source, written) if defaults is None else defaults
    unannotated = [param.arg for param in params if param.annotation is None and param.arg in written]
    constants = {name: known[name] for name in unannotated} if of_op else {}
    kinds = {param.arg: _annotation(source, param) for param in params if param.arg not in constants}
    sizes = [name for name, (kind, _) in kinds.items() if isinstance(kind, Size)]
    if of_op:
        entries = [_parsed(source, entry) for _, shape in kinds.values() for entry in shape or ()]
        sizes += [one.id for entry in entries for one in names_in(entry) if one.id not in {*kinds, *constants}]
    scope = Scope(tuple(dict.fromkeys(sizes)), constants=constants)
    for name, (kind, shape) in kinds.items():
        if isinstance(kind, DType) and shape is None:
            scope.scalars[name] = kind
        elif isinstance(kind, DType):
            scope.arrays[name] = Array(name, kind, tuple(extent(source, scope, name, entry) for entry in shape or ()))
        if name in written:
            scope.defaults[name] = _default(source, written[name], name, kinds[name], known[name])
    return tuple(kinds), scope


def result_types(
    source: Source, definition: ast.FunctionDef, scope: Scope
) -> tuple[tuple[DType, tuple[Expr, ...]], ...] | None:
    """Dtype and shape of each result that the annotation after -> names; None without one."""
    match definition.returns:
        case None | ast.Constant(value=None):
            return None
        case ast.Tuple(elts=several) | ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=several)):
            entries: Sequence[ast.expr] = several
        case entry:
            entries = (entry,)
    found = []
    for entry in entries:
        kind, shape = _annotation(source, ast.copy_location(ast.arg("result", entry), entry))
        if isinstance(kind, Size):
            raise source.error(entry, "a size is no result", 'write ps.f32["n"] for an array')
        found.append((kind, tuple(extent(source, scope, "result", length) for length in shape or ())))
    return tuple(found)


# --- defaults


def _written_defaults(args: ast.arguments) -> dict[str, ast.expr]:
    """The expressions after =, by parameter."""
    positional = [*args.posonlyargs, *args.args]
    last = zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True)
    named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return {param.arg: default for param, default in (*last, *named) if default is not None}


def _literals(source: Source, written: Mapping[str, ast.expr]) -> dict[str, Any]:
    values = {}
    for name, node in written.items():
        try:
            values[name] = ast.literal_eval(node)
        except ValueError:
            raise source.error(node, f"'{ast.unparse(node)}' is no literal", "write a number") from None
    return values


def _default(
    source: Source, node: ast.expr, name: str, kind: tuple[DType | Size, Sequence[ast.expr] | None], value: Any
) -> int | float | bool:
    """The value that a scalar or a size has where a call does not say."""
    dtype, shape = kind
    if shape is not None:
        raise source.error(node, f"the array '{name}' cannot have a default", "pass it in the call")
    value = value.item() if isinstance(value, np.generic) else value
    match dtype:
        case Size():
            is_right = type(value) is int and 0 <= value <= LARGEST_SIZE
        case DType(kind="f"):
            is_right = isinstance(value, int | float)
        case DType(kind="b"):
            is_right = isinstance(value, int) and value in (0, 1)
        case DType():
            is_right = isinstance(value, int) and fits(value, dtype)
    if not is_right:
        raise source.error(node, f"the default of '{name}' is {value!r}, which is no {dtype}")
    return value


# --- annotations


def _annotation(source: Source, param: ast.arg) -> tuple[DType | Size, Sequence[ast.expr] | None]:
    """The type, and for an array the entries of its shape."""
    hint = f'write {param.arg}: ps.f64["n"] for an array, ps.f64 for a number, ps.size for a size'
    if param.annotation is None:
        raise source.error(param, f"parameter '{param.arg}' has no annotation", hint)
    annotation = param.annotation
    match annotation:  # Annotated[np.ndarray, f64["n"]]
        case ast.Subscript(value=special, slice=ast.Tuple(elts=[_, ours])) if last_name(special) == "Annotated":
            annotation = ours
    match annotation:
        case ast.Subscript(value=kind, slice=ast.Tuple(elts=entries)):
            shape: Sequence[ast.expr] | None = entries
        case ast.Subscript(value=kind, slice=entry):
            shape = (entry,)
        case kind:
            shape = None
    name = last_name(kind)
    if name == "size" and shape is None:
        return Size(), None
    if name.startswith("complex"):
        hint = "give the real and the imaginary part an array each"
        raise source.error(annotation, "complex numbers are not supported", hint)
    if name not in DTYPES:
        raise source.error(annotation, f"the annotation of '{param.arg}' is not one of {_NAMES} and size", hint)
    return DTYPES[name], shape


def last_name(node: ast.expr) -> str:
    """f64 of f64 and ps.f64."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def extent(source: Source, scope: Scope, array: str, entry: ast.expr) -> Expr:
    """An extent over the sizes, given as an expression or as the text of one."""
    node = _Known(scope.constants).visit(_parsed(source, entry))
    for name in names_in(node):
        if name.id not in scope.sizes:
            message = f"the shape of '{array}' names '{name.id}', which is not a size parameter"
            raise source.error(name, message, f"declare the parameter {name.id}: ps.size")
    return Expressions(source, Scope(scope.sizes)).integer(node, "an extent")


class _Known(ast.NodeTransformer):
    """Numbers in the place of the names of whole ones."""

    def __init__(self, constants: Mapping[str, Any]):
        self.constants = constants

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.constants.get(node.id)
        return ast.copy_location(ast.Constant(value), node) if type(value) is int else node


def _parsed(source: Source, entry: ast.expr) -> ast.expr:
    """The expression; of a string literal the one in it, with its places in the file."""
    if not (isinstance(entry, ast.Constant) and isinstance(entry.value, str)):
        return entry
    try:
        tree = ast.parse(entry.value.strip(), mode="eval").body
    except SyntaxError:
        hint = 'write a size or an expression, as in "n + 1"'
        raise source.error(entry, f"'{entry.value}' is not an extent", hint) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):  # past the quote
            node.lineno, node.col_offset = entry.lineno, entry.col_offset + 1 + node.col_offset
    return tree


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
