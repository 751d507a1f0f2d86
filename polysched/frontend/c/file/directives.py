"""The directives of a C file as they stand there, with those that the preprocessor leaves out.

    #ifndef N                   Conditional(branches=(Branch("!defined N"),))
    #define N 8                 Definition("N", body="8")
    #endif
    double A[N]; /* all */      code: blanks in place of directives and comments, at the same offsets
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAME = r"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*"
_QUOTED = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
_TOKEN = re.compile(rf"{_NAME}|\.?\d(?:[eEpP][+-]|[\w.])*|{_QUOTED}|\S")
_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_COMMENT_OR_QUOTED = re.compile(rf"//[^\n]*|/\*.*?(?:\*/|\Z)|{_QUOTED}", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t\v\f]*(?P<hash>#|%:)[ \t]*(?P<word>\w*)(?P<rest>[^\n]*)", re.MULTILINE)
_MACRO = re.compile(rf"\s*({_NAME})(\()?(.*)", re.DOTALL)
_POPPED = re.compile(rf'\s*(?:push|pop)_macro\s*\(\s*"({_NAME})"')
_TESTS = {
    "if": "({})", "ifdef": "defined {}", "ifndef": "!defined {}",
    "elif": "({})", "elifdef": "defined {}", "elifndef": "!defined {}", "else": "",
}  # fmt: skip


@dataclass(frozen=True)
class Token:
    text: str
    begin: int
    end: int

    @property
    def is_name(self) -> bool:
        return re.fullmatch(_NAME, self.text) is not None


@dataclass(frozen=True)
class Definition:
    """A #define, or an #undef, whose body is None."""

    name: str
    offset: int
    body: str | None = None
    takes_arguments: bool = False


@dataclass(frozen=True)
class Include:
    offset: int
    is_of_system: bool  # <...>


@dataclass(frozen=True)
class Branch:
    test: str  # as #if has it; "" for #else
    offset: int  # behind the word of the directive: the preprocessor leaves the branch out if it leaves this out
    begin: int  # of the lines between two directives
    end: int


@dataclass(frozen=True)
class Conditional:
    """From #if to #endif."""

    begin: int
    end: int
    branches: tuple[Branch, ...]

    def encloses(self, begin: int, end: int) -> bool:
        """Does one of its branches?"""
        return any(branch.begin <= begin and end <= branch.end for branch in self.branches)


@dataclass(frozen=True)
class Directives:
    """A file, taken apart; offsets in bytes."""

    code: str  # a character a byte; blanks for directives and comments
    conditionals: tuple[Conditional, ...]
    definitions: tuple[Definition, ...]
    includes: tuple[Include, ...]
    is_guarded: bool  # is all of it in #ifndef X, #define X ... #endif?

    def tokens(self, begin: int, end: int) -> list[Token]:
        return tokens(self.code[begin:end], begin)


def tokens(text: str, begin: int = 0) -> list[Token]:
    return [Token(found[0], begin + found.start(), begin + found.end()) for found in _TOKEN.finditer(text)]


def directives_of(data: bytes) -> Directives:
    text = _SPLICE.sub(_blank, data.decode("latin-1"))
    text = _COMMENT_OR_QUOTED.sub(lambda found: found[0] if found[0][0] in "\"'" else _blank(found), text)
    code = _DIRECTIVE.sub(_blank, text)
    conditionals = tuple(_conditionals(text))
    definitions = tuple(_definitions(text))
    includes = tuple(
        Include(found.start("hash"), found["rest"].lstrip().startswith("<"))
        for found in _DIRECTIVE.finditer(text)
        if found["word"].startswith(("include", "import", "embed"))
    )
    whole = conditionals[0] if conditionals else None  # the first to begin
    is_guarded = (
        whole is not None
        and not (code[: whole.begin] + code[whole.end :]).strip()
        and len(whole.branches) == 1
        and any(whole.branches[0].test.endswith(f"defined {definition.name}") for definition in definitions)
    )
    return Directives(code, conditionals, definitions, includes, is_guarded)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _conditionals(text: str) -> Iterator[Conditional]:
    """In the order of their #if; those without #endif are left out."""
    opened: list[tuple[int, list[re.Match[str]]]] = []
    closed: list[Conditional] = []
    for found in _DIRECTIVE.finditer(text):
        word = found["word"]
        if word in ("if", "ifdef", "ifndef"):
            opened.append((found.start("hash"), [found]))
        elif word in _TESTS and opened:
            opened[-1][1].append(found)
        elif word == "endif" and opened:
            begin, heads = opened.pop()
            ends = [head.start("hash") for head in heads[1:]] + [found.start("hash")]
            branches = (
                Branch(_test(head), head.end("word"), head.end(), end) for head, end in zip(heads, ends, strict=True)
            )
            closed.append(Conditional(begin, found.end(), tuple(branches)))
    return iter(sorted(closed, key=lambda conditional: conditional.begin))


def _test(head: re.Match[str]) -> str:
    return _TESTS[head["word"]].format(" ".join(head["rest"].split()))


def _definitions(text: str) -> Iterator[Definition]:
    for found in _DIRECTIVE.finditer(text):
        offset = found.start("hash")
        macro = _MACRO.match(found["rest"])
        if found["word"] == "define" and macro:
            yield Definition(macro[1], offset, macro[3], macro[2] is not None)
        elif found["word"] == "undef" and macro:
            yield Definition(macro[1], offset)
        elif found["word"] == "pragma" and (popped := _POPPED.match(found["rest"])):
            yield Definition(popped[1], offset)
