"""From the parameters of a Python function to those of a nest, by the text of their annotations.

    (a: ps.f32["n", "n + 1"], alpha: f64, n: size)    ->    array a[n, n + 1] of f32, scalar alpha, size n

The names of the types count, whatever they are imported from.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polysched.frontend.python_expressions import Expressions, Scope
from polysched.frontend.python_functions import DTYPES
from polysched.frontend.python_source import Source
from polysched.ir.dtypes import ALL, DType, Size, size
from polysched.ir.nodes import Array, Expr


def signature(
    source: Source, definition: ast.FunctionDef, *, shapes_name_sizes: bool = False
) -> tuple[tuple[str, ...], Scope]:
    """The names of the parameters in order, and a scope that holds them.

    With `shapes_name_sizes`, names in shapes are sizes, parameters or not.
    """
    args = definition.args
    params = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    for star in (args.vararg, args.kwarg):
        if star is not None:
            raise source.error(star, f"'*{star.arg}' cannot be in a nest", "name each parameter")
    for default in (*args.defaults, *args.kw_defaults):
        if default is not None:
            raise source.error(default, "a parameter cannot have a default", "pass the value in the call")
    kinds = {param.arg: _annotation(source, param) for param in params}
    sizes = [name for name, (kind, _) in kinds.items() if isinstance(kind, Size)]
    if shapes_name_sizes:
        entries = [entry for _, shape in kinds.values() for entry in shape or ()]
        sizes += [name for entry in entries for name in _names_in(source, entry) if name not in kinds]
    scope = Scope(tuple(dict.fromkeys(sizes)))
    for name, (kind, shape) in kinds.items():
        if isinstance(kind, DType) and shape is None:
            scope.scalars[name] = kind
        elif isinstance(kind, DType):
            scope.arrays[name] = Array(name, kind, tuple(_extent(source, scope, name, entry) for entry in shape or ()))
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
        found.append((kind, tuple(_extent(source, scope, "result", extent) for extent in shape or ())))
    return tuple(found)


def _names_in(source: Source, entry: ast.expr) -> list[str]:
    """The names in an extent."""
    text = entry.value if isinstance(entry, ast.Constant) else None
    node = _parsed(source, entry, text) if isinstance(text, str) else entry
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _annotation(source: Source, param: ast.arg) -> tuple[DType | Size, Sequence[ast.expr] | None]:
    """The type, and for an array the entries of its shape."""
    hint = f'write {param.arg}: ps.f64["n"] for an array, ps.f64 for a number, ps.size for a size'
    if param.annotation is None:
        raise source.error(param, f"parameter '{param.arg}' has no annotation", hint)
    match param.annotation:
        case ast.Subscript(value=kind, slice=ast.Tuple(elts=entries)):
            shape: Sequence[ast.expr] | None = entries
        case ast.Subscript(value=kind, slice=entry):
            shape = (entry,)
        case kind:
            shape = None
    name = kind.attr if isinstance(kind, ast.Attribute) else kind.id if isinstance(kind, ast.Name) else ""
    if name == "size" and shape is None:
        return size, None
    if name not in DTYPES:
        message = f"the annotation of '{param.arg}' is not one of {', '.join(ALL)} and size"
        raise source.error(param.annotation, message, hint)
    return DTYPES[name], shape


def _extent(source: Source, scope: Scope, array: str, entry: ast.expr) -> Expr:
    """An extent over the sizes, given as an expression or as the text of one."""
    text = entry.value if isinstance(entry, ast.Constant) else None
    node = _parsed(source, entry, text) if isinstance(text, str) else entry
    for name in (n for n in ast.walk(node) if isinstance(n, ast.Name)):
        if name.id not in scope.sizes:
            message = f"the shape of '{array}' names '{name.id}', which is not a size parameter"
            raise source.error(name, message, f"declare the parameter {name.id}: ps.size")
    return Expressions(source, Scope(scope.sizes)).integer(node, "an extent")


def _parsed(source: Source, literal: ast.expr, text: str) -> ast.expr:
    """The expression in a string literal, with its places in the file."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        hint = 'write a size or an expression, as in "n + 1"'
        raise source.error(literal, f"'{text}' is not an extent", hint) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):  # past the quote
            node.lineno, node.col_offset = literal.lineno, literal.col_offset + 1 + node.col_offset
    return tree
