"""From tensors to a nest: what is needed of the outputs, each with an array or inlined, in the order of their reads.

    function("mm", [A, B], [D])          def mm(A: f32[n, 64], B: f32[64, 32], D: f32[n, 32], n: size):
                                             for i in 0..n:
      C[i, j] = sum(A[i, k] * B[k, j])           for j in 0..32:
      D[i, j] = C[i, j] / 2.0       ->               D[i, j] = 0.0f32
                                                     for k in 0..64:
                                                         D[i, j] = D[i, j] + A[i, k] * B[k, j]
                                                     D[i, j] = D[i, j] / 2.0f32

Needs: each name stands for one thing, in all tensors of the function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polysched.errors import InputError, Loc
from polysched.frontend.tensor.caller import caller
from polysched.frontend.tensor.fuse import fused, scalars
from polysched.frontend.tensor.inline import inlined
from polysched.frontend.tensor.loops import loops
from polysched.frontend.tensor.stores import without_copies, without_dead_stores
from polysched.frontend.tensor.tensor import Tensor
from polysched.frontend.tensor.value import Name, ScalarName, SizeName, Value, agreed
from polysched.ir.nodes import Alloc, Array, Function, Var
from polysched.ir.verify import verify
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
