"""Elements of arrays: A[i][j], *p, *(p + i), and those of pointers that a region makes of them.

    float *row = A + i * n;        row[j]  is  A[i * n + j]
    double *last = B[n - 1];       last[j] is  B[n - 1][j]

Extents that a declaration leaves open, and subscripts such as i * n + j, wait for all of the region (shapes.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count, repeat

from clang.cindex import CursorKind, TypeKind

from polysched.errors import InputError
from polysched.frontend.c.declarations import Extent, declared
from polysched.frontend.c.file.clang import (
    Node,
    children,
    constant,
    is_integer,
    operands,
    operator,
    stripped,
    unary_operator,
)
from polysched.frontend.c.file.names import Decl, Field, Key, Member, field_of, key, variable
from polysched.frontend.c.numbers import Numbers
from polysched.frontend.c.opaque.state import Kept
from polysched.frontend.c.types import greatest
from polysched.frontend.c.variables import is_array
from polysched.ir.dtypes import DType, i64
from polysched.ir.nodes import Array, Binary, Const, Expr, Unary, Var
from polysched.model.affine import NotAffine
from polysched.model.known import Where

UNKNOWN = Var("?")  # an extent that the accesses will tell


@dataclass(frozen=True)
class Place:
    """A part of an array, with its first subscripts, `offset` elements further on."""

    array: Array
    index: tuple[Expr, ...]
    offset: Expr | None = None

    def at(self, subscript: Expr) -> Place:
        """With another subscript, in which the offset is."""
        return Place(self.array, (*self.index, subscript))

    def plus(self, expr: Expr) -> Expr:
        return expr if self.offset is None else Binary("+", self.offset, expr)

    def moved(self, amount: Expr) -> Place:
        return replace(self, offset=self.plus(amount))


@dataclass
class Elements(Numbers):
    """Reads elements, and collects the arrays of the region."""

    arrays: dict[str, Array] = field(default_factory=dict)
    products: dict[str, Node] = field(default_factory=dict)  # array of one dimension -> a subscript that is not affine
    pointers: dict[Key, Place] = field(default_factory=dict)  # of the region
    wraps: dict[str, int] = field(default_factory=dict)  # such an array -> the greatest number of its subscripts' type

    def element(self, node: Node) -> tuple[Array, tuple[Expr, ...]]:
        """The array and its subscripts, written A[i][j], *p or *(p + i)."""
        place = self.place(node)
        if len(place.index) != len(place.array.shape):
            array = place.array
            message = f"'{array.name}' has {len(array.shape)} dimensions and is given {len(place.index)} subscripts"
            raise self.source.error(node, message, "give one for each dimension")
        return place.array, place.index

    def place(self, node: Node) -> Place:
        """An element, or a part of an array with fewer subscripts than it has dimensions."""
        whole, subscripts, fields = node, list[Node | None](), list[Node]()
        while True:
            node = stripped(node)
            if is_of_element(node) and not subscripts and (field := field_of(node)) is not None:
                fields.insert(0, field)
                (node,) = operands(node)
            elif node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
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
        if fields:
            decl = Field(decl, tuple(fields))
        base = self.pointers[key(decl)] if key(decl) in self.pointers else Place(self.array(decl, node), ())
        if not base.array.shape and [self.is_zero(subscript) for subscript in subscripts] == [True]:
            return base  # *p of a variable's address
        for subscript in subscripts:
            base = base.at(base.plus(Const(0)) if subscript is None else self.subscript(base, subscript))
        return base.at(Const(0)) if fields else base

    def is_zero(self, subscript: Node | None) -> bool:
        return subscript is None or constant(subscript) == 0

    def point(self, decl: Node, value: Node) -> None:
        """Has a pointer of the region stand for the place that it is initialised with, as it does from then on."""
        dtype, (_, *extents) = declared(self.variables, decl)
        place = self.pointed(value)
        array, first = place.array, len(place.index)
        rest = array.shape[first + 1 :]
        are_same = len(extents) == len(rest) and all(map(self.is_extent, extents, count(first + 1), repeat(array)))
        is_whole = first == len(array.shape) and bool(array.shape or extents)
        if dtype != array.dtype or not are_same or is_whole:
            message = f"'{decl.spelling}' points to '{array.name}' as to another type"
            raise self.source.error(decl, message, "subscript the array that it points to")
        self.pointers[key(decl)] = place

    def pointed(self, node: Node) -> Place:
        """What a pointer points to: A + i, A[i], &A[i], or a pointer of the region."""
        node = stripped(node)
        if unary_operator(node) == "&":
            (inner,) = children(node)
            inner = stripped(inner)
            decl = variable(inner)
            if decl is not None and not isinstance(decl, Member) and not is_array(decl):
                return Place(self.scalar(decl, self.dtype(inner)), ())
            if inner.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
                pointer, offset = sorted(children(inner), key=is_integer)
                return self.moved(self.pointed(pointer), "+", offset)
        if operator(node) in ("+", "-"):
            left, right = children(node)
            pointer, offset = (right, left) if is_integer(left) else (left, right)
            if is_integer(offset):
                return self.moved(self.pointed(pointer), operator(node), offset)
        return self.place(node)

    def moved(self, place: Place, op: str, node: Node) -> Place:
        """The place that many elements further, which stays so: InputError for a number that comes from data."""
        expr = None if self.has_data(node) else self.ring(node)
        if expr is None:
            message = f"a pointer of the region starts where '{self.source.text(node)}' tells"
            raise self.source.error(node, message, "subscript the array that it points to")
        self.require_subscript(place.array, node, expr)
        return place.moved(Unary("-", expr) if op == "-" else expr)

    def array(self, decl: Decl, node: Node) -> Array:
        if key(decl.of if isinstance(decl, Field) else decl) in self.variables.written:
            hint = "subscript a pointer that stays where it is"
            raise self.source.error(node, f"the pointer '{decl.spelling}' changes in the region", hint)
        name = self.name_of(decl)
        if name not in self.arrays:
            dtype, extents = declared(self.variables, decl)
            before, self.where = self.where, Where()
            shape = tuple(
                self.apart(name, k) if isinstance(each, str) else self.extent(each) for k, each in enumerate(extents)
            )
            self.where = before
            space = "private" if key(decl) in self.variables.declared else "global"
            if name in self.variables.rows and space == "private":
                message = f"'{decl.spelling}' is an array of pointers that the region declares"
                raise self.source.error(node, message, "declare it before the region")
            self.arrays[name] = Array(name, dtype, shape, space)
            if isinstance(decl, Field):
                first = f"{decl.of.spelling}{'[0]' * (len(shape) - 1)}"
                self.proofs.assumptions.append(f"sizeof({first}) == {extents[-1]} * sizeof({first}.{decl.members})")
        return self.arrays[name]

    def apart(self, name: str, dimension: int) -> Expr:
        """How far rows of pointers are apart: a size, which is found when the kernel is called."""
        if self.opaque is not None:
            raise Kept(self.variables.decls[name])  # a statement that is kept may change the pointers
        size = self.variables.distance(name)
        self.variables.rows.setdefault(name, {})[dimension] = size
        return Var(size)

    def is_extent(self, extent: Extent, dimension: int, array: Array) -> bool:
        """Is it that of a dimension of the array? Pointers lead to rows of it where they do in the array itself."""
        is_apart = dimension in self.variables.rows.get(array.name, ())
        if isinstance(extent, str) or is_apart:
            return isinstance(extent, str) and is_apart
        return self.extent(extent) == array.shape[dimension]

    def extent(self, extent: Extent) -> Expr:
        match extent:
            case None:
                return UNKNOWN
            case int():
                return Const(extent)
            case str():
                raise AssertionError("it is the array that says how far rows are apart")
        return self.index(extent)

    def subscript(self, place: Place, node: Node) -> Expr:
        """The next subscript of a place."""
        array = place.array
        if self.has_data(node):
            return place.plus(self.index(node))
        expr = self.ring(node)
        if expr is None:
            raise self.not_affine(node, array)
        self.require_subscript(array, node, expr)
        expr = place.plus(expr)
        try:
            self.proofs.space(self.where, (expr,)).function(expr)
        except NotAffine:
            if len(array.shape) != 1:
                raise self.not_affine(node, array) from None
            self.products.setdefault(array.name, node)
        return expr

    def require_subscript(self, array: Array, node: Node, expr: Expr) -> None:
        """The number is what C computes; of products, if the array has no more elements than its type has numbers."""
        if not self.may_leave_type(node):
            return
        try:
            self.require_type(expr, node)
        except NotAffine:
            if len(array.shape) != 1:
                raise self.not_affine(node, array) from None
            limit = min(greatest(self.dtype(node)), greatest(i64))
            self.wraps[array.name] = min(limit, self.wraps.get(array.name, limit))

    def not_affine(self, node: Node, array: Array) -> InputError:
        message = f"subscript '{self.source.text(node)}' of '{array.name}' is not affine"
        return self.source.error(node, message, "use sums of loop variables and parameters, or load it from an array")

    def scalar(self, decl: Decl, dtype: DType) -> Array:
        """The array of rank 0 that holds a variable which the region writes."""
        name = self.name_of(decl)
        return self.arrays.setdefault(name, Array(name, dtype, ()))


def is_of_element(node: Node) -> bool:
    """Is it a member of a structure that is an element of an array, written A[i].x or (*p).x?"""
    while node.kind == CursorKind.MEMBER_REF_EXPR and variable(node) is None and len(operands(node)) == 1:
        node = stripped(operands(node)[0])
        if node.type.get_canonical().kind != TypeKind.RECORD:  # but a pointer to one
            return False
        if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR or unary_operator(node) == "*":
            return True
    return False


def _pointer_and_offset(node: Node) -> tuple[Node, Node | None]:
    """p and i of p + i; p and None of p."""
    node = stripped(node)
    if operator(node) != "+":
        return node, None
    pointer, offset = sorted(children(node), key=is_integer)
    return pointer, offset
