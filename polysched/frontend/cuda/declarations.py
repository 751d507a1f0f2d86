"""What a CUDA file declares at file scope, by libclang, and which side can use it: kernels, the device, the host.

Clang recovers from what it does not know, such as a type of a header that is missing: a body with errors still ends
where it ends. What a declaration uses is told by its words, not by clang's references, which such errors hide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from clang.cindex import Cursor, CursorKind, TypeKind

from polysched.frontend.cuda.kernel import qualified
from polysched.frontend.cuda.parse import find, identifiers, tokens

Range = tuple[int, int]  # offsets in bytes, of one file
Bracket = tuple[str, int, int]  # a file, which may include what is between the brackets, and a range of it
Side = Literal["kernel", "device", "any", "host"]  # any: types, constants, aliases; the first counts of several


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """One, or several that share their text, as `int a, b;` does and what a macro makes."""

    file: str
    start: int
    end: int
    names: frozenset[str]
    uses: frozenset[str]
    side: Side
    around: tuple[Bracket, ...] = ()  # heads and tails of the namespaces and the `extern "C"` that it is in
    holes: tuple[Range, ...] = ()  # in it, methods of the host
    variables: tuple[Cursor, ...] = ()  # in the device's memory
    opens: str = ""  # the namespace that `using namespace` is about
    always: bool = False  # found without its name: operators, `using namespace`


def declarations(scope: Cursor, files: Mapping[str, bytes], around: tuple[Bracket, ...] = ()) -> list[Declaration]:
    """Those of `files`, in order of their text."""
    found: list[Declaration] = []
    for cursor in scope.get_children():
        start = cursor.extent.start
        if cursor.kind.is_preprocessing() or start.file is None or start.file.name not in files:
            continue
        text = files[start.file.name]
        if cursor.kind in _SCOPES:
            inner = declarations(cursor, files, (*around, *_brackets(cursor, text)))
        else:
            inner = [_declaration(cursor, text, around)]
        for it in inner:
            last = found[-1] if found else it
            if last is not it and last.file == it.file and it.start < last.end:
                it = _together(found.pop(), it)
            found.append(it)
    return found


def kernels(scope: Cursor) -> Iterator[Cursor]:
    """The kernels that are defined, in order of their text."""
    for cursor in scope.get_children():
        if cursor.kind in _SCOPES:
            yield from kernels(cursor)
        elif cursor.kind in _FUNCTIONS and cursor.is_definition() and _has(cursor, CursorKind.CUDAGLOBAL_ATTR):
            yield cursor


def _declaration(cursor: Cursor, text: bytes, around: tuple[Bracket, ...]) -> Declaration:
    start, end = cursor.extent.start.offset, cursor.extent.end.offset
    side = _side(cursor, text)
    return Declaration(
        file=cursor.extent.start.file.name,
        start=start,
        end=_past_semicolon(text, end),
        names=frozenset(_names(cursor)),
        uses=identifiers(text, start, end),
        side=side,
        around=around,
        holes=tuple(_host_methods(cursor, text)),
        variables=(cursor,) if _is_memory(cursor) else (),
        opens=_opened(cursor),
        always=cursor.kind == CursorKind.USING_DIRECTIVE
        or (side == "device" and re.fullmatch(r"operator\W.*", cursor.spelling) is not None),
    )


def _together(one: Declaration, two: Declaration) -> Declaration:
    return replace(
        one,
        start=min(one.start, two.start),
        end=max(one.end, two.end),
        names=one.names | two.names,
        uses=one.uses | two.uses,
        side=min(one.side, two.side, key=get_args(Side).index),
        holes=one.holes + two.holes,
        variables=one.variables + two.variables,
        always=one.always or two.always,
    )


_SCOPES = (CursorKind.NAMESPACE, CursorKind.LINKAGE_SPEC)
_FUNCTIONS = (CursorKind.FUNCTION_DECL, CursorKind.FUNCTION_TEMPLATE)
_METHODS = (
    CursorKind.CXX_METHOD,
    CursorKind.CONSTRUCTOR,
    CursorKind.DESTRUCTOR,
    CursorKind.CONVERSION_FUNCTION,
    CursorKind.FUNCTION_TEMPLATE,
)
_RECORDS = (
    CursorKind.STRUCT_DECL,
    CursorKind.CLASS_DECL,
    CursorKind.UNION_DECL,
    CursorKind.CLASS_TEMPLATE,
    CursorKind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION,
)
_OF_DEVICE = (CursorKind.CUDADEVICE_ATTR, CursorKind.CUDACONSTANT_ATTR, CursorKind.CUDASHARED_ATTR)


def _side(cursor: Cursor, text: bytes) -> Side:
    """nvcc lets a kernel use what is declared for the device, types, constants, and what is constexpr; a
    kernel that is defined elsewhere is for the host alone."""
    if _has(cursor, CursorKind.CUDAGLOBAL_ATTR):
        return "kernel" if cursor.get_definition() is not None else "host"
    if any(_has(cursor, kind) for kind in _OF_DEVICE):
        return "device"
    if cursor.kind in (*_FUNCTIONS, *_METHODS):
        return "device" if _is_constexpr(cursor, text) else "host"
    if cursor.kind == CursorKind.VAR_DECL:
        if cursor.type.spelling.startswith(("texture<", "surface<")):  # which kernels read without an attribute
            return "device"
        return "any" if _is_const(cursor) else "host"
    if cursor.kind == CursorKind.STATIC_ASSERT:
        return "host"
    return "any"


def _has(cursor: Cursor, attribute: CursorKind) -> bool:
    return any(child.kind == attribute for child in cursor.get_children())


def _is_constexpr(function: Cursor, text: bytes) -> bool:
    start, end = function.extent.start.offset, function.extent.end.offset
    body = find(text, b"{", start, end)
    return find(text, b"constexpr", start, body if body >= 0 else end) >= 0


def _is_const(variable: Cursor) -> bool:
    kind = variable.type.get_canonical()
    while kind.kind in (TypeKind.CONSTANTARRAY, TypeKind.INCOMPLETEARRAY):
        kind = kind.element_type
    return bool(kind.is_const_qualified())


def _opened(cursor: Cursor) -> str:
    if cursor.kind != CursorKind.USING_DIRECTIVE:
        return ""
    named = [child.referenced for child in cursor.get_children() if child.kind == CursorKind.NAMESPACE_REF]
    return qualified(named[-1]) if named and named[-1] is not None and named[-1].kind == CursorKind.NAMESPACE else ""


def _is_memory(cursor: Cursor) -> bool:
    """Is it a variable of the device that can be written?"""
    is_global = _has(cursor, CursorKind.CUDADEVICE_ATTR) or _has(cursor, CursorKind.CUDACONSTANT_ATTR)
    return cursor.kind == CursorKind.VAR_DECL and is_global and not _is_const(cursor)


def _names(cursor: Cursor) -> Iterator[str]:
    """What it can be used by: of a method its own name, of an enumeration those of its values too."""
    if found := re.match(r"(operator\s*[^\s\w]+)|~?(\w+)", cursor.spelling):
        yield found[1] or found[2]
    if cursor.kind == CursorKind.ENUM_DECL:
        yield from (child.spelling for child in cursor.get_children() if child.kind == CursorKind.ENUM_CONSTANT_DECL)


def _host_methods(cursor: Cursor, text: bytes) -> Iterator[Range]:
    """The methods with bodies that a class has for the host alone."""
    if cursor.kind not in _RECORDS:
        return
    for child in cursor.get_children():
        if child.kind in _METHODS and child.is_definition() and _side(child, text) == "host":
            start, end = child.extent.start.offset, child.extent.end.offset
            if find(text, b"{", start, end) >= 0 and not child.is_virtual_method():
                yield start, end
        else:
            yield from _host_methods(child, text)


def _brackets(scope: Cursor, text: bytes) -> tuple[Bracket, ...]:
    """`namespace a {` and `}`; `extern "C"` alone where it has no braces."""
    start, end, file = scope.extent.start.offset, scope.extent.end.offset, scope.extent.start.file.name
    children = (child for child in scope.get_children() if not child.kind.is_attribute())
    starts = (child.extent.start for child in children)
    inside = next((it.offset for it in starts if it.file is not None and it.file.name == file), end)
    brace = find(text, b"{", start, inside)
    return ((file, start, inside),) if brace < 0 else ((file, start, brace + 1), (file, end - 1, end))


def _past_semicolon(text: bytes, end: int) -> int:
    """The end of the declaration that clang lets end there: before its semicolon, a struct's before its attributes,
    and any before what has an error, such as an extent or the type of a parameter that is not known."""
    depth, opened, is_function = 0, False, False
    for kind, first, last in tokens(text[end : end + _FAR]):
        word = text[end + first : end + last]
        if kind == "line":
            continue
        if word == b";" and not depth:
            return end + last
        if not opened and word not in (b"(", b"[", b"=", b",", b"__align__", b"__attribute__"):
            break
        is_function = is_function or (not opened and word == b"(")
        opened = True
        depth += (word in (b"[", b"(", b"{")) - (word in (b"]", b")", b"}"))
        if is_function and word == b"}" and not depth:
            return end + last
    return end


_FAR = 20000  # bytes, in which a declaration with an error ends
