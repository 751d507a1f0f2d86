"""Arrays and pointers as C declares them.

    double A[n][m]       f64, extents (n, m)          double (*A)[m]         f64, extents (?, m)
    static float B[100]  f32, extents (100,)          double *restrict p     f64, extents (?,), overlaps nothing
    double **R           f64, extents (?, apart)      rows that pointers lead to, each as far from the last (rows.py)
"""

from __future__ import annotations

import re

from clang.cindex import CursorKind, Type, TypeKind

from polysched.frontend.c.file.clang import Node, children, constant, walk
from polysched.frontend.c.file.names import Decl, Field, Member, key, mentions
from polysched.frontend.c.types import dtype_of
from polysched.frontend.c.variables import Variables, is_pointer
from polysched.ir.dtypes import DType
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import Var

_LAYERS = (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY, TypeKind.INCOMPLETEARRAY)
_NAMES = (TypeKind.TYPEDEF, TypeKind.ELABORATED)


APART = "apart"  # the extent of what a row of pointers leads to: how far one row is from the next
Extent = Node | int | str | None  # an expression, a number, APART, or None if it is not said


def declared(variables: Variables, decl: Decl) -> tuple[DType, list[Extent]]:
    """The elements and the extents that a declaration says; InputError for an array that a nest cannot have."""
    error = variables.source.error
    field, decl = (decl, decl.of) if isinstance(decl, Field) else (None, decl)
    kind, layers, is_named = decl.type, list[Type](), False
    while True:
        if kind.kind in _NAMES:
            kind, is_named = kind.get_canonical(), True
        elif kind.kind in _LAYERS or (kind.kind == TypeKind.POINTER and (field is None or not layers)):
            if kind.kind == TypeKind.VARIABLEARRAY and is_named:
                hint = "write the extents where the array is declared"
                raise error(decl, f"the extents of '{decl.spelling}' stand in a typedef", hint)
            if layers and kind.kind == TypeKind.POINTER and kind.is_volatile_qualified():
                break
            layers.append(kind)
            kind = kind.get_pointee() if kind.kind == TypeKind.POINTER else kind.element_type
        else:
            break
    if field is not None and kind.get_canonical().kind != TypeKind.POINTER:
        return _of_structures(variables, field, kind, _extents(variables, decl, layers))
    dtype = dtype_of(kind) if field is None else None
    if dtype is None or kind.get_canonical().is_volatile_qualified():
        if kind.get_canonical().kind == TypeKind.POINTER:
            message = f"the elements of '{decl.spelling}' are pointers, and its rows may lie anywhere"
            raise error(decl, message, f"declare it as one array, as in double {decl.spelling}[n][m]")
        hint = "a nest has arrays of integers, float and double"
        raise error(decl, f"'{decl.spelling}' has elements of the type '{kind.spelling}'", hint)
    return dtype, _extents(variables, decl, layers)


def _of_structures(
    variables: Variables, field: Field, kind: Type, extents: list[Extent]
) -> tuple[DType, list[Extent]]:
    """With a last dimension for the rest of the structure, of which the member has the first place."""
    dtype, size, least = dtype_of(field.type), kind.get_size(), field.type.get_size()
    is_other = kind.get_canonical().get_declaration().canonical != field.path[0].semantic_parent.canonical
    if dtype is None or is_other or kind.get_canonical().is_volatile_qualified() or least <= 0 or size % least:
        message = f"the elements of '{field.of.spelling}' are structures, and their '{field.members}' is no number"
        raise variables.source.error(field.of, message, "a nest has arrays of integers, float and double")
    return dtype, [*extents, size // least]


def _extents(variables: Variables, decl: Decl, layers: list[Type]) -> list[Extent]:
    """Outermost first. The expressions below a declaration are those of its arrays, the innermost one first."""
    written = [c for c in children(decl) if c.kind.is_expression()]
    sized = sum(1 for layer in layers if layer.kind in (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY))
    outermost_first = iter(reversed(written[:sized]))
    found: list[Extent] = []
    for k, layer in enumerate(layers):
        extent: Extent = APART if k and layer.kind == TypeKind.POINTER else None
        if layer.kind == TypeKind.CONSTANTARRAY:
            next(outermost_first, None)
            extent = layer.element_count
        elif layer.kind == TypeKind.VARIABLEARRAY:
            given = next(outermost_first)
            changing = _changing(variables, given)
            if changing is not None and (found or not is_pointer(decl)):
                message = f"'{changing}' is an extent of '{decl.spelling}', and may change after the declaration"
                hint = f"declare '{decl.spelling}' with a variable of the function that is never assigned"
                raise variables.source.error(given, message, hint)
            extent = given if changing is None else None
        found.append(extent)
    return found


def _changing(variables: Variables, extent: Node) -> str | None:
    """A variable of the extent that may have another value than when the array was declared."""
    if any(part.kind == CursorKind.MEMBER_REF_EXPR for part in walk(extent)) and constant(extent) is None:
        return variables.source.text(extent)
    for node, decl in mentions(extent):
        changes = key(decl) in variables.assigned | variables.exposed or _is_of_loop(variables, decl)
        if changes and constant(node) is None:
            return str(decl.spelling)
    return None


def _is_of_loop(variables: Variables, name: Node) -> bool:
    """Is it a variable of the region whose value is not one of the sizes alone?"""
    bound = variables.bindings.get(key(name))
    used = {node.name for node in walk_ir(bound) if isinstance(node, Var)} if bound is not None else None
    return key(name) in variables.declared and (used is None or not used <= variables.sizes)


def is_restrict(decl: Decl) -> bool:
    if isinstance(decl, Member | Field):  # others may be of the same structure
        return False
    # The adjusted type of `double A[restrict n][m]` has lost the qualifier; how it was written has not.
    written = re.search(r"\[[^\]]*\brestrict\b", decl.type.spelling.partition("]")[0])
    return written is not None or _pointer_type(decl).is_restrict_qualified()


def _pointer_type(decl: Node) -> Type:
    """The type after C's adjustment of array parameters to pointers."""
    if decl.kind == CursorKind.PARM_DECL:
        parameters = [c for c in children(decl.semantic_parent) if c.kind == CursorKind.PARM_DECL]
        position = [key(parameter) for parameter in parameters].index(key(decl))
        return list(decl.semantic_parent.type.argument_types())[position]
    return decl.type
