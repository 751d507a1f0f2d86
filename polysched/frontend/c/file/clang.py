"""What libclang knows of C's syntax trees beyond its Python class: operators, constants, skipped text.

Operators and constants come from the tree, so they are right inside of macros too, where tokens are missing.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import TypeAlias

from clang import cindex
from clang.cindex import Cursor, CursorKind, TypeKind

from polysched.frontend.arithmetic import fits
from polysched.frontend.c.types import dtype_of
from polysched.ir.dtypes import f32, f64

Node: TypeAlias = Cursor


class _Ranges(ctypes.Structure):
    _fields_ = (("count", ctypes.c_uint), ("ranges", ctypes.POINTER(cindex.SourceRange)))


_LIBRARY = cindex.conf.lib
for _name, _arguments, _result in (
    ("clang_getCursorBinaryOperatorKind", [Cursor], ctypes.c_int),
    ("clang_getBinaryOperatorKindSpelling", [ctypes.c_int], cindex._CXString),
    ("clang_getCursorUnaryOperatorKind", [Cursor], ctypes.c_int),
    ("clang_Cursor_Evaluate", [Cursor], ctypes.c_void_p),
    ("clang_EvalResult_getKind", [ctypes.c_void_p], ctypes.c_int),
    ("clang_EvalResult_getAsLongLong", [ctypes.c_void_p], ctypes.c_longlong),
    ("clang_EvalResult_isUnsignedInt", [ctypes.c_void_p], ctypes.c_uint),
    ("clang_EvalResult_getAsUnsigned", [ctypes.c_void_p], ctypes.c_ulonglong),
    ("clang_EvalResult_getAsDouble", [ctypes.c_void_p], ctypes.c_double),
    ("clang_EvalResult_dispose", [ctypes.c_void_p], None),
    ("clang_Cursor_isMacroFunctionLike", [Cursor], ctypes.c_uint),
    ("clang_getSkippedRanges", [cindex.TranslationUnit, cindex.c_object_p], ctypes.POINTER(_Ranges)),
    ("clang_disposeSourceRangeList", [ctypes.POINTER(_Ranges)], None),
):
    _function = getattr(_LIBRARY, _name)
    _function.argtypes, _function.restype = _arguments, _result
_LIBRARY.clang_getBinaryOperatorKindSpelling.errcheck = cindex._CXString.from_result


# The binding raises ValueError where libclang gives a kind that it has no name for, as that of _Float16.
for _enumeration in (TypeKind, CursorKind):
    _known = getattr(_enumeration, "_kinds", [])  # later bindings have them all
    for _number in range(len(_known)):
        if _known[_number] is None:
            setattr(_enumeration, f"KIND_{_number}", _enumeration(_number))

# CXUnaryOperatorKind, from 1.
_UNARY = ("post++", "post--", "++", "--", "&", "*", "+", "-", "~", "!", "__real", "__imag", "__extension__")


def operator(node: Node) -> str:
    """The operator of a binary expression, also of an assignment: `+`, `<<=`, ...; "" if it is none."""
    if node.kind not in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
        return ""
    return str(_LIBRARY.clang_getBinaryOperatorKindSpelling(_LIBRARY.clang_getCursorBinaryOperatorKind(node)))


def unary_operator(node: Node) -> str:
    """The operator of a unary expression: `-`, `!`, `++`, `post++`, ...; "" if it is none."""
    if node.kind != CursorKind.UNARY_OPERATOR:
        return ""
    return _UNARY[_LIBRARY.clang_getCursorUnaryOperatorKind(node) - 1]


def constant(node: Node) -> int | float | None:
    """The value of an integer expression or of a floating literal that the compiler knows and C defines; else None."""
    if not is_integer(node) and node.kind != CursorKind.FLOATING_LITERAL:
        return None
    value = _evaluated(node)
    return None if value is None or any(_has_effect(part) or _is_undefined(part) for part in walk(node)) else value


def _has_effect(node: Node) -> bool:
    """Clang knows the value of `(i = 2, 3)` too."""
    assigns = operator(node)[-1:] == "=" and operator(node) not in ("==", "!=", "<=", ">=")
    steps = unary_operator(node)[-2:] in ("++", "--")
    return assigns or steps or node.kind in (CursorKind.CALL_EXPR, CursorKind.StmtExpr)


def _is_undefined(node: Node) -> bool:
    """Clang knows the value of 1 << 40 too, and gcc another one: such expressions are left to the compiler."""
    if operator(node) in ("<<", ">>"):
        count = _evaluated(children(node)[1])
        return count is not None and not 0 <= count < 8 * node.type.get_size()
    below, dtype = operands(node), dtype_of(node.type)
    if len(below) == 1 and dtype is not None and dtype.is_integer and dtype_of(below[0].type) in (f32, f64):
        value = _evaluated(below[0])
        return value is not None and not (math.isfinite(value) and fits(int(value), dtype))
    return False


def _evaluated(node: Node) -> int | float | None:
    result = _LIBRARY.clang_Cursor_Evaluate(node)
    if not result:
        return None
    try:
        match _LIBRARY.clang_EvalResult_getKind(result):
            case 1 if _LIBRARY.clang_EvalResult_isUnsignedInt(result):
                return int(_LIBRARY.clang_EvalResult_getAsUnsigned(result))
            case 1:
                return int(_LIBRARY.clang_EvalResult_getAsLongLong(result))
            case 2:
                return float(_LIBRARY.clang_EvalResult_getAsDouble(result))
        return None
    finally:
        _LIBRARY.clang_EvalResult_dispose(result)


def is_integer(node: Node) -> bool:
    """Has the expression an integer type? bool and enumerations are."""
    dtype = dtype_of(node.type)
    return dtype is not None and not dtype.is_float


def children(node: Node) -> list[Node]:
    """All children; RecursionError where there is no room to find them all."""
    _require_room(_FRAMES)
    return list(node.get_children())


_FRAMES = 20  # of the function that clang calls for each child: an exception in it is lost, and the child with it


def _require_room(frames: int) -> None:
    """Through `map`, since frames of C count apart from Python 3.12 on, and clang's calls are such."""
    if frames:
        list(map(_require_room, (frames - 1,)))


