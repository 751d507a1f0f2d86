"""A group of nodes as one nest, and all nests of a network compiled: each distinct one once, on all cores.

Names in a nest count from one, so two groups that compute the same of other arrays are one text, which is the key; the
weights are parameters of it, known to be constant. Single numbers are part of the text.
"""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import SimpleQueue

import numpy as np

from polysched.config.options import Options
from polysched.errors import BudgetExceeded, InputError
from polysched.ir.graph.operations import Operation
from polysched.ir.node import walk
from polysched.ir.nodes import Call, Cast, Function
from polysched.networks.array import Array, shape_of
from polysched.networks.expressions import Expressions, channels_last
from polysched.networks.groups import Group
from polysched.networks.node import Node
from polysched.networks.operators.all import OPERATORS, lowered
from polysched.networks.reading.schema import defaults, latest
from polysched.networks.running.programs import program
from polysched.pipeline import Compiled, optimize
from polysched.support.worker import Worker

_SECONDS = 600.0  # for one kernel, generated and compiled; then the network is refused


@dataclass(frozen=True)
class Run:
    """One run of a kernel: what its parameters are."""

    kernel: str  # its name
    group: Group
    arguments: Mapping[str, str | np.ndarray]  # of each parameter a value of the graph, or a constant


@dataclass(frozen=True)
class Kernels:
    """The calls in order, and the nests that they run."""

    calls: tuple[Run, ...]
    nests: Mapping[str, Function]  # by name
    constants: Mapping[str, tuple[str, ...]]  # of each nest, the parameters that are constant in all calls


def kernels(
    groups: Sequence[Group],
    constants: Mapping[str, np.ndarray],
    contents: Mapping[str, str],
    last: Set[str] = frozenset(),
) -> Kernels:
    """The nests of the groups; `contents` has the hash of a constant by the name of its value, and `last` the values
    that lie in memory with their channels as the last axis."""
    calls: list[Run] = []
    nests: dict[str, Function] = {}
    names: dict[tuple[str, tuple[str, ...]], str] = {}  # by the text, and what is constant in it
    fixed: dict[str, tuple[str, ...]] = {}
    for group in groups:
        nest, arguments = nest_of(group, constants, contents, last)
        constant = tuple(name for name, what in arguments.items() if isinstance(what, np.ndarray))
        key = str(nest), constant
        if key not in names:
            names[key] = f"k{len(names)}_{re.sub(r'[^a-z0-9]+', '_', group.title.lower())[:40]}"
            nests[names[key]] = replace(nest, name=names[key])
            fixed[names[key]] = constant
        calls.append(Run(names[key], group, arguments))
    return Kernels(tuple(calls), nests, fixed)


def nest_of(
    group: Group, constants: Mapping[str, np.ndarray], contents: Mapping[str, str], last: Set[str]
) -> tuple[Function, dict[str, str | np.ndarray]]:
    """The nest, and what its parameters are."""
    make = Expressions(last=any(value.name in last for value in group.outputs))
    weights = {each.operands[1].name for each in group.operations if each.kind == "Conv"} if make.last else set()
    arrays: dict[str, Array] = {}
    arguments: dict[str, str | np.ndarray] = {}
    for value in group.inputs:
        if value.name in contents:
            content = constants[contents[value.name]]
            arrays[value.name] = make.constant(content, outputs_last(content.ndim) if value.name in weights else ())
            continue
        order = channels_last(len(shape_of(value))) if value.name in last else ()
        arrays[value.name] = make.given(shape_of(value), value.type.dtype, order)
        arguments[make.parameters[-1].name] = value.name
    for operation in group.operations:
        results = lowered(node_of(operation, make), [arrays[v.name] if v.name else None for v in operation.operands])
        arrays.update({value.name: array for value, array in zip(operation.results, results, strict=True)})
    nest, outputs = make.function("kernel", [arrays[value.name] for value in group.outputs])
    arguments |= make.contents
    arguments |= {own: value.name for own, value in zip(outputs, group.outputs, strict=True)}
    return nest, {array.name: arguments[array.name] for array in nest.arrays}


def outputs_last(rank: int) -> tuple[int, ...]:
    """The axes of weights as they are read: by place in the window, then channel, then result."""
    return (*range(2, rank), 1, 0)


def node_of(operation: Operation, make: Expressions) -> Node:
    given = dict(operation.attributes)
    since = int(str(given.pop("version", latest(operation.kind))))
    label = f"%{operation.results[0].name} ({operation.kind})"
    return Node(operation.kind, label, since, given, defaults(operation.kind, since), len(operation.results), make)


def compiled(made: Kernels, options: Options) -> dict[str, Compiled]:
    """All of the nests, compiled and loaded."""
    nests, options_of = made.nests, _options_of(made, options)
    count = min(len(nests), os.cpu_count() or 1)
    if count <= 1 or multiprocessing.current_process().daemon:  # which may start no others
        return {name: _loaded(name, nest, options_of[name]) for name, nest in nests.items()}
    idle: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker() for _ in range(count)]
    for worker in workers:
        idle.put(worker)

    def one(name: str) -> Compiled:
        worker = idle.get()
        try:
            done: Compiled = worker.call(_SECONDS, _compile, nests[name], options_of[name])
        except BudgetExceeded as error:
            raise BudgetExceeded(f"kernel {name}: {error}") from None
        except InputError as error:
            raise InputError(f"kernel {name}: {error}") from None
        finally:
            idle.put(worker)
        return done

    try:
        with ThreadPoolExecutor(count) as pool:
            found = dict(zip(nests, pool.map(one, nests), strict=True))
    finally:
        for worker in workers:
            worker.close()
    return found


def _loaded(name: str, nest: Function, options: Options) -> Compiled:
    try:
        return _compile(nest, options)
    except InputError as error:
        raise InputError(f"kernel {name}: {error}") from None


def _compile(nest: Function, options: Options) -> Compiled:
    """The kernel, whose library is in the cache then."""
    done = optimize(nest, options=options)
    program(done)
    return done


def _options_of(made: Kernels, options: Options) -> dict[str, Options]:
    """Those of each kernel. A quotient that is rounded to an integer, there or by who reads it, may be another integer
    if it is a product with the inverse."""
    exact = {name for name, nest in made.nests.items() if any(map(_jumps, walk(nest.body)))}
    exact |= {call.kernel for call in made.calls if _gives_quotients(call.group)}
    fast = options.fast_math
    return {
        name: replace(options, constants=made.constants[name], fast_math=fast and name not in exact)
        for name in made.nests
    }


def _gives_quotients(group: Group) -> bool:
    stores = any(each.kind == "Div" and each.results[0] in group.outputs for each in group.operations)
    return stores and all(OPERATORS[each.kind].pointwise for each in group.operations)


def _jumps(node: object) -> bool:
    match node:
        case Call(fn=name):
            return name in _JUMPS
        case Cast(arg, dtype):
            return arg.dtype.is_float and not dtype.is_float
    return False


_JUMPS = ("rint", "floor", "ceil", "trunc")
