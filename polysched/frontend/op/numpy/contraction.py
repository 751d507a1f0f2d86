"""Shapes of contractions: matrix products and `einsum`.

contraction("ij,jk->ik", [("A", [n, m]), ("B", [m, 4])])      ->      (("ij", "jk", "ik"), {i: n, j: m, k: 4})
product_of_matrices(("A", [b, n, m]), ("B", [m, 4]))          ->      [b, n, 4]
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from polysched.errors import InputError
from polysched.frontend.op.extents import Shape, broadcast, shown
from polysched.ir.nodes import Const, Expr
from polysched.ir.text import show

Named = tuple[str, Shape]  # what the user calls it, and its shape


def with_letters_for_dots(spec: str, ranks: Sequence[int]) -> str:
    """The text with letters in place of '...': "b...i,i->b..." of ranks 4 and 1 is "bABi,i->bAB".

    The dimensions that stand for '...' are aligned from the right; without '->', they come first in the result.
    """
    if "..." not in spec:
        return spec
    left, arrow, result = spec.replace(" ", "").partition("->")
    parts = left.split(",")
    free = [letter for letter in string.ascii_uppercase if letter not in spec]
    missing = [
        rank - len(part.replace("...", "")) if "..." in part else 0 for part, rank in zip(parts, ranks, strict=False)
    ]
    letters = "".join(free[: max([0, *missing])])
    new = [part.replace("...", letters[len(letters) - max(k, 0) :]) for part, k in zip(parts, missing, strict=False)]
    if not arrow:
        once = [letter for letter in left if letter.isalpha() and left.count(letter) == 1]
        result = "..." + "".join(sorted(once))
    return f"{','.join([*new, *parts[len(new) :]])}->{result.replace('...', letters)}"


def labels_of(spec: str) -> tuple[str, ...]:
    """The labels of each operand, then those of the result: without '->', those that stand once, sorted."""
    spec = spec.replace(" ", "")
    left, arrow, right = spec.partition("->")
    if not re.fullmatch(r"[a-zA-Z]*(,[a-zA-Z]*)*", left) or not re.fullmatch(r"[a-zA-Z]*", right):
        raise InputError(f"'{spec}' does not say which axes to multiply", None, "write it as in 'ij,jk->ik'")
    letters = left.replace(",", "")
    result = right if arrow else "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    wrong = [letter for letter in result if result.count(letter) > 1 or letter not in letters]
    if wrong:
        raise InputError(f"the label '{wrong[0]}' of the result of '{spec}' must stand once there, and in an operand")
    return (*left.split(","), result)


def contraction(spec: str, operands: Sequence[Named]) -> tuple[tuple[str, ...], dict[str, Expr]]:
    """The labels of operands and result, and the extent of each label; InputError if shapes do not fit."""
    labels = labels_of(spec)
    if len(labels) - 1 != len(operands):
        message = f"'{spec}' names {len(labels) - 1} operands, and there are {len(operands)}"
        raise InputError(message, None, "separate the letters of one from those of the next by a comma")
    extents: dict[str, tuple[Expr, str]] = {}
    for letters, (name, shape) in zip(labels, operands, strict=False):
        if len(letters) != len(shape):
            message = f"'{letters}' names {len(letters)} axes of {name}, whose shape is {shown(shape)}"
            raise InputError(message, None, "write one letter for each axis")
        for letter, extent in zip(letters, shape, strict=True):
            known, owner = extents.setdefault(letter, (extent, f"{name} of shape {shown(shape)}"))
            if known == Const(1):
                extents[letter] = (extent, name)
            elif extent not in (known, Const(1)):
                message = (
                    f"'{letter}' is {show(known)} by {owner}, and {show(extent)} by {name} of shape {shown(shape)}"
                )
                raise InputError(message, None, "the extents of one letter must be equal")
    return labels, {letter: extent for letter, (extent, _) in extents.items()}


def product_of_matrices(left: Named, right: Named) -> Shape:
    """The shape of left @ right, by NumPy's rule; InputError, with both shapes, if they do not fit."""
    (name, shape), (other_name, other) = left, right
    both = f"{name} of shape {shown(shape)} and {other_name} of shape {shown(other)}"
    if not shape or not other:
        raise InputError(f"{both} cannot be multiplied as matrices", None, "numbers are multiplied by *")
    inner, other_inner = shape[-1], other[-2] if len(other) > 1 else other[0]
    if inner != other_inner:
        message = f"{both} cannot be multiplied as matrices"
        raise InputError(message, None, f"the inner extents {show(inner)} and {show(other_inner)} must be equal")
    outer = broadcast([(name, shape[:-2]), (other_name, other[:-2])])
    return (*outer, *shape[-2:-1], *(other[-1:] if len(other) > 1 else ()))
