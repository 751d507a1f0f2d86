"""Functions of NumPy that multiply and add up, products of matrices and `einsum`, and the shapes of their results.

einsum(emit, "ij,jk->ik", a, b)                               %v = Einsum(%a, %b) {spec = ij,jk->ik}
contraction("ij,jk->ik", [("A", [n, m]), ("B", [m, 4])])      (("ij", "jk", "ik"), {i: n, j: m, k: 4})
product_of_matrices(("A", [b, n, m]), ("B", [m, 4]))          [b, n, 4]
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, common_type, name_of
from polysched.frontend.op.extents import Shape, broadcast, shown
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy.making import as_array
from polysched.frontend.op.numpy.operators import binary
from polysched.frontend.op.numpy.passed import axes_in_order
from polysched.frontend.op.numpy.shaping import reshape
from polysched.ir.dtypes import DType
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


def matmul(emit: Emitter, x1: Ref, x2: Ref, dtype: DType | None = None) -> Ref:
    dtype = dtype or common_type((x1, x2)).dtype
    shape = product_of_matrices((name_of(x1), x1.shape), (name_of(x2), x2.shape))
    return emit.result("MatMul", [emit.in_dtype(x1, dtype), emit.in_dtype(x2, dtype)], dtype, shape)


def dot(emit: Emitter, a: Ref, b: Ref) -> Ref:
    """A sum over the last axis of a and the last but one of b; for matrices and vectors, their product."""
    if a.rank == 0 or b.rank == 0:
        return binary(emit, "*", a, b)
    if max(a.rank, b.rank) <= 2:
        return matmul(emit, a, b)
    return tensordot(emit, a, b, (-1, -2 if b.rank > 1 else -1))


def inner(emit: Emitter, a: Ref, b: Ref) -> Ref:
    """A sum over the last axes of both."""
    return _summed_over(emit, a, b, (-1, -1)) if a.rank and b.rank else binary(emit, "*", a, b)


def vdot(emit: Emitter, a: Ref, b: Ref) -> Ref:
    return einsum(emit, "i,i", reshape(emit, a, -1), reshape(emit, b, -1))


def vecdot(emit: Emitter, x1: Ref, x2: Ref) -> Ref:
    return einsum(emit, "...i,...i->...", x1, x2)


def outer(emit: Emitter, a: Ref, b: Ref) -> Ref:
    return einsum(emit, "i,j->ij", reshape(emit, a, -1), reshape(emit, b, -1))


def tensordot(emit: Emitter, a: Ref, b: Ref, axes: Any = 2) -> Ref:
    if isinstance(axes, int):
        axes = (tuple(range(a.rank - axes, a.rank)), tuple(range(axes)))
    return _summed_over(emit, a, b, axes).as_array()


def _summed_over(emit: Emitter, a: Ref, b: Ref, axes: Any) -> Ref:
    """The products of both, summed over these axes of a and of b."""
    of_a, of_b = (axes_in_order(given, one.rank) for given, one in zip(axes, (a, b), strict=True))
    if len(of_a) != len(of_b):
        message = f"{len(of_a)} axes of {name_of(a)} are summed over with {len(of_b)} of {name_of(b)}"
        raise InputError(message, None, "name as many of one as of the other")
    left = string.ascii_lowercase[: a.rank]
    spare = iter(string.ascii_lowercase[a.rank :])
    right = "".join(left[of_a[of_b.index(k)]] if k in of_b else next(spare) for k in range(b.rank))
    summed = {left[k] for k in of_a}
    result = "".join(letter for letter in left + right if letter not in summed)
    return einsum(emit, f"{left},{right}->{result}", a, b)


def einsum(emit: Emitter, subscripts: str, *operands: Ref, optimize: object = False, dtype: DType | None = None) -> Ref:
    """`optimize` says nothing here: the sum is one nest in any case."""
    if not isinstance(subscripts, str) or not operands:
        raise InputError("einsum needs a text that names axes, and arrays", None, "write np.einsum('ij,jk->ik', a, b)")
    refs = [as_array(emit, one) for one in operands]
    spec = with_letters_for_dots(subscripts, [one.rank for one in refs])
    labels, extents = contraction(spec, [(name_of(one), one.shape) for one in refs])
    dtype = dtype or common_type(refs).dtype
    values = [emit.in_dtype(one, dtype) for one in refs]
    return emit.result("Einsum", values, dtype, tuple(extents[label] for label in labels[-1]), spec=spec)
