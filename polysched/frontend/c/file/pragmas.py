"""The regions of a C file: the lines between `#pragma scop` and `#pragma endscop`, and the statements in them.

    if (n > 5)              compilers that do not know the pragmas leave them out:
    #pragma scop            the loop, and what takes its place, is what the `if` guards
        for (...) ...
    #pragma endscop
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clang.cindex import CursorKind, TokenKind

from polysched.errors import InputError
from polysched.frontend.c.file.clang import Node, children, skipped
from polysched.frontend.c.file.source import Source, functions

_TWICE = {
    "scop": ("#pragma scop inside of another region", "put #pragma endscop at the end of the region before"),
    "endscop": ("#pragma endscop without a #pragma scop before it", "put #pragma scop before the loops"),
}


@dataclass(frozen=True)
class Marked:
    """The statements between two pragmas; offsets in bytes."""

    begin: int  # of the line after the first pragma
    end: int  # of the line of the second pragma
    indent: str  # white space before the first pragma
    function: Node  # in which it stands
    path: tuple[Node, ...]  # from the function's body down to the block of the statements
    statements: tuple[Node, ...]


@dataclass(frozen=True)
class Pragma:
    kind: str
    offset: int  # of its #
    line: int  # offset of its line
    after: int  # offset of the line after it


def pragma_pairs(source: Source) -> list[tuple[Pragma, Pragma]]:
    """In the order of the file; InputError if there is none, or for pragmas that do not pair."""
    pragmas = list(_pragmas(source))
    if not pragmas:
        hint = "put #pragma scop before the loops and #pragma endscop after them"
        raise InputError(f"{source.path} has no #pragma scop", None, hint)
    for k, pragma in enumerate(pragmas):
        if pragma.kind == (pragmas[k - 1].kind if k else "endscop"):
            message, hint = _TWICE[pragma.kind]
            raise InputError(message, source.at(pragma.offset), hint)
    if pragmas[-1].kind == "scop":
        hint = "put #pragma endscop after the loops"
        raise InputError("this #pragma scop has no #pragma endscop", source.at(pragmas[-1].offset), hint)
    return list(zip(pragmas[::2], pragmas[1::2], strict=True))


def _pragmas(source: Source) -> Iterator[Pragma]:
    """The pragmas of ours that the preprocessor sees: not those in comments, strings, or left out by #if."""
    out = skipped(source.unit)
    tokens = list(source.unit.get_tokens(extent=source.unit.cursor.extent))
    # Comments and strings need not be UTF-8, and libclang's binding reads no other spelling.
    words = ["" if token.kind in (TokenKind.COMMENT, TokenKind.LITERAL) else token.spelling for token in tokens]
    for k in range(len(tokens) - 2):
        if words[k : k + 2] != ["#", "pragma"] or words[k + 2] not in _TWICE:
            continue
        offset, last = tokens[k].extent.start.offset, tokens[k + 2].extent.end.offset
        line = source.data.rfind(b"\n", 0, offset) + 1
        if source.data[line:offset].strip() or any(begin <= offset < end for begin, end in out):
            continue
        for token in tokens[k + 3 :]:
            if token.extent.start.offset >= _next_line(source.data, last):
                break
            if token.kind != TokenKind.COMMENT:
                raise InputError(f"'{token.spelling}' after #pragma {words[k + 2]}",
                                 source.place(token.extent.start), "leave nothing else on that line")
            last = token.extent.end.offset
        yield Pragma(words[k + 2], offset, line, _next_line(source.data, last))


def _next_line(data: bytes, offset: int) -> int:
    found = data.find(b"\n", offset)
    return len(data) if found < 0 else found + 1


def marked_region(source: Source, pair: tuple[Pragma, Pragma]) -> Marked:
    """The region between two pragmas; InputError if it does not hold whole statements of one function."""
    first, last = pair

    def encloses(node: Node) -> bool:
        return node.extent.start.offset < first.offset and last.offset < node.extent.end.offset

    function = next((f for f in functions(source) if encloses(f)), None)
    if function is None:
        raise InputError("a region stands inside of one function", source.at(first.offset), "move the two pragmas")
    path: list[Node] = []
    below = [child for child in children(function) if child.kind == CursorKind.COMPOUND_STMT]
    while inner := next((child for child in below if encloses(child)), None):
        path.append(inner)
        below = children(inner)
    inside = _between(below, first, last)
    while len(inside) == 1 and inside[0].kind in _HEADED and inside[0].extent.start.offset < first.offset:
        path.append(inside[0])  # its statement has no braces: it ends with the region
        inside = _between(children(path[-1]), first, last)
    cut = [c for c in inside if c.extent.start.offset < first.offset or c.extent.end.offset > last.offset]
    if not path or not _are_statements(path[-1], inside) or cut or source.data[last.after :].lstrip()[:1] == b";":
        hint = "put the pragmas between statements of one block"
        raise InputError("this region does not hold whole statements", source.at(first.offset), hint)
    if not inside:
        hint = "put the pragmas around loops"
        raise InputError("this region holds no statement", source.at(first.offset), hint)
    indent = source.data[first.line : first.offset].decode()
    return Marked(first.after, last.line, indent, function, tuple(path), tuple(inside))


_HEADED = (CursorKind.IF_STMT, CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT)


def _between(nodes: list[Node], first: Pragma, last: Pragma) -> list[Node]:
    """Those of which a part stands between the pragmas."""
    return [c for c in nodes if c.extent.end.offset > first.offset and c.extent.start.offset < last.offset]


def _are_statements(parent: Node, nodes: list[Node]) -> bool:
    """Are they statements of a block, or the one of an if or a loop without braces?"""
    parts = children(parent)
    match parent.kind:
        case CursorKind.COMPOUND_STMT:
            return True
        case CursorKind.IF_STMT:
            return len(nodes) == 1 and nodes[0] in parts[1:]
        case CursorKind.DO_STMT:
            return nodes == parts[:1]
        case CursorKind.FOR_STMT | CursorKind.WHILE_STMT:
            return nodes == parts[-1:]
    return False
