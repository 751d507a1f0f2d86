"""The edits of a nest: each by its name, from plain data, and back from JSON.

    applied(gemm, [NestEdit("expand", ("s",)), NestEdit("units")])

An edit proves that it is right, or is refused; none asks for a target or a cost. What pays is chosen in choose.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import Any

from polysched.config.plain import plain_arguments, with_tuples
from polysched.errors import InputError, PolyschedError
from polysched.ir.nodes import Function
from polysched.prelude.edit import NestEdit
from polysched.prelude.expand import expand
from polysched.prelude.expand_arrays import expand_arrays
from polysched.prelude.in_place import accumulate_in_place
from polysched.prelude.integer_indices import integer_indices
from polysched.prelude.macro_statements import write_out
from polysched.prelude.padding.unpadded import unpad
from polysched.prelude.padding.zeros import zeros
from polysched.prelude.structure.structure import structured
from polysched.prelude.units import without_units
from polysched.prelude.untile import untiled

# Their documentation says what each needs. Those without arguments do all that they can, which may be nothing.
NEST_EDITS: Mapping[str, Callable[..., Function]] = {
    "untile": untiled,
    "unpad": unpad,
    "write_out": write_out,
    "integer_indices": integer_indices,
    "structure": structured,
    "in_place": accumulate_in_place,
    "expand": expand,
    "units": without_units,
    "zeros": zeros,
    "expand_arrays": expand_arrays,
}


def applied(function: Function, edits: Iterable[NestEdit]) -> Function:
    """The nest after these edits. InputError for one that there is not, or that does not fit the nest, and its name."""
    for number, edit in enumerate(edits, 1):
        try:
            function = _applied(function, edit)
        except PolyschedError as error:
            error.add_note(f"in edit {number} of the nest: {edit}")
            raise
    return function


def _applied(function: Function, edit: NestEdit) -> Function:
    if edit.name not in NEST_EDITS:
        raise InputError(f"there is no edit '{edit.name}' of a nest", hint=f"the edits are: {', '.join(NEST_EDITS)}")
    apply = NEST_EDITS[edit.name]
    try:
        signature(apply).bind(function, *edit.args, **dict(edit.kwargs))
    except TypeError as error:
        raise InputError(f"{edit}: {error}") from None
    args, kwargs = plain_arguments(apply, edit.args, dict(edit.kwargs))
    return apply(function, *args, **kwargs)


def edits_as_data(edits: Iterable[NestEdit]) -> list[Any]:
    """What JSON has of them."""
    return [[edit.name, edit.args, dict(edit.kwargs), edit.why] for edit in edits]


def edits_of(data: Any) -> tuple[NestEdit, ...]:
    """The edits from what JSON has of them; InputError that says what is wrong with it."""
    if not isinstance(data, list):
        raise InputError("the edits of a nest are a list")
    return tuple(map(_edit, data))


def _edit(data: Any) -> NestEdit:
    match data:
        case [str(name), list(args), dict(kwargs), str(why)]:
            return NestEdit(name, with_tuples(args), tuple(with_tuples(kwargs).items()), why)
    raise InputError(f"an edit of a nest is [name, [arguments], {{named ones}}, why], not {data!r}")
