"""All edits by hand: an edit is a function of a draft, and says what has to be checked of it.

    @edit("order", "i, j -> i_o, j_o, i, j")
    def tile(draft: Draft, *loops: str, sizes: Sequence[int], names: Sequence[str] = ()) -> Draft: ...

    EDITS["tile"].legality == "order"        Edit.of("tile", "i", "j", sizes=(8, 64))

    order    another tree; that it keeps every dependence is checked, of several edits once, at their end
    run      how a loop runs: on threads, as lanes, unrolled; what it reduces is read from the tree when that is checked
    values   other statements or arrays, shown to compute the same
    claim    what the user knows of sizes and dependences
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Signature, getdoc, signature
from typing import Any, Literal, TypeVar

from polysched.config.plain import called, plain_arguments
from polysched.errors import InputError
from polysched.transform.edits.base.draft import Draft

F = TypeVar("F", bound=Callable[..., Draft])
T = TypeVar("T")
Legality = Literal["order", "run", "values", "claim"]


@dataclass(frozen=True)
class EditKind:
    """One of the edits that there are."""

    apply: Callable[..., Draft]
    legality: Legality
    shape: str  # what becomes of the loops: "i, j -> i_o, j_o, i, j"

    @property
    def name(self) -> str:
        return self.apply.__name__

    @property
    def signature(self) -> Signature:
        """That of the edit without the draft."""
        return _signature_of(self.apply)

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return " ".join((getdoc(self.apply) or "").partition("\n\n")[0].split())


@cache
def _signature_of(apply: Callable[..., Draft]) -> Signature:
    every = signature(apply, eval_str=True)
    return every.replace(parameters=tuple(every.parameters.values())[1:])


def by_name(what: str, name: str, known: Mapping[str, T]) -> T:
    """What has the name; InputError, with the names that there are, if nothing has."""
    if name not in known:
        raise InputError(f"there is no {what} '{name}'", hint=f"the {what}s are: {', '.join(known)}")
    return known[name]


EDITS: dict[str, EditKind] = {}


def edit(legality: Legality, shape: str) -> Callable[[F], F]:
    """Registers a function as the edit of its name."""

    def register(function: F) -> F:
        EDITS[function.__name__] = EditKind(function, legality, shape)
        return function

    return register


@dataclass(frozen=True)
class Edit:
    """One edit of a nest: its name and what it was given, all of it plain data."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return f".{called(self.name, *self.args, **dict(self.kwargs))}"

    @staticmethod
    def of(name: str, /, *args: Any, **kwargs: Any) -> Edit:
        """The edit as one calls it: Edit.of("tile", "i", "j", sizes=(8, 64)); InputError if that is none."""
        if name not in EDITS:
            raise InputError(f"there is no edit '{name}'", hint=f"the edits are: {', '.join(sorted(EDITS))}")
        try:
            EDITS[name].signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InputError(f"{Edit(name, args, tuple(kwargs.items()))}: {error}") from None
        return plain_edit(name, args, kwargs)

    @property
    def kind(self) -> EditKind:
        return EDITS[self.name]

    def made(self, draft: Draft) -> Draft:
        """The draft after it, within no budget of its own."""
        return self.kind.apply(draft, *self.args, **dict(self.kwargs))


def plain_edit(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Edit:
    """The edit with its arguments as plain data; InputError where one is of another kind than the edit's."""
    plain, named = plain_arguments(EDITS[name].apply, args, kwargs)
    return Edit(name, plain, tuple(named.items()))
