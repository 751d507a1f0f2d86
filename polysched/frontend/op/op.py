"""An operator: a Python function over whole arrays, as NumPy runs it, and what becomes of it stage by stage.

    @op
    def scaled(x: f32["n", 4], by: f32["n"]):           scaled.ssa        %v0 = Slice(%by) {at = [:, None]} ...
        return x * by[:, None]                 ->       scaled.tensor     out[i, j] = x[i, j] * v0[i, j]
                                                        scaled.nest       def scaled(x: f32[n, 4], ..., n: size): ...

A name in a shape is a size, whether or not it is a parameter too. A parameter with a default and no annotation is a
constant, the default. What the function returns goes to new parameters of the nest: a returned variable gives its name,
anything else is `out`, or `out0`, `out1`, ... of several. A parameter that is changed in place stays one parameter. An
array from outside may be a parameter too, whose default is what it holds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.extents import normal
from polysched.frontend.op.lowering.lower import Lowered, Tensors, lowered
from polysched.frontend.op.reading.in_place import copied_back, in_place
from polysched.frontend.op.reading.outside import known_to
from polysched.frontend.op.reading.read import Arguments, Program, read
from polysched.frontend.python_signature import result_types, signature
from polysched.frontend.python_source import Source, defaults_of, definition_in, definition_of
from polysched.frontend.tensor.nest import function as nest_of
from polysched.frontend.travelling import Travelling
from polysched.ir.dtypes import DType
from polysched.ir.graph.operations import Graph, TensorType
from polysched.ir.nodes import Array, Binary, Const, Function, Var
from polysched.ir.text import head
from polysched.ir.verify import verify
from polysched.support.brief import brief
from polysched.support.entry import entries, entry


@entries
@dataclass(frozen=True)
class Op(Travelling):
    """An operator in its stages, each of which prints; calling it runs the Python function, as a reference."""

    ssa: Graph
    tensor: Tensors
    nest: Function
    results: tuple[str, ...]  # for each value that the function returns, the array of the nest that has it in the end
    python: Callable[..., Any] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return brief(self, head(self.nest))

    @property
    def name(self) -> str:
        return self.nest.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.python is None:
            raise InputError(f"'{self.name}' was read from a text and cannot be run by Python", None, "use optimize")
        return self.python(*args, **kwargs)


@entry
def op(function: Callable[..., Any]) -> Op:
    """The operator that a function with annotated parameters spells out; a decorator.

    InputError with the place of what an operator cannot have, or if the source of the function is not available.
    """
    source, definition = definition_of(function)
    assert isinstance(function, FunctionType)
    return replace(_op(source, definition, known_to(function), defaults_of(function)), python=function)


def parse_op(text: str, filename: str, first_line: int = 1, outside: Mapping[str, Any] | None = None) -> Op:
    """The operator in a text that defines one function; `first_line` is the number of the text's first line, `outside`
    what names outside of it stand for."""
    return _op(*definition_in(text, filename, first_line), outside or {})


def _op(
    source: Source, definition: ast.FunctionDef, constants: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> Op:
    params, scope = signature(source, definition, defaults, of_op=True)
    arguments: dict[str, Array | Var | None] = dict.fromkeys(params)
    for name, array in scope.arrays.items():
        arguments[name] = replace(array, shape=tuple(map(normal, array.shape)))
    for name, dtype in scope.scalars.items():
        arguments[name] = Var(name, dtype)
    arguments |= {name: None for name in scope.sizes if name not in arguments}
    program = read(source, definition, arguments, {**constants, **scope.constants})
    arguments |= {one.name: one.array for one in program.captured}
    _check_results(source, definition, program, result_types(source, definition, scope))
    tensors, nest = _stages(source, definition, program, arguments)
    held = ((one.name, one.contents) for one in program.captured)
    nest = replace(nest, defaults=(*scope.defaults.items(), *held))
    return Op(program.graph, Tensors(tensors.all), nest, program.returned)


def _check_results(
    source: Source,
    definition: ast.FunctionDef,
    program: Program,
    declared: tuple[tuple[DType, tuple[Any, ...]], ...] | None,
) -> None:
    """InputError if the results are not those that the annotation after -> promises."""
    if declared is None:
        return
    assert definition.returns is not None
    returned = [output for output in program.outputs if not output.in_place] or list(program.outputs)
    if len(returned) != len(declared):
        message = f"{len(declared)} results are declared, and there are {len(returned)}"
        raise source.error(definition.returns, message, "declare each")
    for output, (dtype, shape) in zip(returned, declared, strict=True):
        promised = TensorType(dtype, tuple(map(normal, shape)))
        # An array of shape [n - 2] says that n is 2 or more, so that it has the shape [max(n - 2, 0)], too.
        counted = TensorType(dtype, tuple(normal(Binary("max", extent, Const(0))) for extent in shape))
        if output.value.type not in (promised, counted):
            message = f"the result '{output.name}' is {output.value.type}, and declared as {promised}"
            raise source.error(definition.returns, message, "declare what is returned, or convert it with astype")


def _stages(
    source: Source, definition: ast.FunctionDef, program: Program, arguments: Arguments
) -> tuple[Lowered, Function]:
    """Tensor expressions and nest, by the first of three ways in which parameters can be changed without losing values
    that are still needed: in place; in place, when the values have been computed; by a copy of the whole array."""
    for values_first, may_copy in ((False, False), (True, False), (False, True)):
        tensors = lowered(program, arguments, values_first=values_first)
        function: Function | None = nest_of(
            definition.name, tensors.inputs, tensors.outputs, loc=source.loc(definition)
        )
        for result, parameter in tensors.in_place:
            if function:
                copied = copied_back(function, result, parameter, arguments) if may_copy else None
                function = in_place(function, result, parameter) or copied
        if function:
            return tensors, _with_parameters(function, arguments)
    raise AssertionError("a copy is always possible")


def _with_parameters(function: Function, arguments: Arguments) -> Function:
    """The function with its parameters in order: the user's, then new arrays, then sizes."""
    known = {array.name for array in function.arrays}
    unused = tuple(one for one in arguments.values() if isinstance(one, Array) and one.name not in known)
    sizes = tuple(name for name, given in arguments.items() if given is None)
    scalars = tuple(one for one in arguments.values() if isinstance(one, Var))
    arrays = {array.name: array for array in (*function.arrays, *unused)}
    params = dict.fromkeys((*(name for name in arguments if name not in sizes), *arrays, *sizes))
    order = [name for name in params if name in arrays]
    function = replace(
        function, arrays=tuple(arrays[name] for name in order), params=tuple(params), sizes=sizes, scalars=scalars
    )
    verify(function, "source")
    return function
