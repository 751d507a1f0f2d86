"""Whether a variable's value may be read after a region, before it is assigned again.

    for (i = 0; ...) ...     the region          for (i = 0; i < n; i++)    i is assigned first
                                                 print(i);                  i may be read

Where the flow of control is not plain (goto, switch), any mention outside of the region counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clang.cindex import CursorKind

from polysched.frontend.c.file.clang import Key, Node, bare, children, key, mentions, operator, variable, walk

_Flow = tuple[Node | None, bool]  # where the value may be read, and whether it is surely assigned
_JUMPS = (CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT)
_TANGLED = (CursorKind.GOTO_STMT, CursorKind.INDIRECT_GOTO_STMT, CursorKind.LABEL_STMT, CursorKind.SWITCH_STMT)
_LOOPS = (CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT)


def read_after(path: Sequence[Node], statements: Sequence[Node], name: Key) -> Node | None:
    """The place that may read what the statements leave in the variable; None if there is none.

    `path` leads from the body of the function to the block that holds the statements.
    """
    inside = {node.hash for statement in statements for node in walk(statement)}
    if any(node.kind in _TANGLED for node in walk(path[0]) if node.hash not in inside):
        named = (node for node, decl in mentions(path[0]) if key(decl) == name)
        return next((node for node in named if node.hash not in inside), None)
    begin, end = statements[0].extent.start.offset, statements[-1].extent.end.offset
    for depth, node in reversed(list(enumerate(path))):
        read, written = None, False
        if node.kind == CursorKind.COMPOUND_STMT:
            read, written = _sequence((c for c in children(node) if c.extent.start.offset >= end), name)
        elif node.kind in _LOOPS:  # round again, and behind the loop
            read, written = _sequence(_between_iterations(node), name)
            written = written and not any(part.kind == CursorKind.BREAK_STMT for part in walk(node))
            if read is None and not written:
                again = [c for block in path[depth + 1 :] for c in children(block) if c.extent.end.offset <= begin]
                read, _ = _sequence(again, name)
        if read is not None or written:
            return read
    return None


def _between_iterations(loop: Node) -> list[Node]:
    parts = children(loop)
    if loop.kind == CursorKind.FOR_STMT:
        return [parts[2], parts[1]] if len(parts) == 4 else parts[:-1]
    return parts[1:] if loop.kind == CursorKind.DO_STMT else parts[:1]


def _sequence(nodes: Iterable[Node], name: Key) -> _Flow:
    jumped = False
    for node in nodes:
        read, written = _flow(node, name)
        if read is not None or written:
            return read, written and not jumped  # a jump leaves the old value to what follows the loop
        jumped = jumped or any(part.kind in _JUMPS for part in walk(node))
    return None, False


def _flow(node: Node, name: Key) -> _Flow:
    parts = children(node)
    match node.kind:
        case CursorKind.COMPOUND_STMT | CursorKind.DECL_STMT:
            return _sequence(parts, name)
        case CursorKind.VAR_DECL:
            return _sequence(parts, name)[0], key(node) == name
        case CursorKind.IF_STMT:
            read, _ = _flow(parts[0], name)
            branches = [_flow(part, name) for part in parts[1:]]
            read = next((r for r in (read, *(r for r, _ in branches)) if r is not None), None)
            return read, len(branches) == 2 and all(written for _, written in branches)
        case CursorKind.FOR_STMT if len(parts) == 4:
            start, condition, change, body = parts
            read, written = _sequence((start, condition), name)
            return (read, written) if read is not None or written else (_sequence((body, change), name)[0], False)
        case CursorKind.WHILE_STMT:
            return _sequence(parts, name)[0], False
        case CursorKind.DO_STMT:
            return _sequence(parts, name)
        case CursorKind.RETURN_STMT:
            return _sequence(parts, name)[0], True  # nothing follows
        case CursorKind.PAREN_EXPR:
            return _flow(bare(node), name)
    if operator(node) == ",":
        return _sequence(parts, name)
    if operator(node) == "=" and (target := variable(parts[0])) is not None and key(target) == name:
        return _mention(parts[1], name), True
    return _mention(node, name), False


def _mention(root: Node, name: Key) -> Node | None:
    return next((node for node, decl in mentions(root) if key(decl) == name), None)
