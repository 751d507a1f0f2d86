"""The variables that a region declares: what each becomes, and what sets it at first.

    int k = i + 1;              k is i + 1 from then on, so that A[k] stays affine
    double t = A[k];      ->    t = A[i + 1], a temporary
    double *row = &A[k];        row[j] is A[i + 1 + j]
    double w[8];                alloc w
"""

from __future__ import annotations

from typing import Protocol

from clang.cindex import CursorKind, StorageClass

from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import Node, children, has_attributes, initialiser, is_integer
from polysched.frontend.c.file.names import key
from polysched.frontend.c.file.source import Source
from polysched.frontend.c.types import dtype_of
from polysched.frontend.c.variables import Variables, is_array, is_pointer
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import Alloc, Stmt, Store, Var


class Reader(Protocol):
    """What reads the statements around."""

    read: Expressions
    source: Source
    variables: Variables

    def stepped(self, node: Node) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]: ...

    def hoisted(self, node: Node) -> tuple[Stmt, ...]: ...


def local(reader: Reader, decl: Node) -> tuple[Stmt, ...]:
    error, name = reader.source.error, decl.spelling
    if decl.kind != CursorKind.VAR_DECL:
        raise error(decl, "only variables can be declared in a region", "move the declaration before the region")
    if decl.storage_class in (StorageClass.STATIC, StorageClass.EXTERN):
        raise error(decl, f"'{name}' outlives the region", "declare it before the region")
    if has_attributes(decl):
        raise error(decl, f"'{name}' has attributes", "declare it without, or before the region")
    if is_array(decl):
        return _local_pointer(reader, decl) if is_pointer(decl) else (_local_array(reader, decl),)
    if decl.type.get_canonical().is_volatile_qualified() or dtype_of(decl.type) is None:
        raise error(decl, f"'{name}' has the type '{decl.type.spelling}'", "a nest has integers, float and double")
    if (value := initialiser(decl)) is None:
        return ()
    stepped, after = reader.stepped(value)
    before = (*stepped, *reader.hoisted(value))
    is_fixed = is_integer(value) and not stepped and not after and key(decl) not in reader.variables.written
    if is_fixed and (exact := reader.read.shown_or_none(value)) is not None:
        reader.variables.bindings[key(decl)] = exact
        return before
    array = reader.read.scalar(decl, reader.read.dtype(value))
    return (*before, Store(array.name, (), reader.read.value(value), reader.source.loc(decl)), *after)


def _local_pointer(reader: Reader, decl: Node) -> tuple[Stmt, ...]:
    """Nothing is done: the pointer is another name for what it points to."""
    if (value := initialiser(decl)) is None:
        hint = "declare it where it gets its value"
        raise reader.source.error(decl, f"the pointer '{decl.spelling}' is declared without a value", hint)
    if key(decl) in reader.variables.written:
        hint = "subscript a pointer that stays where it is"
        raise reader.source.error(decl, f"the pointer '{decl.spelling}' changes in the region", hint)
    reader.read.point(decl, value)
    return ()


def _local_array(reader: Reader, decl: Node) -> Stmt:
    array = reader.read.array(decl, decl)
    if any(part.kind == CursorKind.INIT_LIST_EXPR for part in children(decl)):
        raise reader.source.error(decl, f"'{decl.spelling}' has an initializer", "assign its elements in loops")
    names = {node.name for extent in array.shape for node in walk_ir(extent) if isinstance(node, Var)}
    if names & {loop.var for loop in reader.read.where.loops}:
        message = f"the extent of '{decl.spelling}' changes from iteration to iteration"
        raise reader.source.error(decl, message, "declare it with its largest extent")
    return Alloc(array, reader.source.loc(decl))
