"""The regions of a C file: the lines between `#pragma scop` and `#pragma endscop`, and the statements in them.

    if (n > 5)              compilers that do not know the pragmas leave them out:
    #pragma scop            the loop, and what takes its place, is what the `if` guards
        for (...) ...
    #pragma endscop

What stands around a region may change what its new text means:

    #pragma omp for         in the region: the threads of a team share its loops, which a kernel would run in each
    { int n = 5; ... }      around it: hides the n of A[n][n], which the kernel has to name
    double *B = A;          before it: restrict or not, A and B are one array
    #define long int        before it: replaces words that the kernel needs
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clang.cindex import CursorKind, TokenKind

from polysched.errors import InputError, Loc
from polysched.frontend.c.file.clang import Node, children, skipped, walk
from polysched.frontend.c.file.names import Key, key, mentions, root
from polysched.frontend.c.file.source import Source, functions
from polysched.frontend.c.variables import Variables

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


def pair_around(begin: int, end: int) -> tuple[Pragma, Pragma]:
    """As if pragmas stood right before and behind these bytes, which hold whole statements."""
    return Pragma("scop", begin, begin, begin), Pragma("endscop", end, end, end)


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
        raise InputError("this region holds no statement", source.at(first.offset), "put the pragmas around loops")
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


_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+(omp|acc)\b", re.MULTILINE)
_OF_A_LOOP = re.compile(rb"#[ \t]*pragma[ \t]+(omp|acc|unroll|simd|GCC[ \t]+(ivdep|unroll|novector))\b[^\n]*\n\s*\Z")


_GENERATED = re.compile(rb"\s*/\* \w+: generated by polysched ")


def require_own_text(source: Source, marked: Marked) -> None:
    """InputError for a region that is a kernel already, and for directives that concern its loops."""
    if found := _GENERATED.match(source.data, marked.begin):
        place = source.at(source.data.index(b"/*", found.start()))
        raise InputError("this region was generated by polysched", place, "give the file that it was made from")
    if found := _DIRECTIVE.search(source.data, marked.begin, marked.end):
        place = source.at(source.data.index(b"#", found.start()))
        raise InputError("a directive in the region would be lost", place, "take it out: loops are put on threads anew")
    line = source.data.rfind(b"\n", 0, max(marked.begin - 1, 0)) + 1  # of #pragma scop
    if found := _OF_A_LOOP.search(source.data[:line]):
        hint = "take it out, or put it between the region's pragmas and the loop"
        raise InputError("a directive for a loop stands before #pragma scop", source.at(found.start()), hint)


def require_visible(source: Source, marked: Marked, variables: Variables) -> None:
    """InputError for a variable from outside of the region whose name means another one there."""
    visible = {child.spelling: child for child in children(marked.function) if child.kind == CursorKind.PARM_DECL}
    for node in marked.path:
        before = (child for child in children(node) if child.extent.end.offset <= marked.begin)
        declared = (part for child in before if child.kind == CursorKind.DECL_STMT for part in children(child))
        visible |= {part.spelling: part for part in declared if part.kind == CursorKind.VAR_DECL}
    for decl in map(root, variables.decls.values()):
        meant = visible.get(decl.spelling, decl)
        if key(decl) not in variables.declared and key(meant) != key(decl):
            message = f"'{decl.spelling}' hides another variable of this name, which the region needs"
            raise source.error(meant, message, "give one of them another name")


def macros_of_keywords(source: Source, marked: Marked) -> dict[str, Loc]:
    """Keywords of C that macros replace where the region stands, and where they are defined."""
    macros = (node for node in source.unit.cursor.get_children() if node.kind == CursorKind.MACRO_DEFINITION)
    return {
        node.spelling: source.loc(node)
        for node in macros
        if node.spelling in _KEYWORDS and node.location.file and _is_defined(source, node, marked.begin)
    }


def _is_defined(source: Source, macro: Node, at: int) -> bool:
    """Does the macro stand for something at a place of the main file?"""
    start = macro.location.offset if source.is_here(macro) else 0
    undone = re.compile(rf"^[ \t]*#[ \t]*undef[ \t]+{macro.spelling}\b".encode(), re.MULTILINE)
    return start < at and not undone.search(source.data, start, at)


# Without those that may as well be missing, as in `#define restrict`.
_KEYWORDS = {
    *("_Bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned", "void", "__typeof__", "sizeof"),
    *("break", "continue", "do", "else", "extern", "for", "if", "return", "static", "struct", "union", "while"),
}


def require_read(source: Source, marked: Marked) -> None:
    """InputError where the function uses what a header declares that clang cannot read as gcc does."""
    for node in walk(marked.function) if source.misread else ():
        decl = node.referenced
        for part in (decl, *children(decl)) if decl is not None else ():
            header = part.location.file.name if part.location.file else ""
            if header in source.misread:
                why = f"which clang reads in another way than gcc: {source.misread[header]}"
                hint = "keep it out of functions with regions"
                raise source.error(node, f"'{node.spelling}' comes from {header}, {why}", hint)


def is_named_outside(marked: Marked, decl: Key) -> bool:
    """Is the variable named in the function, before or behind the region? Then a pointer may have been made from it."""
    named = (node.extent.start.offset for node, other in mentions(marked.function) if key(other) == decl)
    return any(not marked.begin <= offset < marked.end for offset in named)
