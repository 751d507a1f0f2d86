"""What stands around a region and would change what its new text means.

    #pragma omp for         in the region: the threads of a team share its loops, which a kernel would run in each
    { int n = 5; ... }      around it: hides the n of A[n][n], which the kernel has to name
    double *B = A;          before it: restrict or not, A and B are one array
    #define long int        before it: replaces words that the kernel needs
"""

from __future__ import annotations

import re

from clang.cindex import CursorKind

from polysched.errors import InputError, Loc
from polysched.frontend.c.file.clang import Key, Node, children, key, mentions, walk
from polysched.frontend.c.file.pragmas import Marked
from polysched.frontend.c.file.source import Source
from polysched.frontend.c.variables import Variables

_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+(omp|acc)\b", re.MULTILINE)
_OF_A_LOOP = re.compile(rb"#[ \t]*pragma[ \t]+(omp|acc|unroll|simd|GCC[ \t]+(ivdep|unroll|novector))\b[^\n]*\n\s*\Z")


def require_no_directives(source: Source, marked: Marked) -> None:
    """InputError for directives that concern loops of the region."""
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
    for decl in variables.decls.values():
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
