"""Elements of arrays: A[i][j], *p, *(p + i).

Extents that a declaration leaves open, and subscripts such as i * n + j, wait for all of the region (shapes.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clang.cindex import CursorKind

from polysched.errors import InputError
from polysched.frontend.c.arrays import Extent, declared
from polysched.frontend.c.file.clang import (
    Node,
    children,
    is_integer,
    key,
    operator,
    stripped,
    unary_operator,
    variable,
)
from polysched.frontend.c.numbers import Numbers
from polysched.frontend.c.types import greatest
from polysched.frontend.c.variables import is_array
from polysched.ir.dtypes import DType, i64
from polysched.ir.nodes import Array, Const, Expr, Var
from polysched.model.affine import NotAffine
from polysched.model.known import Where

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
