"""What a region may take for granted of its memory: which arrays are apart, and what stays as it is.

    double *restrict A, double *B       A is apart from B, which may be anywhere else
    k[i] = p->n                         p->n is read anew each time, as k may be where it is
    p[i].x, p[i].y                      apart, as they are members of one array of structures
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from clang.cindex import TLSKind, TypeKind

from polysched.frontend.c.declarations import is_restrict
from polysched.frontend.c.file.marked import Marked, is_named_outside
from polysched.frontend.c.file.names import Field, Key, Member, key, root
from polysched.frontend.c.memory.structures import pointers
from polysched.frontend.c.types import dtype_of
from polysched.frontend.c.variables import Variables, is_array, is_pointer
from polysched.ir.dtypes import DType
from polysched.ir.node import rewrite
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import Array, Expr, Function, Load, Stmt, Store, Var


def unaliased(arrays: Iterable[Array], variables: Variables, marked: Marked) -> frozenset[str]:
    """Arrays that overlap no other: restrict pointers of which no other pointer was made; and where no other pointer is
    around, all that is declared."""
    decls = {array.name: variables.decls[array.name] for array in arrays}
    roaming = any(_roams(name, variables) for name in decls)
    return frozenset(
        name
        for name, decl in decls.items()
        if name not in variables.rows
        and ((is_restrict(decl) and not is_named_outside(marked, key(root(decl))))
        or (not is_pointer(decl) and (not roaming or (not is_array(decl) and not variables.is_exposed(decl)))))
    )


def typed(arrays: tuple[Array, ...], variables: Variables) -> frozenset[frozenset[str]]:
    """Pairs that are apart by their types, of which nothing shows the extent of one."""
    pairs = (pair for pair in combinations(arrays, 2) if variables.differ(*pair))
    names = (frozenset((one.name, other.name)) for one, other in pairs)
    return frozenset(pair for pair in names if pair & variables.unbounded)


def interleaved(arrays: tuple[Array, ...], variables: Variables) -> tuple[frozenset[str], ...]:
    """Members of one array of structures: their elements are others."""
    found: dict[Key, set[str]] = {}
    for array in arrays:
        if isinstance(decl := variables.decls[array.name], Field):
            found.setdefault(key(decl.of), set()).add(array.name)
    return tuple(map(frozenset, found.values()))


def fixed(fn: Function, arrays: tuple[Array, ...], variables: Variables) -> Iterator[tuple[str, str]]:
    """Members that are read before all loops, pointers to them among these, and arrays that might store there."""
    stored = {node.array for node in walk_ir(fn.body) if isinstance(node, Store)}
    writers = [array for array in arrays if array.name in stored]
    needed: dict[str, DType | None] = {}
    roaming: dict[str, list[Array]] = {}  # what may store to a variable
    for name, decl in variables.decls.items():
        is_used = name in fn.params or name in variables.sizes
        decl = decl.of if isinstance(decl, Field) else decl
        if not isinstance(decl, Member):
            if name in variables.sizes and variables.is_exposed(decl) and not decl.type.is_const_qualified():
                needed[decl.spelling] = variables.types[name]
                roaming[decl.spelling] = [writer for writer in writers if _roams(writer.name, variables)]
            continue
        if not is_used:
            continue
        is_read = name in variables.sizes or decl.type.get_canonical().kind == TypeKind.POINTER
        for place in (*([decl] if is_read else []), *pointers(decl)):
            if variables.is_exposed(place):
                needed[place.spelling] = dtype_of(place.type)
    for text, dtype in needed.items():
        for writer in roaming.get(text, writers):
            if variables.may_alias(writer.dtype, dtype):
                yield text, writer.name


def named(arrays: Iterable[Array], variables: Variables) -> frozenset[str]:
    """Arrays and scalars whose names mean the same elements to all threads."""
    if variables.source.has_threadprivate:
        return frozenset()
    decls = ((array.name, variables.decls[array.name]) for array in arrays)
    decls = (each for each in decls if not isinstance(each[1], Field) and each[0] not in variables.rows)
    return frozenset(name for name, decl in decls if not is_pointer(decl) and decl.tls_kind == TLSKind.NONE)


def exposed_in_memory(
    body: tuple[Stmt, ...], arrays: dict[str, Array], variables: Variables
) -> tuple[tuple[Stmt, ...], dict[str, Array]]:
    """Scalars that a store through a pointer may change are read from memory, but for sizes."""
    stored = {node.array for node in walk_ir(body) if isinstance(node, Store)}
    pointers = [a for a in arrays.values() if a.name in stored and a.space == "global" and _roams(a.name, variables)]
    used = {node.name for node in walk_ir(body) if isinstance(node, Var)} | variables.sizes
    changing: dict[str, Array] = {}
    for name in sorted(used & set(variables.decls)):
        decl, dtype = variables.decls[name], variables.types[name]
        writer = next((pointer for pointer in pointers if variables.may_alias(pointer.dtype, dtype)), None)
        if isinstance(decl, Member) and name not in variables.sizes:
            others = (a for a in arrays.values() if a.name in stored)
            writer = next((other for other in others if variables.may_alias(other.dtype, dtype)), None)
        if writer is None or not variables.is_exposed(decl) or decl.type.is_const_qualified():
            continue
        if name in variables.sizes:
            continue  # which is tested, as `fixed` says
        changing[name] = Array(name, dtype, ())

    def rule(node: Expr | Stmt) -> Expr | None:
        return Load(node.name, (), node.dtype) if isinstance(node, Var) and node.name in changing else None

    return rewrite(body, rule), arrays | changing


def _roams(name: str, variables: Variables) -> bool:
    """Is it a pointer that may point into another array?"""
    decl = variables.decls[name]
    return name in variables.rows or (is_pointer(decl) and not is_restrict(decl))
