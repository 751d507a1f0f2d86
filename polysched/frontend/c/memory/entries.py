"""Arrays whose elements are parameters: small tables of sizes that bound the loops of a region, which only reads them.

    for (i = 1; i < grid_points[0] - 1; i++)        grid_points[0] is a size, as n would be
        for (j = 1; j < dims[k]; j++)               dims[k] is data: another one for each k
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clang.cindex import CursorKind

from polysched.frontend.c.file.clang import Node, children, operator, stripped, unary_operator, walk
from polysched.frontend.c.file.names import Entry, Key, entry_of, key


def arrays_of_entries(statements: Sequence[Node], called: Sequence[Node]) -> frozenset[Key]:
    """Those that a loop's head names an entry of, and that nothing names but for entries that are read."""
    nodes = (*statements, *called)
    every = list(_entries(nodes))
    wanted = {key(entry.of) for entry, _ in _entries(list(_heads(nodes)))}
    if not wanted:
        return frozenset()
    read = {base for entry, base in every}
    changed = {base_of(target) for node in nodes for part in walk(node) for target in _changed(part)}
    declared = {
        key(part)
        for node in nodes
        for part in walk(node)
        if part.kind == CursorKind.VAR_DECL or (part.kind == CursorKind.PARM_DECL and node in called)
    }
    for part in (part for node in nodes for part in walk(node) if part.kind == CursorKind.DECL_REF_EXPR):
        place = part.extent.start.offset
        if part.referenced is not None and (place not in read or place in changed):
            wanted.discard(key(part.referenced))
    return frozenset(wanted - declared)


def _heads(nodes: Sequence[Node]) -> Iterator[Node]:
    for part in (part for node in nodes for part in walk(node)):
        if part.kind == CursorKind.FOR_STMT:
            yield from children(part)[:-1]


def _entries(nodes: Sequence[Node]) -> Iterator[tuple[Entry, int]]:
    """The entries that are named, and where their arrays are."""
    for part in (part for node in nodes for part in walk(node)):
        if part.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR and (entry := entry_of(part)) is not None:
            yield entry, base_of(part)


def _changed(node: Node) -> Iterator[Node]:
    """What an assignment, a step or a pointer may change."""
    is_comparison = operator(node) in ("==", "!=", "<=", ">=")
    if (operator(node).endswith("=") and not is_comparison) or unary_operator(node)[-2:] in ("++", "--", "&"):
        yield children(node)[0]


def base_of(node: Node) -> int:
    """Where the name of the array of an element stands."""
    node = stripped(node)
    while node.kind in (CursorKind.ARRAY_SUBSCRIPT_EXPR, CursorKind.MEMBER_REF_EXPR) and children(node):
        node = stripped(children(node)[0])
    return int(node.extent.start.offset)
