"""Functions of NumPy that multiply and add up: products of matrices, `einsum`.

einsum(emit, "ij,jk->ik", a, b)     %v = Einsum(%a, %b) {spec = ij,jk->ik}
"""

from __future__ import annotations

from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, common_type, name_of
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy.contraction import contraction, product_of_matrices, with_letters_for_dots
from polysched.frontend.op.numpy.joining import as_array
from polysched.frontend.op.numpy.operators import binary
from polysched.frontend.op.numpy.passed import axes_in_order
from polysched.frontend.op.numpy.shaping import reshape
from polysched.ir.dtypes import DType

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


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
    left = _LETTERS[: a.rank]
    spare = iter(_LETTERS[a.rank :])
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
