"""From tensors to a nest: what is needed of the outputs, each with an array or inlined, in the order of their reads.

    function("mm", [A, B], [D])          def mm(A: f32[n, 64], B: f32[64, 32], D: f32[n, 32], n: size):
                                             for i in 0..n:
      C[i, j] = sum(A[i, k] * B[k, j])           for j in 0..32:
      D[i, j] = C[i, j] / 2.0       ->               D[i, j] = 0.0f32
                                                     for k in 0..64:
                                                         D[i, j] = D[i, j] + A[i, k] * B[k, j]
                                                     D[i, j] = D[i, j] / 2.0f32

Needs: each name stands for one thing, in all tensors of the function.

A sum of another dtype than the element's, or beside another one, is made in a scalar. What is greatest and where is
told by two statements without a branch, so that both are affine: I[i] = x >= best ? k : I[i], then best = max(best, x);
k runs down, so that of equal ones the first stays. As in NumPy, the first NaN is both greatest and least.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from polysched.errors import InputError, Loc
from polysched.frontend.tensor.caller import caller
from polysched.frontend.tensor.functions import ARGS, Reduction
from polysched.frontend.tensor.fuse import Group, fused, scalars
from polysched.frontend.tensor.inline import fresh, inlined, mapped, with_axes_beside
from polysched.frontend.tensor.stores import without_copies, without_dead_stores
from polysched.frontend.tensor.tensor import Body, Tensor
from polysched.frontend.tensor.value import Name, ScalarName, SizeName, Value, agreed
from polysched.ir.build import sub
from polysched.ir.dtypes import DType, boolean
from polysched.ir.node import rewrite, substitute, walk
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, Function, If, Load, Select, Stmt, Store, Var
from polysched.ir.simplify import simplify
from polysched.ir.verify import verify
from polysched.model.reduction import identity
from polysched.support.entry import entry


@entry
def function(
    name: str, inputs: Sequence[Tensor | Value], outputs: Sequence[Tensor], *, loc: Loc | None = None
) -> Function:
    """The nest that computes the outputs; its parameters are the inputs, the outputs, and the sizes that are used.

    Sizes and scalars may stand among the inputs, to say in which order calls take them. Other tensors are computed
    where they are read, or are local arrays. InputError for a tensor that is used and not given, and the reverse.
    """
    loc = loc or caller()
    tensors = _needed(outputs)
    names = _meanings(inputs, outputs, tensors, loc)
    _check(name, inputs, outputs, tensors, loc)
    sizes = tuple(meaning.name for meaning in names.values() if isinstance(meaning, SizeName))
    parts = without_copies(inlined(tensors, outputs), outputs, sizes)
    kept = [(each, without_dead_stores(each.name, bodies, sizes)) for each, bodies in parts]
    groups = fused(kept, sizes)
    local = scalars(groups, outputs)
    arrays = tuple(_array(each, "global") for each in (*_tensors(inputs), *outputs))
    own = dict.fromkeys(each for each, _ in kept if each not in outputs and each.name not in local)
    temporary = [_array(each, "private") for each in own]
    taken = {*names, *local, *(array.name for array in (*arrays, *temporary))}
    by_value = tuple(Var(s.name, s.dtype) for s in names.values() if isinstance(s, ScalarName))
    given = [each.name if isinstance(each, Tensor) else str(each.expr) for each in inputs]
    parameters = dict.fromkeys((*given, *(each.name for each in outputs), *(s.name for s in by_value), *sizes))
    body = (
        *(Alloc(array, loc) for array in temporary),
        *(stmt for group in groups for stmt in loops(group, local, taken)),
    )
    made = Function(name, sizes, arrays, body, by_value, tuple(parameters), loc)
    verify(made, "source")
    return made


def _needed(outputs: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """The outputs and all that they are computed from, each after what it reads."""
    found: dict[int, Tensor] = {}

    def visit(tensor: Tensor) -> None:
        if id(tensor) not in found:
            for meaning in tensor.names.values():
                if isinstance(meaning, Tensor):
                    visit(meaning)
            found[id(tensor)] = tensor

    for output in outputs:
        visit(output)
    return tuple(found.values())


def _tensors(inputs: Iterable[Tensor | Value]) -> tuple[Tensor, ...]:
    return tuple(each for each in inputs if isinstance(each, Tensor))


def _meanings(
    inputs: Sequence[Tensor | Value], outputs: Sequence[Tensor], tensors: Iterable[Tensor], loc: Loc | None
) -> dict[str, Name]:
    """All names of the function; InputError if one stands for two things."""
    every = (*inputs, *outputs, *tensors)
    itself = ([(each.name, each)] if isinstance(each, Tensor) else [] for each in every)
    names = (pair for own, each in zip(itself, every, strict=True) for pair in (*own, *each.names.items()))
    return agreed(names, lambda meaning: meaning.loc if isinstance(meaning, Tensor) else loc)


def _check(
    name: str, inputs: Sequence[Tensor | Value], outputs: Sequence[Tensor], tensors: Sequence[Tensor], loc: Loc | None
) -> None:
    for each in outputs:
        if not each.bodies:
            raise InputError(f"the output {each.name} is a placeholder", loc, "outputs are computed")
    for each in _tensors(inputs):
        if each.bodies:
            raise InputError(f"the input {each.name} is computed", loc, "inputs are placeholders, sizes and scalars")
        if each not in tensors:
            raise InputError(f"the input {each.name} is not used by what {name} computes", loc, "leave it out")
    for each in tensors:
        if not each.bodies and each not in _tensors(inputs):
            reader = next(t for t in tensors if t.names.get(each.name) is each)
            message = f"{reader.name} reads the placeholder {each.name}, which is not among the inputs of {name}"
            raise InputError(message, loc, f"add {each.name} to the inputs")


def _array(tensor: Tensor, space: str) -> Array:
    return Array(tensor.name, tensor.dtype, tensor.extents, space)


def loops(group: Group, local: frozenset[str], taken: set[str]) -> tuple[Stmt, ...]:
    """The loops that store the elements of a group; tensors that are `local` are scalars in them.

    Names of other new scalars are added to those taken.
    """
    bodies = [(tensor, _beside(body, taken)) for tensor, body in group]
    statements = [stmt for tensor, body in bodies for stmt in _stores(tensor, body, taken)]
    first = bodies[0][1]

    def as_scalar(node: Expr | Stmt) -> Expr | Stmt | None:
        return replace(node, index=()) if isinstance(node, Load | Store) and node.array in local else None

    inner: tuple[Stmt, ...] = rewrite(tuple(statements), as_scalar)
    born = tuple(Alloc(Array(t.name, t.dtype, (), "private"), t.loc) for t, _ in group if t.name in local)
    inner = (*born, *inner)
    for var, extent in reversed(list(zip(first.indices, first.extents, strict=True))):
        inner = (For(var, Const(0), extent, 1, inner, loc=first.loc),)
    return inner


def _stores(tensor: Tensor, body: Body, taken: set[str]) -> Iterator[Stmt]:
    """What one iteration does."""
    bound = {*body.indices, *(axis.name for reduction in body.reductions for axis in reduction.axes)}
    value, element = body.value, Load(tensor.name, body.at, tensor.dtype)
    is_free = not any(isinstance(node, Load) and node.array == tensor.name for node in walk(value))
    for reduction in body.reductions:
        if is_free and reduction.dtype == tensor.dtype:
            result, is_free = element, False
        else:
            scalar = _scalar("acc", reduction.dtype, taken, bound)
            yield Alloc(scalar, reduction.loc)
            result = Load(scalar.name, (), scalar.dtype)
        yield from _reduced(reduction, result, taken, bound)
        value = substitute(value, {reduction.name: result})
    if value != element:
        yield Store(tensor.name, body.at, value, body.loc)


def _scalar(name: str, dtype: DType, taken: set[str], bound: set[str]) -> Array:
    name = fresh(name, taken | bound)
    taken.add(name)
    return Array(name, dtype, (), "private")


def _reduced(reduction: Reduction, result: Load, taken: set[str], bound: set[str]) -> Iterator[Stmt]:
    """The statements after which the element `result` is the reduction's."""
    loc, term = reduction.loc, reduction.term
    store = partial(Store, result.array, result.index, loc=loc)
    then: tuple[Stmt, ...] = (store(Binary(reduction.op, result, term)),)
    if reduction.op in ARGS:
        best = _scalar("best", term.dtype, taken, bound)
        so_far = Load(best.name, (), best.dtype)
        better: Expr = Binary(">=" if reduction.op == "argmax" else "<=", term, so_far)
        extreme: Expr = Binary(ARGS[reduction.op], so_far, term)
        if term.dtype.is_float:
            is_nan = Binary("!=", term, term)
            better, extreme = Binary("||", better, is_nan), Select(is_nan, term, extreme)
        yield Alloc(best, loc)
        yield Store(best.name, (), identity(ARGS[reduction.op], term.dtype), loc)
        then = (store(Select(better, reduction.place, result)), Store(best.name, (), extreme, loc))
    yield store(_first(reduction))
    body: tuple[Stmt, ...] = then if reduction.where is None else (If(reduction.where, then, loc=loc),)
    for axis in reversed(reduction.axes):
        lo, hi, step = axis.lo, axis.hi, 1
        if reduction.op in ARGS:
            lo, hi, step = simplify(sub(hi, 1)), simplify(sub(lo, 1)), -1
        body = (For(axis.name, lo, hi, step, body, loc=loc),)
    yield from body


def _first(reduction: Reduction) -> Const:
    """What the result is of no terms."""
    match reduction.op:
        case "argmax" | "argmin":
            return Const(0)
        case "||" | "&&":
            return Const(reduction.op == "&&", boolean)
        case "+" if reduction.dtype.is_float:
            return Const(0.0, reduction.dtype)
    return identity(reduction.op, reduction.dtype)


def _beside(body: Body, taken: set[str]) -> Body:
    """The body with indices and axes that have none of the names taken."""
    new: dict[str, str] = {}
    for name in body.indices:
        new[name] = fresh(name, {*taken, *body.indices, *new.values()}) if name in taken else name
    changed: dict[str, Expr] = {old: Var(name) for old, name in new.items() if old != name}
    around = {*taken, *new.values()}
    renamed = mapped(body, changed) if changed else body
    apart = tuple(with_axes_beside(each, around) for each in renamed.reductions)
    return replace(renamed, indices=tuple(new.values()), reductions=apart)
