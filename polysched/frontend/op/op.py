"""An operator: a Python function over whole arrays, as NumPy runs it, and what becomes of it stage by stage.

    @op
    def scaled(x: f32["n", 4], by: f32["n"]):           scaled.ssa        %v0 = Slice(%by) {at = [:, None]} ...
        return x * by[:, None]                 ->       scaled.tensor     out[i, j] = x[i, j] * v0[i, j]
                                                        scaled.nest       def scaled(x: f32[n, 4], ..., n: size): ...

A name in a shape is a size, whether or not it is a parameter too. A parameter with a default and no annotation is a
constant, the default. What the function returns goes to new parameters of the nest: a returned variable gives its name,
anything else is `out`, or `out0`, `out1`, ... of several. A parameter that is changed in place stays one parameter. An
array from outside may be a parameter too, whose default is what it holds.

Results that go to a parameter do so in place where no value that is still needed is lost, else by a copy:

    for i in 0..n: a_new[i] = a[i]                            for i in 0..n // 2:
    for i in 0..n // 2:                               ->          a[2 * i] = a[2 * i] + a[2 * i + 1]
        a_new[2 * i] = a[2 * i] + a[2 * i + 1]

    for i in 0..n - 1: a_new[i + 1] = a[i] + 1        ->      ... of a local array a_new, then
                                                              for i in 0..n: a[i] = a_new[i]

In place: every read of the parameter that does not come before all stores is of the element that its statement stores,
or of one that is never stored.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import FunctionType
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.extents import normal
from polysched.frontend.op.lowering.lower import Lowered, Tensors, lowered
from polysched.frontend.op.reading.outside import known_to
from polysched.frontend.op.reading.read import Arguments, Program, read
from polysched.frontend.python_signature import result_types, signature
from polysched.frontend.python_source import Source, Travelling, defaults_of, definition_in, definition_of
from polysched.frontend.tensor.nest import function as nest_of
from polysched.frontend.tensor.stores import elements
from polysched.ir.dtypes import DType
from polysched.ir.graph.operations import Graph, TensorType
from polysched.ir.node import loads, stored, walk
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, Function, If, Load, Stmt, Store, Var
from polysched.ir.rename import rename_array
from polysched.ir.text import head
from polysched.ir.verify import verify
from polysched.model.affine import NotAffine
from polysched.model.known import accesses
from polysched.model.loops import loop_conditions
from polysched.support import isl
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
            is_converted = output.value.type.shape in (promised.shape, counted.shape)
            hint = f"declare what is returned{', or convert it with astype' * is_converted}"
            raise source.error(definition.returns, message, hint)


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


# --- results that go to a parameter


def in_place(function: Function, result: str, parameter: str) -> Function | None:
    """The function with no array parameter `result`, whose stores go to `parameter`; None if that may lose values."""
    body = _without_copy(function.body, result, parameter)
    if body is None or not _may_be_in_place(body, result, parameter, function.sizes):
        return None
    return replace(_without(function, result), body=rename_array(body, result, parameter))


def copied_back(function: Function, result: str, parameter: str, names: Iterable[str]) -> Function:
    """The function with a local array `result`, which is copied to `parameter` in the end.

    `names` are those that no new loop variable has.
    """
    array = function.array(result)
    local = Alloc(replace(array, space="private"), function.loc)
    copy = _copy(array, parameter, function, names)
    return replace(_without(function, result), body=(local, *function.body, copy))


def _without(function: Function, result: str) -> Function:
    arrays = tuple(one for one in function.arrays if one.name != result)
    return replace(function, arrays=arrays, params=tuple(name for name in function.params if name != result))


def _without_copy(body: tuple[Stmt, ...], result: str, parameter: str) -> tuple[Stmt, ...] | None:
    """The body without the loops that only copy the parameter to the result; None if they do more."""
    kept = []
    for stmt in body:
        stores = [node for node in walk(stmt) if isinstance(node, Store)]
        copies = [s for s in stores if s.array == result and s.value == Load(parameter, s.index, s.value.dtype)]
        if not copies:
            kept.append(stmt)
        elif len(stores) > len(copies):
            return None
    return tuple(kept)


def _may_be_in_place(body: tuple[Stmt, ...], result: str, parameter: str, sizes: tuple[str, ...]) -> bool:
    first = next((k for k, stmt in enumerate(body) if result in stored(stmt)), len(body))
    placed = [(store, where.loops) for store, where in accesses(body[first:]) if isinstance(store, Store)]
    if any(loads(_control(stmt), parameter) for stmt in walk(body[first:])):
        return False
    try:
        stores = [_elements(loops, store.index, sizes) for store, loops in placed if store.array == result]
        written = [one.range() for one in stores]
        reads_own = False
        for store, loops in placed:
            for read in loads(store, parameter):
                if store.array == result and read.index == store.index:
                    reads_own = True
                    continue
                needed = _elements(loops, read.index, sizes).range()
                if not all(needed.is_disjoint(one) for one in written):
                    return False
    except NotAffine:
        return False
    # An element that is read where it is stored must not have been stored before.
    is_stored_once = all(one.is_injective() for one in stores)
    return not reads_own or (is_stored_once and all(a.is_disjoint(b) for a, b in combinations(written, 2)))


def _control(node: object) -> tuple[Expr, ...]:
    """What decides whether, and how often, statements run."""
    match node:
        case For(lo=lo, hi=hi):
            return lo, hi
        case If(cond=cond):
            return (cond,)
    return ()


def _elements(loops: tuple[For, ...], index: tuple[Expr, ...], sizes: tuple[str, ...]) -> isl.Map:
    return elements((loop.var for loop in loops), (c for loop in loops for c in loop_conditions(loop)), index, sizes)


def _copy(array: Array, parameter: str, function: Function, names: Iterable[str]) -> Stmt:
    """parameter[...] = array[...]."""
    taken = {*names, *function.params, *(node.var for node in walk(function.body) if isinstance(node, For))}
    free = (name for name in (*"ijklmnpq", *(f"i{k}" for k in range(32))) if name not in taken)
    names = [next(free) for _ in array.shape]
    index = tuple(map(Var, names))
    copy: Stmt = Store(parameter, index, Load(array.name, index, array.dtype), function.loc)
    for name, extent in reversed(list(zip(names, array.shape, strict=True))):
        copy = For(name, Const(0), extent, 1, (copy,), loc=function.loc)
    return copy
