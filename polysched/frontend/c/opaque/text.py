"""The text of a statement as a macro may hold it, or nothing where it would mean something else there.

    step(net,  /* the next one */       ->      step(net, x[i])
         x[i]);

A macro may not take half of what another macro stands for, jump out of itself, have labels and static variables, of
which there is one for each text, or make a compound literal, which would end with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from clang.cindex import CursorKind, SourceLocation, SourceRange, StorageClass, Token, TokenKind

from polysched.frontend.c.file.clang import Node, walk
from polysched.frontend.c.file.source import Source
from polysched.frontend.c.flow.exits import jumps

_OUT = (
    *(CursorKind.RETURN_STMT, CursorKind.GOTO_STMT, CursorKind.INDIRECT_GOTO_STMT, CursorKind.LABEL_STMT),
    *(CursorKind.ADDR_LABEL_EXPR, CursorKind.ASM_STMT, CursorKind.MS_ASM_STMT, CursorKind.COMPOUND_LITERAL_EXPR),
)
_CASES = (CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT)
_IN_PLACE = {"vfork", "getcontext", "__builtin_va_start", "__builtin_va_arg"}
_SPECIAL = ("setjmp", "alloca")  # in the names of functions that return twice, or whose memory is the function's
_BEHIND = {";", "}", ")", ","}
_NEVER = {"#", "##", "%:", "_Pragma", "__pragma", "__LINE__", "__COUNTER__"}
_OPENING, _CLOSING = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}


def text_of(source: Source, node: Node, parent: Node | None, siblings: Sequence[Node]) -> str | None:
    """The text on one line, without comments; None if a macro cannot hold it."""
    if node.kind in _CASES or jumps(node) or any(map(_has_no_copy, walk(node))):
        return None
    begin, end = node.extent.start, node.extent.end
    if not (_is_here(source, begin) and _is_here(source, end)) or not begin.offset < end.offset:
        return None
    others = [each for each in siblings if each != node and each.extent.start.offset < each.extent.end.offset]
    if any(each.extent.start.offset < end.offset and begin.offset < each.extent.end.offset for each in others):
        return None
    if parent is not None and begin.offset <= parent.extent.start.offset and parent.extent.end.offset <= end.offset:
        return None
    return _on_one_line(source, begin.offset, end.offset, ends=node.kind.is_statement())


def _is_here(source: Source, place: SourceLocation) -> bool:
    return bool(place.file and place.file.name == source.path)


def _has_no_copy(part: Node) -> bool:
    """May it be there once, and in a function alone?"""
    if part.kind == CursorKind.CALL_EXPR:
        return part.spelling in _IN_PLACE or any(word in part.spelling for word in _SPECIAL)
    is_static = part.kind == CursorKind.VAR_DECL and part.storage_class in (StorageClass.STATIC, StorageClass.EXTERN)
    return part.kind in _OUT or is_static


def _on_one_line(source: Source, begin: int, end: int, *, ends: bool) -> str | None:
    """None for directives, brackets that do not match, and what begins or ends inside of a token. Is it a text that
    `ends` by itself, as a block does?"""
    tokens = _tokens(source, begin, min(end + 1000, len(source.data)))
    try:
        words = [(token.spelling, token.extent.start.offset, token.extent.end.offset) for token in tokens]
    except UnicodeDecodeError:
        return None
    inside = [word for word in words if word[1] < end]
    after = next((text for text, at, _ in words if at >= end), "")
    if not inside or inside[0][1] != begin or inside[-1][2] != end:
        return None
    is_end = ends and inside[-1][0] in (")", "}", ";") and (after.isidentifier() or after == "")
    if after not in _BEHIND and not is_end:
        return None
    text, last, open_ = "", begin, list[str]()
    for word, at, to in inside:
        if word in _NEVER or "\n" in word:
            return None
        if word in _OPENING:
            open_.append(_OPENING[word])
        elif word in _CLOSING and (not open_ or open_.pop() != word):
            return None
        text += f"{' ' * (at > last)}{word}"
        last = to
    return text if not open_ and text.isprintable() else None


def _tokens(source: Source, begin: int, end: int) -> list[Token]:
    file = source.unit.get_file(source.path)
    places = [SourceLocation.from_offset(source.unit, file, offset) for offset in (begin, end)]
    tokens = source.unit.get_tokens(extent=SourceRange.from_locations(*places))
    return [token for token in tokens if token.kind != TokenKind.COMMENT]
