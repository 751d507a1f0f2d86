"""Padding: rows of a small array are stored further apart, so that a column is not all in one bank of shared memory."""

from __future__ import annotations

from dataclasses import replace

from polysched.errors import InputError
from polysched.ir.build import add
from polysched.ir.simplify import simplify
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.values.storage import own_array, with_array


@edit("values", "")
def pad(draft: Draft, array: str, dim: int = -1, extra: int = 1) -> Draft:
    """A small array with `extra` more elements along a dimension, which nothing uses; always legal.

    InputError if no edit has made the array, or if it has no such dimension.

        A_c: f64[32, 32]    ->    A_c: f64[32, 33]                   pad("A_c", 1)
    """
    old = own_array(draft, array)
    rank = len(old.shape)
    if not -rank <= dim < rank:
        raise InputError(f"'{array}' has no dimension {dim}", hint=f"it has {rank}, counted from 0")
    if extra < 1:
        raise InputError(f"pad by {extra} elements changes nothing, or takes some away", hint="give a positive number")
    shape = list(old.shape)
    shape[dim] = simplify(add(shape[dim], extra))
    return replace(draft, scop=with_array(draft.scop, replace(old, shape=tuple(shape))))
