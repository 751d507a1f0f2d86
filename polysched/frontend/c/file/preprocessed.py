"""What a region owes to macros and conditionals, as what its new text can test where it is compiled.

    #ifndef N                       with -DN=50, N will stand for 50
    #define N 8
    #endif
    #pragma scop
    for (i = 0; i < N; i++)         macros      (Expansion("N", '"8"'),)
    #ifdef FAST                     conditions  (Held("!(defined FAST)", f.c:6),)
        ...

A region depends on its own text and that of its function, and on the declarations and the functions that it uses. In
these, every identifier that is a macro, or could be one, is tested by what it stands for, and a conditional by what was
true. The tests stand in front of the region; what is defined anew on the way there cannot be tested, and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from clang.cindex import CursorKind

from polysched.errors import InputError
from polysched.frontend.c.file.clang import Node, walk
from polysched.frontend.c.file.directives import Conditional, Token, tokens
from polysched.frontend.c.file.macros import Macros, Order
from polysched.frontend.c.file.marked import Marked
from polysched.frontend.c.region import Expansion, Held

_POSITION = {"__LINE__", "__FILE__", "__BASE_FILE__", "__COUNTER__", "__DATE__", "__TIME__", "__TIMESTAMP__"}
_POSITION |= {"__builtin_LINE", "__builtin_FILE"}
_JUMPS = {"for", "while", "do", "if", "else", "switch", "case", "default", "goto", "break", "continue", "return"}
_TYPES = {"char", "short", "int", "long", "float", "double", "signed", "unsigned", "void"}
_NUMBER = re.compile(rf"(?:[-+*/%()<>=!~^&| ]|\b(?:{'|'.join(_TYPES)})\b|\.?\d(?:[eEpP][+-]|[\w.])*)+")
_KINDS = ("VAR", "PARM", "TYPEDEF", "FUNCTION", "ENUM", "STRUCT")
_REFERENCES = (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR, CursorKind.TYPE_REF)
_DECLARATIONS = frozenset(getattr(CursorKind, f"{kind}_DECL") for kind in _KINDS)


@dataclass(frozen=True)
class _Part:
    """A piece of a file that a region depends on."""

    path: str
    begin: int
    end: int
    is_region: bool = False
    is_around: bool = False  # the rest of the region's function: macros of the system do not matter there


@dataclass(frozen=True)
class _Use:
    """An identifier that may be a macro, and its arguments."""

    text: str
    reached: frozenset[str]  # the names in its text, and all that these may expand to
    part: _Part
    begin: int


def preprocessed(
    macros: Macros, marked: Marked, variables: Iterable[Node]
) -> tuple[tuple[Expansion, ...], tuple[Held, ...]]:
    """The macros and the conditions that a region depends on; InputError if one cannot be tested in front of it."""
    _require_no_include(macros, marked)
    needed = _needed(macros, marked, variables)
    path = macros.source.path
    parts = [
        _Part(path, marked.function.extent.start.offset, marked.begin, is_around=True),
        _Part(path, marked.begin, marked.end, is_region=True),
        _Part(path, marked.end, marked.function.extent.end.offset, is_around=True),
        *(_Part(n.extent.start.file.name, n.extent.start.offset, n.extent.end.offset) for n in needed),
    ]
    names = frozenset(node.spelling for node in needed)
    expansions, held = _expansions(macros, marked, parts)
    return expansions, tuple(dict.fromkeys((*_conditions(macros, marked, parts, names), *held)))


def _require_no_include(macros: Macros, marked: Marked) -> None:
    """InputError for text of the region's function that stands in another file."""
    path, extent = macros.source.path, marked.function.extent
    for include in macros.files[path].includes:
        if extent.start.offset < include.offset < extent.end.offset:
            message = "an #include in the function of a region, whose text stands in another file"
            raise InputError(message, macros.loc(path, include.offset), "put that text here, or before the function")


