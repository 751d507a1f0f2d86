"""What an operation computes of elements of its operands: element by element, in reductions, in products of matrices.

scalar("BinaryType::Add", (a[i], b[i]), f32)     ->     a[i] + b[i]
scalar("SpecFunc::Relu", (a[i],), f32)           ->     max(a[i], 0.0f32)
ReduceType::Sum(%x) {axes = (1,)}                ->     sum(x[i, j], j < m)
MatMul(%a, %b)                                   ->     sum(a[i, k] * b[k, j], k < m)

NumPy's maximum of floats is NaN if one of them is: another maximum says whether.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from polysched.frontend.arithmetic import FLOAT_FUNCTIONS, Typed, absolute, shifted
from polysched.frontend.op.emit import shape_of
from polysched.frontend.op.numpy.operators import COMPARED, KINDS
from polysched.frontend.op.numpy.products import labels_of
from polysched.frontend.tensor import functions as reductions
from polysched.frontend.tensor.value import Name, SizeName, Value, merged
from polysched.ir.dtypes import DType, boolean
from polysched.ir.graph import operations as ir_graph
from polysched.ir.graph.operations import Operation
from polysched.ir.node import walk
from polysched.ir.nodes import Binary, Call, Const, Expr, Select, Unary, Var


def scalar(kind: str, args: Sequence[Expr], dtype: DType) -> Expr:
    """The result's element; the arguments have the dtype that it is computed in, and `dtype` is the result's."""
    group, _, name = kind.partition("::")
    match group, name:
        case "BinaryType", "Shl" | "Shr":
            return shifted(_BINARY[name], *args)
        case "BinaryType", "And" | "Or" | "Xor" if args[0].dtype == boolean:
            return Binary(_LOGICAL[name], *args)
        case "BinaryType", _ if name in _BINARY:
            return Binary(_BINARY[name], *args)
        case "BinaryType", "Fmod" if dtype.is_integer:
            return Binary("truncmod", *args)
        case "BinaryType" | "UnaryType", _ if name.lower() in FLOAT_FUNCTIONS:
            return Call(name.lower(), tuple(args), dtype)
        case "UnaryType", "Neg":
            return Unary("-", args[0])
        case "UnaryType", "Not":
            return Unary("!" if args[0].dtype == boolean else "~", args[0])
        case "UnaryType", "Abs":
            return args[0] if dtype == boolean else absolute(Typed(args[0])).expr
        case "UnaryType", "Sign":
            return _sign(args[0], dtype)
        case "SpecFunc", _:
            return _special(name, args[0], dtype)
    raise TypeError(f"unknown element-wise operation {kind}")


def is_nan(value: Expr) -> Expr:
    return Binary("!=", value, value)


def _sign(x: Expr, dtype: DType) -> Expr:
    """-1, 1, or x itself, which is zero or NaN."""
    zero, one = _number(0, dtype), _number(1, dtype)
    negative = Select(Binary("<", x, zero), _number(-1, dtype), x) if dtype.kind != "u" else x
    return Select(Binary(">", x, zero), one, negative)


def _special(name: str, x: Expr, dtype: DType) -> Expr:
    zero, one = _number(0, dtype), _number(1, dtype)
    match name:
        case "Relu":
            return Binary("max", x, zero)
        case "Sigmoid":
            return Binary("/", one, Binary("+", one, Call("exp", (Unary("-", x),), dtype)))
        case "Silu":
            return Binary("*", x, _special("Sigmoid", x, dtype))
        case "Softplus":
            return Call("log1p", (Call("exp", (x,), dtype),), dtype)
        case "Gelu":
            erf = Call("erf", (Binary("*", x, _number(math.sqrt(0.5), dtype)),), dtype)
            return Binary("*", Binary("*", _number(0.5, dtype), x), Binary("+", one, erf))
        case "Rsqrt":
            return Binary("/", one, Call("sqrt", (x,), dtype))
    raise TypeError(f"unknown special function {name}")


def _number(value: float, dtype: DType) -> Const:
    return Const(float(value) if dtype.is_float else int(value), dtype)


_BINARY = {
    **{kind: symbol for symbol, kind in {**KINDS, **COMPARED}.items()},
    "FloorDiv": "floordiv",
    "Mod": "floormod",
    "Min": "min",
    "Max": "max",
}
_LOGICAL = {"And": "&&", "Or": "||", "Xor": "!="}


Index = Sequence[Value]
Load = Callable[[ir_graph.Value, Index], Value]  # the element of an operand, by broadcasting


def reduced(operation: Operation, index: Index, load: Load, names: Sequence[str]) -> Value:
    """The element of a reduction's result; `names` are those of indices, the first of them the element's own."""
    (operand,) = operation.operands
    axes = dict(operation.attributes)["axes"]
    assert isinstance(axes, tuple)
    shape = shape_of(operand)
    spare = iter(names[len(index) :])
    reduced_over = {k: _axis(shape[k], next(spare)) for k in axes}
    rest = iter(index)
    places = [reduced_over[k] if k in axes else next(rest) for k in range(len(shape))]
    term, over = load(operand, places), [*reduced_over.values()]
    result = _over(_REDUCTIONS[operation.kind], term, over)
    if operation.kind in ("ReduceType::Max", "ReduceType::Min") and term.dtype.is_float:
        one, zero, nan = (Const(value, term.dtype) for value in (1.0, 0.0, math.nan))
        nans = _over(reductions.max, Value(Select(is_nan(term.expr), one, zero), names=term.names), over)
        return Value(Select(Binary(">", nans.expr, zero), nan, result.expr), names=merged([result, nans]))
    return result


def contracted(operation: Operation, index: Index, load: Load, names: Sequence[str]) -> Value:
    """A sum of products, of all labels that the result has not."""
    operands, dtype = operation.operands, operation.results[0].type.dtype
    labels: tuple[str, ...]
    if operation.kind == "MatMul":
        labels = _labels_of_product(*(len(one.type.shape) for one in operands))
    else:
        labels = labels_of(str(dict(operation.attributes)["spec"]))
    known = dict(zip(labels[-1], index, strict=True))
    spare = iter(names[len(index) :])
    axes = []
    for letters, operand in zip(labels, operands, strict=False):
        for letter, extent in zip(letters, shape_of(operand), strict=True):
            if letter not in known and extent != Const(1):
                known[letter] = _axis(extent, next(spare))
                axes.append(known[letter])
    factors = [
        load(operand, [known.get(letter, Value(Const(0), True)) for letter in letters])
        for letters, operand in zip(labels, operands, strict=False)
    ]
    op = "&&" if not dtype.is_float and not dtype.is_integer else "*"
    term = reduce(lambda one, two: Value(Binary(op, one.expr, two.expr), names=merged([one, two])), factors)
    return _over(reductions.any if op == "&&" else reductions.sum, term, axes) if axes else term


def _axis(extent: Expr, name: str) -> Value:
    return reductions.reduce_axis(Value(extent, True, sizes_in(extent)), name)


def _over(function: Callable[..., Value], term: Value, axes: Sequence[Value]) -> Value:
    """The reduction of terms, which need not depend on all of the axes."""
    return function(Value(term.expr, names=merged([term, *axes])), axis=tuple(axes))


def sizes_in(extent: Expr) -> dict[str, Name]:
    return {v.name: SizeName(v.name) for v in walk(extent) if isinstance(v, Var)}


def _labels_of_product(left: int, right: int) -> tuple[str, str, str]:
    """Labels of the axes of a product of matrices: leading ones are broadcast from the right."""
    batch = "abcdefgh"[: max(left - 2, right - 2, 0)]
    first = batch[len(batch) - max(left - 2, 0) :] + ("xk" if left > 1 else "k")
    second = batch[len(batch) - max(right - 2, 0) :] + ("ky" if right > 1 else "k")
    return first, second, batch + ("x" if left > 1 else "") + ("y" if right > 1 else "")


_REDUCTIONS = {
    "ReduceType::Sum": reductions.sum,
    "ReduceType::Prod": reductions.prod,
    "ReduceType::Max": reductions.max,
    "ReduceType::Min": reductions.min,
    "ReduceType::NanMax": reductions.max,
    "ReduceType::NanMin": reductions.min,
    "ReduceType::Any": reductions.any,
    "ReduceType::All": reductions.all,
    "ReduceType::ArgMax": reductions.argmax,
    "ReduceType::ArgMin": reductions.argmin,
}
