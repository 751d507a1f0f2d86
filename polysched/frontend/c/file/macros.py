"""The macros of a C file: what a name may be defined as, where that changes, and what a text stands for.

Reads all directives of the file and of the user's headers, also those that the preprocessor leaves out: with other -D,
it will not. Headers of the system and the compiler's own macros are as clang has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from clang.cindex import CursorKind, Diagnostic, SourceLocation

from polysched.errors import Loc
from polysched.frontend.c.file.clang import Node, children, skipped, takes_arguments, walk
from polysched.frontend.c.file.directives import Directives, directives_of, tokens
from polysched.frontend.c.file.source import Source, functions, parse_again

Order = tuple[int, ...]  # where a place comes in what a compiler reads: the #includes that lead to it, its own offset
_SPELL = ("polysched_text(...)=polysched_literal(__VA_ARGS__)", "polysched_literal(...)=#__VA_ARGS__")


@dataclass(frozen=True)
class Macro:
    takes_arguments: bool
    names: frozenset[str]  # the identifiers of its body
    is_of_system: bool  # or the compiler's


@dataclass(frozen=True, eq=False)
class Macros:
    source: Source

    # --- files

    @cached_property
    def files(self) -> dict[str, Directives]:
        """The file, and the user's headers, by path."""
        headers = {path: directives_of(Path(path).read_bytes()) for path in self._included}
        return {self.source.path: directives_of(self.source.data), **headers}

    @cached_property
    def _included(self) -> dict[str, tuple[str, int]]:
        """Where each of the user's headers is included first: file, offset."""
        unit, main = self.source.unit, self.source.path
        found: dict[str, tuple[str, int]] = {}
        for inclusion in unit.get_includes():
            outer, path = inclusion.source.name, inclusion.include.name
            start = SourceLocation.from_offset(unit, inclusion.include, 0)
            if outer in {main, *found} and path not in {main, *found} and not start.is_in_system_header:
                found[path] = outer, inclusion.location.offset
        return found

    def order(self, path: str, offset: int) -> Order:
        return tuple(at for _, at in reversed(self.places(path, offset)))

    def places(self, path: str, offset: int) -> list[tuple[str, int]]:
        """The place, and those of the #includes that lead to it."""
        found = [(path, offset)]
        while (outer := self._included.get(found[-1][0])) is not None:
            found.append(outer)
        return found

    @cached_property
    def bodies(self) -> list[tuple[str, int, int]]:
        """Where functions are defined: file, begin, end."""
        found = (child for child in children(self.source.unit.cursor) if child.kind == CursorKind.FUNCTION_DECL)
        extents = (function.extent for function in found if function.is_definition())
        return [(str(e.start.file), e.start.offset, e.end.offset) for e in extents]

    def loc(self, path: str, offset: int) -> Loc:
        unit = self.source.unit
        return self.source.place(SourceLocation.from_offset(unit, unit.get_file(path), offset))

    def is_skipped(self, path: str, offset: int) -> bool:
        """Does the preprocessor leave it out?"""
        return any(begin <= offset < end for begin, end in self._skipped[path])

    @cached_property
    def _skipped(self) -> dict[str, list[tuple[int, int]]]:
        return {path: skipped(self.source.unit, path) for path in self.files}

    # --- definitions

    def of(self, name: str) -> tuple[Macro, ...]:
        """All that it may be defined as; none if it is no macro."""
        if name not in self._found:
            self._found[name] = (*self._ours.get(name, ()), *map(_macro, self._outside.get(name, ())))
        return self._found[name]

    @cached_property
    def _found(self) -> dict[str, tuple[Macro, ...]]:
        return {}

    @cached_property
    def _ours(self) -> dict[str, list[Macro]]:
        found: dict[str, list[Macro]] = {}
        for one in (one for directives in self.files.values() for one in directives.definitions):
            if one.body is not None:
                names = frozenset(token.text for token in tokens(one.body) if token.is_name)
                found.setdefault(one.name, []).append(Macro(one.takes_arguments, names, False))
        return found

    @cached_property
    def _outside(self) -> dict[str, list[Node]]:
        """Definitions of the system's headers, of the compiler, and of -D."""
        found: dict[str, list[Node]] = {}
        for node in children(self.source.unit.cursor):
            if node.kind == CursorKind.MACRO_DEFINITION:
                file = node.location.file
                if file is None or file.name not in self.files:
                    found.setdefault(node.spelling, []).append(node)
        return found

    def reached(self, name: str) -> frozenset[str]:
        """The name, and all that it may expand to."""
        seen, new = {name}, [name]
        while new:
            for macro in self.of(new.pop()):
                new += macro.names - seen
                seen |= macro.names
        return frozenset(seen)

    def is_ours(self, name: str) -> bool:
        """Is it a macro of the user, in one definition at least?"""
        return any(not macro.is_of_system for macro in self.of(name))

    # --- what changes

    def changed(self, names: Iterable[str], one: Order, other: Order) -> Iterator[tuple[str, str, int]]:
        """The macros that may become others between two places, and where: file, offset."""
        names, (first, last) = frozenset(names), sorted((one, other))
        for path, directives in self.files.items():
            for definition in directives.definitions:
                if definition.name in names and first < self.order(path, definition.offset) < last:
                    yield definition.name, path, definition.offset
            for include in directives.includes:  # of which the preprocessor reads nothing now
                ours = sorted(name for name in names if self.of(name))
                is_between = first < self.order(path, include.offset) < last
                if ours and is_between and not include.is_of_system and self.is_skipped(path, include.offset):
                    yield ours[0], path, include.offset

    def repeated(self, name: str) -> frozenset[str] | None:
        """The names that decide what a macro is that several files define, each alike under the same tests; None if
        they differ. So it is the same behind each of them."""
        if name not in self._repeated:
            each = [tuple(_defined(directives, name)) for directives in self.files.values()]
            each = [found for found in each if found]
            are_alike = len(each) > 1 and set(each) == {each[0]} and all(body is not None for _, body, _ in each[0])
            tests = {test for chain, _, _ in each[0] for test in chain} if are_alike else set()
            names = (token.text for test in tests for token in tokens(test) if token.is_name)
            reached = frozenset().union(*(self.reached(each) for each in names if each != "defined"))
            self._repeated[name] = reached if are_alike and name not in reached else None
        return self._repeated[name]

    def is_settled(self, name: str, place: Order) -> bool:
        """Has one of the files that define the macro done so before the place, and is none about to?"""
        orders = (
            [self.order(path, one.offset) for one in directives.definitions if one.name == name]
            for path, directives in self.files.items()
        )
        ends = [(min(each), max(each)) for each in orders if each]
        return any(last < place for _, last in ends) and not any(first < place < last for first, last in ends)

    @cached_property
    def _repeated(self) -> dict[str, frozenset[str] | None]:
        return {}

    # --- what a text stands for

    def meanings(self, texts: list[str], begin: int, end: int) -> list[str] | None:
        """Each text, fully expanded in place of statements of the file, as a string literal of C.

        None where one stands for half of something, as in an opening parenthesis alone.
        """
        declared = "".join(f"const char *polysched_{k} = polysched_text({text});" for k, text in enumerate(texts))
        block = b"{" + declared.encode("latin-1") + b"}\n"
        again = parse_again(self.source, self.source.data[:begin] + block + self.source.data[end:], _SPELL)
        for complaint in again.unit.diagnostics:
            if complaint.severity >= Diagnostic.Error and begin <= complaint.location.offset < begin + len(block):
                return None
        around = (f for f in functions(again) if f.extent.start.offset < begin < f.extent.end.offset)
        found: dict[str, str] = {}
        for decl in (node for function in around for node in walk(function) if node.kind == CursorKind.VAR_DECL):
            if decl.spelling.startswith("polysched_"):
                found.update((decl.spelling, n.spelling) for n in walk(decl) if n.kind == CursorKind.STRING_LITERAL)
        if len(found) < len(texts):
            return None
        return [found[f"polysched_{k}"] for k in range(len(texts))]


def _defined(directives: Directives, name: str) -> Iterator[tuple[tuple[str, ...], str | None, bool]]:
    """The definitions of a macro in a file: the tests before each, its body, and whether it takes arguments."""
    for one in (one for one in directives.definitions if one.name == name):
        chain: list[str] = []
        for k, conditional in enumerate(directives.conditionals):
            if conditional.encloses(one.offset, one.offset) and not (directives.is_guarded and k == 0):
                chain += (branch.test for branch in conditional.branches if branch.begin <= one.offset)
        body = " ".join(one.body.split()) if one.body is not None else None
        yield tuple(chain), body, one.takes_arguments


def _macro(definition: Node) -> Macro:
    names = frozenset(token.spelling for token in list(definition.get_tokens())[1:])
    return Macro(takes_arguments(definition), names, bool(definition.location.is_in_system_header))