def _needed(macros: Macros, marked: Marked, variables: Iterable[Node]) -> list[Node]:
    """The declarations outside of the system's headers that a region's statements lead to."""
    found: dict[int, Node] = {}
    new = [*marked.statements, *variables]
    found.update((node.hash, node) for node in new[len(marked.statements) :])
    while new:
        for node in walk(new.pop()):
            if node.kind not in _REFERENCES or node.referenced is None:
                continue
            used = node.referenced
            if node.kind == CursorKind.MEMBER_REF_EXPR:
                used = used.semantic_parent
            for decl in (used, used.canonical, used.get_definition()):
                if decl is not None and decl.kind == CursorKind.ENUM_CONSTANT_DECL:
                    decl = decl.semantic_parent
                if decl is None or decl.kind not in _DECLARATIONS or decl.hash in found:
                    continue
                file = decl.extent.start.file
                if file is not None and file.name in macros.files:
                    found[decl.hash] = decl
                    new.append(decl)
    return list(found.values())


# --- macros


def _expansions(macros: Macros, marked: Marked, parts: list[_Part]) -> tuple[tuple[Expansion, ...], list[Held]]:
    """The macros, and what has to hold for them to be the same all the way."""
    every = [use for part in parts for use in _uses(macros, part)]
    at = macros.order(macros.source.path, marked.begin)
    held: list[Held] = []
    for use in every:
        to = marked.end if use.part.is_region else use.begin
        held += _same(macros, use.reached, (use.part.path, to), at, use.text)
    uses = {use.text: use for use in every}
    if not uses:
        return (), held
    meanings = macros.meanings(list(uses), marked.begin, marked.end)
    if meanings is None:
        message = f"what its macros stand for cannot be told: {', '.join(uses)}"
        place = macros.loc(macros.source.path, marked.begin)
        raise InputError(message, place, "write macros that are whole expressions")
    found = (_expansion(macros, use, meaning) for use, meaning in zip(uses.values(), meanings, strict=True))
    return tuple(expansion for expansion in found if expansion is not None), held


def _uses(macros: Macros, part: _Part) -> Iterator[_Use]:
    """The identifiers of a part that are, or may be, macros, each with what stands in parentheses behind it."""
    directives = macros.files[part.path]
    found, k = directives.tokens(part.begin, part.end), 0
    while k < len(found):
        first, last = k, k
        name, k = found[first].text, k + 1
        if not (found[first].is_name and (macros.of(name) or name in _POSITION)):
            continue
        if macros.is_skipped(part.path, found[first].begin):
            continue
        if k < len(found) and found[k].text == "(":
            last = _closing(found, k)
            k = last + 1
        names = {token.text for token in found[first : last + 1] if token.is_name}
        reached = frozenset().union(*map(macros.reached, names))
        if special := sorted(reached & (_POSITION | {"_Pragma"})):
            if part.is_region:
                message = f"'{special[0]}' in the region would not mean the same in its new text"
                raise InputError(message, macros.loc(part.path, found[first].begin), "write what it stands for")
            continue
        if not part.is_around or any(map(macros.is_ours, reached)):
            text = " ".join(directives.code[found[first].begin : found[last].end].split())
            yield _Use(text, reached, part, found[first].begin)


def _closing(found: list[Token], opening: int) -> int:
    depth = 0
    for k in range(opening, len(found)):
        depth += (found[k].text == "(") - (found[k].text == ")")
        if depth == 0:
            return k
    return opening - 1


def _expansion(macros: Macros, use: _Use, meaning: str) -> Expansion | None:
    """None for what cannot have another meaning."""
    is_ours = any(map(macros.is_ours, use.reached))
    if is_ours and not any(macro.is_of_system for name in use.reached for macro in macros.of(name)):
        return Expansion(use.text, meaning)
    if _NUMBER.fullmatch(meaning[1:-1]):
        return Expansion(use.text, meaning[1:-1], is_number=True)
    return Expansion(use.text, meaning) if is_ours else None  # the system's headers agree with themselves


def _same(macros: Macros, names: Iterable[str], place: tuple[str, int], at: Order, what: str) -> Iterator[Held]:
    """The conditions under which none of the macros is another one at the region than at the place; InputError if one
    may be in any case."""
    for name, path, offset in macros.changed(names, macros.order(*place), at):
        again = macros.repeated(name)
        ends = macros.order(*place), at
        if again is not None and not again & frozenset(names) and all(macros.is_settled(name, end) for end in ends):
            yield from _same(macros, again, place, at, what)
            continue
        conditional = _leaving_out(macros, path, offset)
        if conditional is None:
            message = f"'{name}' may change here, between a region and '{what}', on which that depends"
            raise InputError(message, macros.loc(path, offset), "define it once, before both")
        test = _held(macros, path, conditional)
        tested = _tested(macros, test)
        if not tested or tested & frozenset(names):
            message = f"'{name}' may change here, between a region and '{what}', on which that depends"
            raise InputError(message, macros.loc(path, offset), "define it once, before both")
        yield from _same(macros, tested, (path, conditional.begin), at, f"#if {test}")
        yield Held(test, f"{PurePath(path).name}:{macros.loc(path, conditional.begin).line}")