def operands(node: Node) -> list[Node]:
    """The expressions directly below, without names of types."""
    return [child for child in children(node) if child.kind != CursorKind.TYPE_REF]


def has_attributes(decl: Node) -> bool:
    """Has a variable some that may do more than say where it is?"""
    return any(child.kind.is_attribute() and child.kind != CursorKind.ALIGNED_ATTR for child in children(decl))


def initialiser(decl: Node) -> Node | None:
    """The value that the declaration of a variable gives it; the extents of an array come before it."""
    values = [child for child in children(decl) if child.kind.is_expression()]
    return values[-1] if values else None


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first; a sum of thousands is as deep, so that the walk does not recurse."""
    rest = [node]
    while rest:
        yield (node := rest.pop())
        rest += reversed(children(node))


def bare(node: Node) -> Node:
    """The expression without parentheses."""
    while node.kind == CursorKind.PAREN_EXPR:
        (node,) = children(node)
    return node


def stripped(node: Node) -> Node:
    """The expression without parentheses and implicit conversions."""
    while node.kind in (CursorKind.PAREN_EXPR, CursorKind.UNEXPOSED_EXPR):
        below = operands(node)
        if len(below) != 1:
            break
        (node,) = below
    return node


def takes_arguments(macro: Node) -> bool:
    """Does the definition of a macro have parameters?"""
    return bool(_LIBRARY.clang_Cursor_isMacroFunctionLike(macro))


def skipped(unit: cindex.TranslationUnit, path: str = "") -> list[tuple[int, int]]:
    """Offsets of the parts of a file, the main one if none is named, that the preprocessor leaves out."""
    ranges = _LIBRARY.clang_getSkippedRanges(unit, unit.get_file(path or unit.spelling))
    try:
        found = ranges.contents
        return [(found.ranges[k].start.offset, found.ranges[k].end.offset) for k in range(found.count)]
    finally:
        _LIBRARY.clang_disposeSourceRangeList(ranges)
