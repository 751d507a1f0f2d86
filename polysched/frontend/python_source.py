"""From a Python function, or a text, to its syntax tree with true places: file, line, column.

Nests and operators in other processes: their Python function is looked up there by its name, as pickle does.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

from polysched.errors import InputError, Loc


@dataclass(frozen=True)
class Source:
    """The lines of a file, the first of which has the number `first_line`."""

    filename: str
    lines: tuple[str, ...]
    first_line: int = 1

    def loc(self, node: ast.AST) -> Loc:
        """Where the node starts. The parser counts columns in bytes of UTF-8; we count characters."""
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        column = len(text.encode()[:offset].decode(errors="ignore")) + 1
        return Loc(self.filename, line + self.first_line - 1, column, text)

    def error(self, node: ast.AST, message: str, hint: str = "") -> InputError:
        return InputError(message, self.loc(node), hint)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Gives an InputError from inside the place of the node, unless it has one."""
        try:
            yield
        except InputError as error:
            if error.loc is None:
                raise self.error(node, error.message, error.hint) from None
            raise


def names_in(node: ast.AST) -> list[ast.Name]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Name)]


def definition_in(text: str, filename: str, first_line: int = 1) -> tuple[Source, ast.FunctionDef]:
    """The only function that the text defines; InputError if it defines none or several, or is not Python."""
    source, tree = _parse(text, filename, first_line)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if len(found) != 1:
        names = ", ".join(f.name for f in found) or "none"
        hint = "give the text of one function: def name(parameters): ..."
        raise InputError(f"expected one function, found {names}", Loc(filename, first_line, 1), hint)
    return source, found[0]


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}


def definition_of(function: Callable[..., Any]) -> tuple[Source, ast.FunctionDef]:
    """The definition of a function in its file; InputError if the file is gone, or it is no `def`."""
    if not inspect.isfunction(function):
        raise InputError(f"a nest is a Python function, not {function!r}", None, "decorate a def with @nest")
    name, code = function.__name__, function.__code__
    try:
        lines, _ = inspect.findsource(function)
    except OSError:
        loc, hint = Loc(code.co_filename, code.co_firstlineno, 1), "write it in a file or a notebook"
        raise InputError(f"the source of '{name}' is not available", loc, hint) from None
    source, tree = _parse("".join(lines), code.co_filename, 1)
    for definition in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        # The first line of the code is that of the first decorator.
        if min([definition.lineno, *(d.lineno for d in definition.decorator_list)]) == code.co_firstlineno:
            return source, definition
    loc = Loc(source.filename, code.co_firstlineno, 1, source.lines[code.co_firstlineno - 1])
    raise InputError(f"'{name}' is not written as a def", loc, "write the nest as def name(parameters): ...")


def _parse(text: str, filename: str, first_line: int) -> tuple[Source, ast.Module]:
    source = Source(filename, tuple(text.split("\n")), first_line)
    try:
        return source, ast.parse(text)
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        loc = Loc(filename, line + first_line - 1, column, source.lines[line - 1] if line <= len(source.lines) else "")
        raise InputError(f"this is not Python: {error.msg}", loc) from None


class Travelling:
    """What has a function `python`, which pickle would refuse: the module holds a nest in its place."""

    python: Callable[..., Any] | None

    def __reduce__(self) -> tuple[Any, ...]:
        python = self.python
        if python is not None and not isinstance(python, Named):
            python = Named(python.__module__, python.__qualname__)
        return object.__new__, (type(self),), {**self.__dict__, "python": python}

    def __copy__(self) -> Self:
        return self  # it does not change

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


@dataclass(frozen=True)
class Named:
    """The Python function that a nest or operator of this name was read from."""

    module: str
    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._found()(*args, **kwargs)

    def _found(self) -> Callable[..., Any]:
        try:
            found: Any = import_module(self.module)
            for part in self.name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            message = f"the Python function '{self.name}' of module '{self.module}' is not in this process: {error}"
            raise InputError(message, None, "define it at the top of a module, or run what optimize gives") from error
        python = getattr(found, "python", found)
        return python._found() if isinstance(python, Named) and python != self else python
