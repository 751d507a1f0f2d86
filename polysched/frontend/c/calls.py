"""Calls in a region: functions of math.h, functions that are seen to be pure, and those that the user calls so.

    sqrtf(x)       Call("sqrt", x: f32)            abs(k)      max(k, -k)
    square(x + y)  where `return v * v;` is all    Call("f", ...) for a longer body that only computes
    of its body:   v * v with v = x + y            from its arguments, or for --pure f
"""

from __future__ import annotations

from itertools import islice

from clang.cindex import CursorKind, StorageClass, TypeKind

from polysched.errors import InputError
from polysched.frontend.arithmetic import FLOAT_FUNCTIONS
from polysched.frontend.c.file.clang import Node, children, constant, unary_operator, walk
from polysched.frontend.c.file.names import Key, key, variable
from polysched.frontend.c.numbers import Numbers
from polysched.frontend.c.types import dtype_of
from polysched.frontend.c.variables import is_pointer
from polysched.ir.dtypes import f32, f64
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import Binary, Call, Expr, Unary

# The functions of math.h that only compute, by the number of their arguments; with an f appended for float.
_MATH = {**FLOAT_FUNCTIONS, "round": 1, "fdim": 2}
del _MATH["lgamma"]  # which sets signgam
_ABSOLUTE = ("abs", "labs", "llabs")
_MOST_NODES = 500  # of what stands twice
_LARGE = 1000  # nodes of an inlined body
_DECLARATIONS = (CursorKind.VAR_DECL, CursorKind.PARM_DECL)


def called(reader: Numbers, node: Node) -> Expr:
    """The value of a call; InputError if the function may write memory, for all that is known."""
    if node.hash in reader.results:
        return reader.results[node.hash]
    function = node.referenced
    if function is None or function.kind != CursorKind.FUNCTION_DECL:
        raise reader.source.error(node, "a call through a pointer may write memory", "call a function by its name")
    name, passed = function.spelling.removeprefix("__builtin_"), children(node)[1:]
    body, dtype = body_of(function), dtype_of(node.type)
    if dtype is None:
        raise _unknown(reader, node, name)
    for argument in passed:
        if dtype_of(argument.type) is None:
            message = f"'{name}' is given '{reader.source.text(argument)}', no number"
            raise reader.source.error(argument, message, "a call in a region computes from numbers alone")
    if body is None and dtype in (f32, f64):
        base = name.removesuffix("f") if dtype == f32 else name
        if _MATH.get(base) == len(passed):
            return Call(base, tuple(reader.value(argument) for argument in passed), dtype)
    if body is None and name in _ABSOLUTE and len(passed) == 1:
        value = reader.value(passed[0])
        if not _is_short(value):
            message = f"the argument of '{name}' is too long, as it stands there twice"
            raise reader.source.error(node, message, "assign it to a variable first")
        return Binary("max", value, Unary("-", value))
    if name in reader.pure or _has_attribute(function):
        _require_own_name(reader, node, name, body)
        return Call(name, tuple(reader.value(argument) for argument in passed), dtype)
    if body is None or function.type.kind == TypeKind.FUNCTIONNOPROTO or function.type.is_function_variadic():
        raise _unknown(reader, node, name)
    values = [reader.value(argument) for argument in passed]
    if all(map(_is_short, values)) and (inlined := _inlined(reader, function, body, values)) is not None:
        return inlined
    _require_own_name(reader, node, name, body)
    if not only_computes(function, body, frozenset({key(function)})):
        raise _unknown(reader, node, name)
    return Call(name, tuple(values), dtype)


def _is_short(expr: Expr) -> bool:
    """May it be repeated? What is repeated in what is repeated doubles each time."""
    return len(list(islice(walk_ir(expr), _MOST_NODES))) < _MOST_NODES


def _require_own_name(reader: Numbers, node: Node, name: str, body: Node | None) -> None:
    if body is not None and _is_of_library(name):
        message = f"'{name}' is a function of the C library by name, and another one here"
        raise reader.source.error(node, message, "give it another name")


def _is_of_library(name: str) -> bool:
    return name in _ABSOLUTE or name in _MATH or name.removesuffix("f") in _MATH


def _unknown(reader: Numbers, node: Node, name: str) -> InputError:
    return reader.source.error(node, f"the call of '{name}' may write memory", f"declare it pure with --pure {name}")


def body_of(function: Node) -> Node | None:
    definition = function.get_definition()
    below = children(definition) if definition is not None and not _is_weak(definition) else []
    return next((child for child in below if child.kind == CursorKind.COMPOUND_STMT), None)


def _is_weak(definition: Node) -> bool:
    """May another definition take its place when the program is linked?"""
    attributes = (child for child in children(definition) if child.kind.is_attribute())
    return any(token.spelling in ("weak", "__weak__") for child in attributes for token in child.get_tokens())


def _has_attribute(function: Node) -> bool:
    """`__attribute__((const))` says that it reads no memory either."""
    return any(child.kind == CursorKind.CONST_ATTR for child in children(function))


def _inlined(reader: Numbers, function: Node, body: Node, values: list[Expr]) -> Expr | None:
    """The value of a function whose body is one `return`; None for any other, or where it grows too large."""
    statements = children(body)
    if len(statements) != 1 or statements[0].kind != CursorKind.RETURN_STMT:
        return None
    parameters = [key(c) for c in children(function.get_definition()) if c.kind == CursorKind.PARM_DECL]
    outside = dict(reader.arguments)
    if any(parameter in outside for parameter in parameters):  # it calls itself
        return None
    reader.arguments.update(zip(parameters, values, strict=True))
    try:
        (result,) = children(statements[0])
        value = reader.value(result)
    finally:
        reader.arguments.clear()
        reader.arguments.update(outside)
    return value if sum(1 for _ in walk_ir(value)) <= _LARGE else None


def only_computes(function: Node, body: Node, seen: frozenset[Key]) -> bool:
    """Does the function read its arguments alone, and write nothing but variables of its own?"""
    declared = (node for node in walk(function.get_definition()) if node.kind in _DECLARATIONS)
    own = {key(decl) for decl in declared if decl.storage_class not in (StorageClass.STATIC, StorageClass.EXTERN)}
    for node in walk(body):
        decl = variable(node) if node.kind == CursorKind.DECL_REF_EXPR else None
        is_own = decl is None or (key(decl) in own and not decl.type.get_canonical().is_volatile_qualified())
        if not is_own and constant(node) is None:
            return False
        if node.kind in (CursorKind.GOTO_STMT, CursorKind.INDIRECT_GOTO_STMT, CursorKind.ASM_STMT):
            return False
        if unary_operator(node) in ("*", "&") or (node.kind in _DECLARATIONS and is_pointer(node)):
            return False
        if node.kind == CursorKind.CALL_EXPR and not _is_pure_call(node, seen):
            return False
    return True


def _is_pure_call(node: Node, seen: frozenset[Key]) -> bool:
    function = node.referenced
    if function is None or function.kind != CursorKind.FUNCTION_DECL:
        return False
    if key(function) in seen:
        return True
    if (body := body_of(function)) is not None:
        return only_computes(function, body, seen | {key(function)})
    return _is_of_library(function.spelling.removeprefix("__builtin_")) or _has_attribute(function)