def _leaving_out(macros: Macros, path: str, offset: int) -> Conditional | None:
    """The outermost conditional that keeps what stands there from being read; None if it is read."""
    directives = macros.files[path]
    for k, conditional in enumerate(directives.conditionals):
        is_guard = directives.is_guarded and k == 0
        is_read = not macros.is_skipped(path, conditional.begin - 1)
        if not is_guard and is_read and conditional.encloses(offset, offset) and macros.is_skipped(path, offset):
            branch = next(each for each in conditional.branches if each.begin <= offset <= each.end)
            return conditional if macros.is_skipped(path, branch.offset) else None
    return None


def _tested(macros: Macros, test: str) -> frozenset[str]:
    names = {token.text for token in tokens(test) if token.is_name} - {"defined"}
    return frozenset(names.union(*map(macros.reached, names)))


# --- conditionals


def _conditions(macros: Macros, marked: Marked, parts: list[_Part], names: frozenset[str]) -> tuple[Held, ...]:
    at = macros.order(macros.source.path, marked.begin)
    found: dict[str, Held] = {}
    for path, directives in macros.files.items():
        for k, conditional in enumerate(directives.conditionals):
            is_guard = directives.is_guarded and k == 0
            if is_guard or macros.is_skipped(path, conditional.begin - 1):
                continue
            if not _matters(macros, marked, path, conditional, parts, names):
                continue
            test = _held(macros, path, conditional)
            if tested := _tested(macros, test):
                for each in _same(macros, tested, (path, conditional.begin), at, f"#if {test}"):
                    found.setdefault(each.test, each)
                line = macros.loc(path, conditional.begin).line
                found.setdefault(test, Held(test, f"{PurePath(path).name}:{line}"))
    return tuple(found.values())


def _held(macros: Macros, path: str, conditional: Conditional) -> str:
    """What is true of its tests, as #if has it."""
    held: list[str] = []
    for branch in conditional.branches:
        if not macros.is_skipped(path, branch.offset):
            return " && ".join([*held, f"({branch.test})"] if branch.test else held)
        held.append(f"!({branch.test})")
    return " && ".join(held)


def _matters(
    macros: Macros, marked: Marked, path: str, conditional: Conditional, parts: list[_Part], names: frozenset[str]
) -> bool:
    """Would the region be another one in another branch?"""
    begin, end = conditional.begin, conditional.end
    if path == macros.source.path and conditional.encloses(marked.begin, marked.end):
        return False  # the new text stands there, too
    code = macros.files[path].code
    branches = [tokens(code[branch.begin : branch.end]) for branch in conditional.branches]
    is_around = False
    for part in parts:
        places = macros.places(part.path, part.begin)
        is_inside = any(name == path and conditional.encloses(offset, offset) for name, offset in places)
        overlaps = part.path == path and part.begin < end and begin < part.end
        if part.is_around:
            is_around = is_around or overlaps
        elif (is_inside or overlaps) and (is_inside or any(branches)):
            return True
    if is_around:
        return any(_mentions(macros, branch, names | _JUMPS | {"{", "}"}) for branch in branches)
    if any(path == f and b < begin and end < e for f, b, e in macros.bodies):  # of another function
        return False
    return any(_mentions(macros, list(_outside_bodies(branch)), names) for branch in branches)


def _mentions(macros: Macros, branch: list[Token], names: frozenset[str]) -> bool:
    return any(not names.isdisjoint(macros.reached(token.text)) for token in branch)


def _outside_bodies(branch: list[Token]) -> Iterator[Token]:
    depth = 0
    for before, token in pairwise([Token("", 0, 0), *branch]):
        if depth or (token.text == "{" and before.text == ")"):
            depth += (token.text == "{") - (token.text == "}")
        else:
            yield token
