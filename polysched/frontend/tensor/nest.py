"""From tensors to a nest: loops over the indices of each, sums made in the element that they are stored to.

function("mm", [A, B], [D])          def mm(A: f32[n, 64], B: f32[64, 32], D: f32[n, 32], n: size):
                                         for i in 0..n:
  C[i, j] = sum(A[i, k] * B[k, j])           for j in 0..32:
  D[i, j] = C[i, j] / 2.0       ->               D[i, j] = 0.0f32
                                                 for k in 0..64:
                                                     D[i, j] = D[i, j] + A[i, k] * B[k, j]
                                                 D[i, j] = D[i, j] / 2.0f32
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from polysched.errors import InputError, Loc
from polysched.frontend.tensor.caller import caller
from polysched.frontend.tensor.inline import fresh, inlined, mapped, with_axes_beside
from polysched.frontend.tensor.reduce import ARGS, Reduction
from polysched.frontend.tensor.tensor import Body, Tensor
from polysched.frontend.tensor.value import Name, ScalarName, SizeName, Value
from polysched.ir.dtypes import DType, boolean
from polysched.ir.node import substitute
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, Function, If, Load, Select, Stmt, Store, Var
from polysched.ir.verify import verify
from polysched.model.reduction import identity


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
    _check(name, inputs, outputs, tensors, names, loc)
    kept = inlined(tensors, tuple(outputs))
    arrays = tuple(_array(each, "global") for each in (*_tensors(inputs), *outputs))
    local = tuple(_array(each, "private") for each, _ in kept if each not in outputs)
    taken = {*names, *(array.name for array in (*arrays, *local))}
    sizes = tuple(meaning.name for meaning in names.values() if isinstance(meaning, SizeName))
    scalars = tuple(Var(s.name, s.dtype) for s in names.values() if isinstance(s, ScalarName))
    given = [each.name if isinstance(each, Tensor) else str(each.expr) for each in inputs]
    parameters = dict.fromkeys((*given, *(each.name for each in outputs), *(s.name for s in scalars), *sizes))
    made = Function(
        name,
        sizes,
        arrays,
        (*(Alloc(array, loc) for array in local), *(stmt for each, body in kept for stmt in _nest(each, body, taken))),
        scalars,
        tuple(parameters),
        loc,
    )
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
    of_each = [{each.name: each, **each.names} if isinstance(each, Tensor) else each.names for each in inputs]
    names: dict[str, Name] = {}
    for some in (*of_each, *({each.name: each, **each.names} for each in tensors)):
        for name, meaning in some.items():
            known = names.setdefault(name, meaning)
            if known is not meaning and known != meaning:
                both = known.what if known.what == meaning.what else f"{known.what} and {meaning.what}"
                place = meaning.loc if isinstance(meaning, Tensor) else loc
                raise InputError(f"two different things are named {name}: {both}", place, "rename one of them")
    return names


def _check(
    name: str,
    inputs: Sequence[Tensor | Value],
    outputs: Sequence[Tensor],
    tensors: Sequence[Tensor],
    names: dict[str, Name],
    loc: Loc | None,
) -> None:
    for each in _tensors(inputs):
        if each.body is not None:
            raise InputError(f"the input {each.name} is computed", loc, "inputs are placeholders, sizes and scalars")
        if each not in tensors:
            raise InputError(f"the input {each.name} is not used by what {name} computes", loc, "leave it out")
    for each in tensors:
        if each.body is None and each in outputs:
            raise InputError(f"the output {each.name} is a placeholder", loc, "outputs are computed")
        if each.body is None and each not in inputs:
            reader = next(t for t in tensors if t.names.get(each.name) is each)
            message = f"{reader.name} reads the placeholder {each.name}, which is not among the inputs of {name}"
            raise InputError(message, loc, f"add {each.name} to the inputs")


def _array(tensor: Tensor, space: str) -> Array:
    return Array(tensor.name, tensor.dtype, tensor.extents, space)


# --- one tensor


def _nest(tensor: Tensor, body: Body, taken: set[str]) -> tuple[Stmt, ...]:
    """The loops that fill its array; names of new scalars are added to those taken."""
    body = _beside(body, taken)
    element = tuple(map(Var, body.indices))
    bound = {*body.indices, *(axis.name for reduction in body.reductions for axis in reduction.axes)}
    statements: list[Stmt] = []
    value, in_element = body.value, False
    for reduction in body.reductions:
        target = Array(tensor.name, tensor.dtype, (), "global")
        index: tuple[Expr, ...] = element
        if in_element or reduction.dtype != tensor.dtype:
            target, index = _scalar("acc", reduction.dtype, taken, bound), ()
            statements.append(Alloc(target, reduction.loc))
        else:
            in_element = True
        statements += _reduced(reduction, target, index, taken, bound)
        value = substitute(value, {reduction.name: Load(target.name, index, target.dtype)})
    if value != Load(tensor.name, element, tensor.dtype):
        statements.append(Store(tensor.name, element, value, tensor.loc))
    for var, extent in reversed(list(zip(body.indices, tensor.extents, strict=True))):
        statements = [For(var, Const(0), extent, 1, tuple(statements), loc=tensor.loc)]
    return tuple(statements)


def _scalar(name: str, dtype: DType, taken: set[str], bound: set[str]) -> Array:
    name = fresh(name, taken | bound)
    taken.add(name)
    return Array(name, dtype, (), "private")


def _reduced(
    reduction: Reduction, target: Array, index: tuple[Expr, ...], taken: set[str], bound: set[str]
) -> Iterator[Stmt]:
    """The statements after which the target's element holds the result."""
    loc, term = reduction.loc, reduction.term
    result = Load(target.name, index, target.dtype)
    store = partial(Store, target.name, index, loc=loc)
    first, then = _first(reduction), (store(Binary(reduction.op, result, term)),)
    if reduction.op in ARGS:
        best = _scalar("best", term.dtype, taken, bound)
        so_far = Load(best.name, (), best.dtype)
        better = Binary(">" if reduction.op == "argmax" else "<", term, so_far)
        extreme = Store(best.name, (), Binary(ARGS[reduction.op], so_far, term), loc)
        yield Alloc(best, loc)
        yield Store(best.name, (), identity(ARGS[reduction.op], term.dtype), loc)
        then = (store(Select(better, reduction.place, result)), extreme)
    yield store(first)
    body: tuple[Stmt, ...] = then if reduction.where is None else (If(reduction.where, then, loc=loc),)
    for axis in reversed(reduction.axes):
        body = (For(axis.name, axis.lo, axis.hi, 1, body, loc=loc),)
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
        new[name] = fresh(name, {*taken, *body.indices, *new.values()} - {name}) if name in taken else name
    changed: dict[str, Expr] = {old: Var(name) for old, name in new.items() if old != name}
    around = {*taken, *new.values()}
    renamed = mapped(body, changed) if changed else body
    apart = tuple(with_axes_beside(each, around) for each in renamed.reductions)
    return replace(renamed, indices=tuple(new.values()), reductions=apart)
