"""What an edit is given, as plain data of the kinds that its signature says.

So it can be printed, stored, and made again.

    def tile(self, *loops: str, sizes: Sequence[int])

    tile("i", sizes=[np.int64(8)])        ("i",), {"sizes": (8,)}
    tile("i", sizes=8)                    InputError: 'sizes' of tile is a sequence of whole numbers below 2**31, not 8
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from inspect import Parameter, signature
from operator import index
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from polysched.errors import InputError


class Named:
    """Base of what an edit knows by its name."""

    @property
    def name(self) -> str:
        raise NotImplementedError


LARGEST = 2**31  # with which sums of a few products with sizes still fit into 64 bits


def plain_arguments(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and named arguments of the method as its annotations say: str, int, sequences of them, or either.

    Those that the function does not have are left to it. InputError for one of another kind, or a huge number.
    """
    kinds = _kinds(function)
    names = _positional(function, len(args))
    by_position = tuple(_plain(function, name, kinds.get(name), value) for name, value in zip(names, args, strict=True))
    return by_position, {name: _plain(function, name, kinds.get(name), value) for name, value in kwargs.items()}


_kinds = cache(get_type_hints)
_signature = cache(signature)


def with_tuples(value: Any) -> Any:
    """What JSON reads as a list is a tuple in Python."""
    match value:
        case list():
            return tuple(map(with_tuples, value))
        case dict():
            return {key: with_tuples(each) for key, each in value.items()}
    return value


def written(value: Any) -> str:
    """The value as one writes it in Python, strings in double quotes."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case tuple() | list():
            inside = ", ".join(map(written, value))
            return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value)


def called(name: str, /, *args: Any, **kwargs: Any) -> str:
    """A call as one writes it: skew("j", by="i")."""
    return f"{name}({', '.join([*map(written, args), *(f'{key}={written(each)}' for key, each in kwargs.items())])})"


def _positional(function: Callable[..., Any], count: int) -> list[str]:
    """The parameter of each of `count` arguments after the first; "" where there is none."""
    names: list[str] = []
    for parameter in list(_signature(function).parameters.values())[1:]:
        if parameter.kind == Parameter.VAR_POSITIONAL:
            names += [parameter.name] * count
        elif parameter.kind == Parameter.POSITIONAL_OR_KEYWORD:
            names.append(parameter.name)
    return [*names, *[""] * count][:count]


def _plain(function: Callable[..., Any], name: str, kind: Any, value: Any) -> Any:
    try:
        return value if kind is None else _as(kind, value)
    except TypeError:
        said = f"{value!r:.60}"
        raise InputError(f"'{name}' of {function.__name__} is {_said(kind)}, not {said}") from None


def _as(kind: Any, value: Any) -> Any:
    """The value as plain data of that kind; TypeError if it is of another."""
    match get_origin(kind), get_args(kind):
        case origin, _ if (kind is str or origin is Literal) and isinstance(value, str):  # which, the edit checks
            return str(value)
        case None, _ if kind is str and isinstance(value, Named):
            return value.name
        case None, _ if kind is bool and isinstance(value, bool):
            return value
        case None, _ if kind is int and not isinstance(value, bool) and abs(index(value)) < LARGEST:
            return index(value)
        case None, _ if kind is NoneType and value is None:
            return None
        case origin, (each,) if origin is Sequence and isinstance(value, list | tuple):
            return tuple(_as(each, one) for one in value)
        case origin, (*kinds,) if kinds and origin not in (Sequence, Literal):
            for each in kinds:
                with suppress(TypeError):
                    return _as(each, value)
    raise TypeError


def _said(kind: Any) -> str:
    """As in "a string or a sequence of strings"."""
    if get_origin(kind) is Sequence:
        return f"a sequence of {_SAID[get_args(kind)[0]][1]}"
    if get_origin(kind) is Literal:
        return _SAID[str][0]
    return _SAID[kind][0] if kind in _SAID else " or ".join(map(_said, get_args(kind)))


_SAID = {
    str: ("a string", "strings"),
    int: ("a whole number below 2**31", "whole numbers below 2**31"),
    bool: ("True or False", ""),
    NoneType: ("None", ""),
}
