"""What an operator may be given: names and kinds of parameters, checked before anything is built.

    conv2d_nchw(batch=1, in_channel=4, in_size=8, num_filter=4, kernel=3, stride=0)
    InputError: conv2d_nchw: stride is 0, and must be a whole number from 1 or a list of whole numbers from 1

The annotations of an operator say what its parameters are; each refusal names the operator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from polysched.errors import InputError
from polysched.ir.nodes import Function
from polysched.support.entry import entry

Operator = Callable[..., Function]

_LEAST = {  # of whole numbers; it is 1 for a parameter that is not named here, None if there is none
    "padding": 0,
    "padding_h": 0,
    "output_padding": 0,
    "crop_begin_list": 0,
    "crop_end_list": 0,
    "in_batch_block": 0,
    "in_channel_block": 0,
    "box_ind": 0,
    "axis": None,
}
_KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a name",
    Sequence[int]: "a list of whole numbers",
    Sequence[Sequence[float]]: "a list of lists of numbers",
}


def operator(base: Operator | None = None) -> Callable[[Operator], Operator]:
    """A decorator: the operator with its parameters checked; `**parameters` of it are those of `base`."""

    def decorated(function: Operator) -> Operator:
        name, parameters = function.__name__, _parameters(function, base)

        @entry
        @wraps(function)
        def checked(**given: Any) -> Function:
            try:
                _check(given, parameters)
                return function(**given)
            except InputError as error:
                raise InputError(f"{name}: {error.message}", error.loc, error.hint) from None

        checked.__signature__ = Signature(list(parameters.values()), return_annotation=Function)  # type: ignore[attr-defined]
        return checked

    return decorated


def variant(base: Operator, name: str, *how: Any, of: str) -> Operator:
    """The operator of this name, which is `base` for it and for what follows, with all other parameters."""

    def varied(**parameters: Any) -> Function:
        return base(name, *how, **parameters)

    varied.__name__, varied.__qualname__, varied.__module__ = name, name, base.__module__
    varied.__doc__ = f"Of {of}, with the parameters of `{base.__name__}`."
    return operator(base)(varied)


def _parameters(function: Operator, base: Operator | None) -> dict[str, Parameter]:
    """The keyword-only parameters of a function and of its base, with their types."""
    found: dict[str, Parameter] = {}
    for each in (function, base) if base else (function,):
        types = get_type_hints(each)
        for parameter in signature(each).parameters.values():
            if parameter.kind is Parameter.KEYWORD_ONLY:
                found.setdefault(parameter.name, parameter.replace(annotation=types[parameter.name]))
    return found


def _check(given: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> None:
    for name, value in given.items():
        if name not in parameters:
            raise InputError(f"there is no parameter {name}; there are {', '.join(parameters)}")
        kinds = _kinds(parameters[name].annotation)
        least = _LEAST.get(name, 1)
        if not any(_is(value, kind, least) for kind in kinds):
            raise InputError(f"{name} is {value!r}, and must be {_described(kinds, least)}")
    missing = [name for name, each in parameters.items() if each.default is Parameter.empty and name not in given]
    if missing:
        raise InputError(f"{', '.join(missing)} must be given")


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _is(value: Any, kind: Any, least: int | None) -> bool:
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if get_origin(kind) is Sequence:
        (element,) = get_args(kind)
        is_list = isinstance(value, Collection) and not isinstance(value, str | Mapping)
        return is_list and all(_is(each, element, least) for each in value)
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool) and (least is None or int(value) >= least)
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    return isinstance(value, kind)


def _described(kinds: Sequence[Any], least: int | None) -> str:
    limits = "" if least is None else f" from {least}"
    *others, last = [name for kind in kinds for name in _names(kind, limits)]
    return f"{', '.join(others)} or {last}" if others else last


def _names(kind: Any, limits: str) -> list[str]:
    if get_origin(kind) is Literal:
        return [repr(value) for value in get_args(kind)]
    if kind is NoneType:
        return []
    return [_KINDS[kind] + (limits if kind in (int, Sequence[int]) else "")]
