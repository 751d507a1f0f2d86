"""What a place of memory is called that stays where it is: a variable, or a member of a structure.

    A                       the variable A
    net->layer.output       a member: of what net->layer is, which is where net points to
    nodes[i].x              no name: another one for each i
    dims[0]                 an entry of an array that the region only reads, and only at such places

Members are to a region as variables are, but their structure has to be there, and others may point to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from clang.cindex import Cursor, CursorKind, SourceLocation, SourceRange, StorageClass, TLSKind, Type, TypeKind

from polysched.frontend.c.file.clang import (
    Node,
    children,
    constant,
    is_integer,
    operands,
    operator,
    stripped,
    unary_operator,
    walk,
)

Key = tuple[str, int]


@dataclass(frozen=True, eq=False)
class Member:
    """A member of a structure, which stands for its declaration as a variable."""

    of: Decl  # a variable or a member: the structure, or a pointer to it
    field: Node
    node: Node  # where it is named
    is_behind_pointer: bool

    @property
    def spelling(self) -> str:
        return f"{self.of.spelling}{'->' if self.is_behind_pointer else '.'}{self.field.spelling}"

    @property
    def type(self) -> Type:
        return self.field.type

    @property
    def variable(self) -> Node:
        """The variable that it is reached from."""
        return root(self.of)

    @property
    def pointers(self) -> Iterator[Decl]:
        """What points to the structures that it is in, the last one first."""
        if self.is_behind_pointer:
            yield self.of
        if isinstance(self.of, Member):
            yield from self.of.pointers

    # --- as libclang has it of a declaration

    kind, storage_class, tls_kind = CursorKind.FIELD_DECL, StorageClass.NONE, TLSKind.NONE

    @property
    def location(self) -> SourceLocation:
        return self.variable.location

    @property
    def extent(self) -> SourceRange:
        return self.node.extent

    @cached_property
    def hash(self) -> int:
        return hash((key(self.of), self.field.hash, self.is_behind_pointer))

    @property
    def canonical(self) -> Member:
        return self

    def get_children(self) -> Iterator[Node]:
        """Extents are numbers, which its type has."""
        return iter(())


@dataclass(frozen=True, eq=False)
class Entry(Member):
    """An element at constant subscripts, as a member of its array; `field` is where it is named, too."""

    subscripts: tuple[int, ...]

    @property
    def spelling(self) -> str:
        return f"{self.of.spelling}{''.join(f'[{k}]' for k in self.subscripts)}"

    @cached_property
    def hash(self) -> int:
        return hash((key(self.of), self.subscripts))


@dataclass(frozen=True, eq=False)
class Field:
    """A member of every structure of an array, which stands for the declaration of an array of its own."""

    of: Decl  # the array of structures
    path: tuple[Node, ...]  # of members, the outermost first

    @property
    def spelling(self) -> str:
        return f"{self.of.spelling}[].{self.members}"

    @property
    def members(self) -> str:
        return ".".join(field.spelling for field in self.path)

    @property
    def type(self) -> Type:
        return self.path[-1].type

    kind, storage_class, tls_kind = CursorKind.FIELD_DECL, StorageClass.NONE, TLSKind.NONE

    @property
    def location(self) -> SourceLocation:
        return root(self.of).location

    @property
    def extent(self) -> SourceRange:
        return self.of.extent

    @cached_property
    def hash(self) -> int:
        return hash((key(self.of), *(field.hash for field in self.path)))

    @property
    def canonical(self) -> Field:
        return self


Decl: TypeAlias = Cursor | Member | Field
_OF_ENTRIES: ContextVar[Set[Key]] = ContextVar("of_entries", default=frozenset())
_COPIES: ContextVar[Mapping[Key, Decl]] = ContextVar("copies", default=MappingProxyType({}))


def variable(node: Node) -> Decl | None:
    """What the expression names: a variable, a parameter, or a member that stays in place; None for anything else."""
    node = stripped(node)
    if node.kind == CursorKind.MEMBER_REF_EXPR:
        return _member(node)
    if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR and (of_entries := _OF_ENTRIES.get()):
        entry = entry_of(node)
        return entry if entry is not None and key(entry.of) in of_entries else None
    if node.kind != CursorKind.DECL_REF_EXPR:
        return None
    decl = node.referenced
    if decl is None or decl.kind not in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
        return None
    return _COPIES.get().get(key(decl), decl)


@contextmanager
def copied(copies: Mapping[Key, Decl]) -> Iterator[None]:
    """Structures that stay as they are stand for the parameters that are copies of them."""
    before = _COPIES.set({**_COPIES.get(), **copies})
    try:
        yield
    finally:
        _COPIES.reset(before)


@contextmanager
def named_entries(arrays: Set[Key]) -> Iterator[None]:
    """Elements of these arrays at constant subscripts have names."""
    before = _OF_ENTRIES.set(arrays)
    try:
        yield
    finally:
        _OF_ENTRIES.reset(before)


def entry_of(node: Node) -> Entry | None:
    """What the expression is of an array of integers, if all its subscripts are constants that are not negative."""
    whole, subscripts = stripped(node), list[int]()
    node = whole
    while node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
        pointer, subscript = sorted(children(node), key=is_integer)
        number = constant(subscript)
        if number is None or number < 0:
            return None
        subscripts.insert(0, int(number))
        node = stripped(pointer)
    if node.kind != CursorKind.DECL_REF_EXPR or not subscripts or not is_integer(whole):
        return None
    decl = node.referenced
    is_variable = decl is not None and decl.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL)
    if not is_variable or "volatile" in decl.type.get_canonical().spelling or "*" in _behind_first(decl.type):
        return None
    is_array = decl.kind == CursorKind.VAR_DECL and decl.type.get_canonical().kind != TypeKind.POINTER
    return Entry(decl, whole, whole, not is_array, tuple(subscripts))


def _behind_first(kind: Type) -> str:
    """What the array holds, without the first pointer: rows of pointers are reached by several."""
    text = kind.get_canonical().spelling
    return text.replace("*", "", 1) if "[" not in text else text


def _member(node: Node) -> Member | None:
    """None for a member of an element, and for those that `field_of` leaves out."""
    below = operands(node)
    if len(below) != 1 or (field := field_of(node)) is None:
        return None
    inner = stripped(below[0])
    is_behind_pointer = inner.type.get_canonical().kind != TypeKind.RECORD  # an array is a pointer here
    if unary_operator(inner) == "*" and not is_behind_pointer:  # (*p).x
        (inner,), is_behind_pointer = operands(inner), True
    of = variable(inner)
    return Member(of, field, node, is_behind_pointer) if of is not None else None


def field_of(node: Node) -> Node | None:
    """The declaration of the member that is named; None if it is of a union, of bits, not aligned or volatile."""
    field = node.referenced
    if field is None or not field.spelling.isidentifier() or field.is_bitfield():  # clang spells what has no name, too
        return None
    structure = field.semantic_parent
    if structure.kind != CursorKind.STRUCT_DECL or not _is_aligned(structure, field):
        return None
    kinds = (node.type, *(below.type for below in operands(node)))
    return None if any("volatile" in kind.get_canonical().spelling for kind in kinds) else field


def _is_aligned(structure: Node, field: Node) -> bool:
    """Are elements where their type may be, as they are not in a structure that is packed?"""
    align = field.type.get_align()
    return bool(align > 0 and structure.type.get_align() % align == 0 and field.get_field_offsetof() % (8 * align) == 0)


def root(decl: Decl) -> Node:
    """The variable, or that which a member is reached from."""
    return root(decl.of) if isinstance(decl, Member | Field) else decl


def set_by(node: Node) -> Decl | None:
    """The variable that an assignment, ++ or -- sets; None if it is no such expression, or sets an element."""
    op, unary = operator(node), unary_operator(node)
    sets = op == "=" or (op.endswith("=") and op not in ("==", "!=", "<=", ">=")) or unary[-2:] in ("++", "--")
    return variable(children(node)[0]) if sets else None


def parts(node: Node) -> Iterator[Node]:
    """The node and all below it, but not what a named member is a member of."""
    rest = [node]
    while rest:
        yield (node := rest.pop())
        if not isinstance(variable(node), Member):
            rest += reversed(children(node))


def mentions(*roots: Node) -> Iterator[tuple[Node, Node]]:
    """Where variables are named in these expressions and statements, and their declarations."""
    for node in (node for root in roots for node in walk(root)):
        if node.kind == CursorKind.DECL_REF_EXPR and (decl := variable(node)) is not None:
            yield node, decl


def key(decl: Decl) -> Key:
    """The same for all declarations of one variable, and for no other."""
    return decl.spelling, decl.canonical.hash
