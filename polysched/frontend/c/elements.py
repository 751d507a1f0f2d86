"""Arrays and pointers as C declares them, and their elements: A[i][j], *p, *(p + i).

    double A[n][m]       f64, extents (n, m)          double (*A)[m]         f64, extents (?, m)
    static float B[100]  f32, extents (100,)          double *restrict p     f64, extents (?,), overlaps nothing

Extents that a declaration leaves open, and subscripts such as i * n + j, wait for all of the region (shapes.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from clang.cindex import CursorKind, Type, TypeKind

from polysched.errors import InputError
from polysched.frontend.c.file.clang import (
    Node,
    children,
    constant,
    is_integer,
    key,
    mentions,
    operator,
    stripped,
    unary_operator,
    variable,
)
from polysched.frontend.c.numbers import Numbers
from polysched.frontend.c.types import dtype_of, greatest
from polysched.frontend.c.variables import Variables, is_array, is_pointer
from polysched.ir.dtypes import DType, i64
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import Array, Const, Expr, Var
from polysched.model.affine import NotAffine
from polysched.model.known import Where

_LAYERS = (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY, TypeKind.INCOMPLETEARRAY)
_NAMES = (TypeKind.TYPEDEF, TypeKind.ELABORATED)


Extent = Node | int | None  # an expression, a number, or None if it is not said


def declared(variables: Variables, decl: Node) -> tuple[DType, list[Extent]]:
    """The elements and the extents that a declaration says; InputError for an array that a nest cannot have."""
    error = variables.source.error
    kind, layers, is_named = decl.type, list[Type](), False
    while True:
        if kind.kind in _NAMES:
            kind, is_named = kind.get_canonical(), True
        elif kind.kind in _LAYERS or (kind.kind == TypeKind.POINTER and not layers):
            if kind.kind == TypeKind.VARIABLEARRAY and is_named:
                hint = "write the extents where the array is declared"
                raise error(decl, f"the extents of '{decl.spelling}' stand in a typedef", hint)
            layers.append(kind)
            kind = kind.get_pointee() if kind.kind == TypeKind.POINTER else kind.element_type
        else:
            break
    dtype = dtype_of(kind)
    if dtype is None or kind.get_canonical().is_volatile_qualified():
        if kind.get_canonical().kind == TypeKind.POINTER:
            message = f"the elements of '{decl.spelling}' are pointers, and its rows may lie anywhere"
            raise error(decl, message, f"declare it as one array, as in double {decl.spelling}[n][m]")
        hint = "a nest has arrays of integers, float and double"
        raise error(decl, f"'{decl.spelling}' has elements of the type '{kind.spelling}'", hint)
    return dtype, _extents(variables, decl, layers)


def _extents(variables: Variables, decl: Node, layers: list[Type]) -> list[Extent]:
    """Outermost first. The expressions below a declaration are those of its arrays, the innermost one first."""
    written = [c for c in children(decl) if c.kind.is_expression()]
    sized = sum(1 for layer in layers if layer.kind in (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY))
    outermost_first = iter(reversed(written[:sized]))
    found: list[Extent] = []
    for layer in layers:
        extent: Extent = None
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


def is_restrict(decl: Node) -> bool:
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


UNKNOWN = Var("?")  # an extent that the accesses will tell


@dataclass
class Elements(Numbers):
    """Reads elements, and collects the arrays of the region."""

    arrays: dict[str, Array] = field(default_factory=dict)
    products: dict[str, Node] = field(default_factory=dict)  # array of one dimension -> a subscript that is not affine
    wraps: dict[str, int] = field(default_factory=dict)  # such an array -> the greatest number of its subscripts' type

    def element(self, node: Node) -> tuple[Array, tuple[Expr, ...]]:
        """The array and its subscripts, written A[i][j], *p or *(p + i)."""
        whole, subscripts = node, list[Node | None]()
        while True:
            node = stripped(node)
            if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
                node, subscript = sorted(children(node), key=is_integer)
                subscripts.insert(0, subscript)
            elif unary_operator(node) == "*":
                node, subscript_or_none = _pointer_and_offset(children(node)[0])
                subscripts.insert(0, subscript_or_none)
            else:
                break
        decl = variable(node)
        if unary_operator(node) == "&":
            raise self.source.error(node, "an address is taken", "subscript the array instead")
        if decl is None or not is_array(decl):
            message = f"'{self.source.text(whole)}' is no element of an array"
            raise self.source.error(whole, message, "write a declared array or pointer and its subscripts")
        array = self.array(decl, node)
        if len(subscripts) != len(array.shape):
            message = f"'{array.name}' has {len(array.shape)} dimensions and is given {len(subscripts)} subscripts"
            raise self.source.error(whole, message, "give one for each dimension")
        return array, tuple(Const(0) if part is None else self.subscript(array, part) for part in subscripts)

    def array(self, decl: Node, node: Node) -> Array:
        if key(decl) in self.variables.written:
            hint = "subscript a pointer that stays where it is"
            raise self.source.error(node, f"the pointer '{decl.spelling}' changes in the region", hint)
        name = self.variables.name(decl)
        if name not in self.arrays:
            dtype, extents = declared(self.variables, decl)
            before, self.where = self.where, Where()
            shape = tuple(map(self.extent, extents))
            self.where = before
            space = "private" if key(decl) in self.variables.declared else "global"
            self.arrays[name] = Array(name, dtype, shape, space)
        return self.arrays[name]

    def extent(self, extent: Extent) -> Expr:
        match extent:
            case None:
                return UNKNOWN
            case int():
                return Const(extent)
        return self.index(extent)

    def subscript(self, array: Array, node: Node) -> Expr:
        if self.has_data(node):
            return self.index(node)
        expr = self.ring(node)
        if expr is None:
            raise self.not_affine(node, array)
        try:
            if self.may_leave_type(node):
                self.require_type(expr, node)
            self.proofs.space(self.where, (expr,)).function(expr)
        except NotAffine:
            if len(array.shape) != 1:
                raise self.not_affine(node, array) from None
            self.products.setdefault(array.name, node)
            if self.may_leave_type(node):
                limit = min(greatest(self.dtype(node)), greatest(i64))
                self.wraps[array.name] = min(limit, self.wraps.get(array.name, limit))
        return expr

    def not_affine(self, node: Node, array: Array) -> InputError:
        message = f"subscript '{self.source.text(node)}' of '{array.name}' is not affine"
        return self.source.error(node, message, "use sums of loop variables and parameters, or load it from an array")

    def scalar(self, decl: Node, dtype: DType) -> Array:
        """The array of rank 0 that holds a variable which the region writes."""
        name = self.variables.name(decl)
        return self.arrays.setdefault(name, Array(name, dtype, ()))


def _pointer_and_offset(node: Node) -> tuple[Node, Node | None]:
    """p and i of p + i; p and None of p."""
    node = stripped(node)
    if operator(node) != "+":
        return node, None
    pointer, offset = sorted(children(node), key=is_integer)
    return pointer, offset
