"""Where pointers of a static function come from: the arrays that its calls give it.

    static double a[9], b[9];
    static void f(double *x, double *y) { ... }         x is in a, or in b; y is in b: x and y may overlap
    f(a, b); f(b + 1, b);

A pointer stays in the array that it was made from, so arrays of other origins are apart, however far each reaches.
"""

from __future__ import annotations

from clang.cindex import CursorKind, LinkageKind, TypeKind

from polysched.frontend.c.file.clang import (
    Node,
    children,
    is_integer,
    operands,
    operator,
    stripped,
    unary_operator,
    walk,
)
from polysched.frontend.c.file.names import Decl, Field, Key, Member, key, set_by, variable
from polysched.frontend.c.file.source import Source

_DEEPEST = 8  # calls of static functions by static functions


def are_apart(source: Source, one: Decl, other: Decl) -> bool:
    """Do the two lead to different arrays wherever their function is called from?"""
    origins = [_origins(source, decl, _DEEPEST) for decl in (one, other)]
    return None not in origins and not set.intersection(*map(set, filter(None, origins)))


def _origins(source: Source, decl: Decl, depth: int) -> frozenset[Key] | None:
    """The declared arrays that it may be a part of; None where these are not known."""
    if isinstance(decl, Member | Field):
        return None
    kind = decl.type.get_canonical().kind
    if decl.kind == CursorKind.VAR_DECL:
        return frozenset({key(decl)}) if kind in (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY) else None
    function = decl.semantic_parent
    if decl.kind != CursorKind.PARM_DECL or not depth or function.linkage != LinkageKind.INTERNAL:
        return None
    definition = function.get_definition()
    calls = source.calls.get(function.canonical.hash)
    is_known = definition is not None and source.is_here(definition) and not source.has_aliases
    if not is_known or not calls or _changes(definition, decl):
        return None
    number = [child.hash for child in children(function) if child.kind == CursorKind.PARM_DECL].index(decl.hash)
    found: set[Key] = set()
    for call in calls:
        arguments = children(call)[1:]
        base = _base(arguments[number]) if number < len(arguments) else None
        origins = _origins(source, base, depth - 1) if base is not None else None
        if origins is None:
            return None
        found |= origins
    return frozenset(found)


def _changes(function: Node, parameter: Node) -> bool:
    """Is the pointer set, or its address taken?"""
    for node in walk(function):
        taken = variable(children(node)[0]) if unary_operator(node) == "&" else set_by(node)
        if taken is not None and not isinstance(taken, Member | Field) and key(taken) == key(parameter):
            return True
    return False


def _base(node: Node) -> Decl | None:
    """The array that a pointer is made from: a of a, a + 1, &a[i], and a[i] that is a row of the array."""
    node = stripped(node)
    if unary_operator(node) == "&":
        inner = stripped(children(node)[0])
        return _base_of_element(inner) if inner.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR else None
    if operator(node) in ("+", "-"):
        pointers = [part for part in children(node) if not is_integer(part)]
        return _base(pointers[0]) if len(pointers) == 1 else None
    if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
        return _base_of_element(node) if node.type.get_canonical().kind == TypeKind.CONSTANTARRAY else None
    return variable(node)


def _base_of_element(node: Node) -> Decl | None:
    """Through subscripts of an array's own rows, none of which is a pointer that was loaded."""
    pointer = next(part for part in operands(node) if not is_integer(part))
    inner = stripped(pointer)
    if inner.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
        is_row = inner.type.get_canonical().kind == TypeKind.CONSTANTARRAY
        return _base_of_element(inner) if is_row else None
    return variable(inner) if inner.kind == CursorKind.DECL_REF_EXPR else None
