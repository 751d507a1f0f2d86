"""A program whose constants are given, so that what is made of them alone is made once.

    layer = bind(program, nest, ("w",), {"w": weights})         packs w
    layer(x=x, y=y)                                             computes with what is packed

An array that a call no longer needs is not kept. One that it does is the caller's own, not a copy: who changes a
constant afterwards gets results of old and new elements mixed, so that binding it again is the way to change it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polysched.codegen.emit.source import parameters
from polysched.errors import LaunchError
from polysched.ir.node import variables
from polysched.ir.nodes import Function
from polysched.runtime.arguments import Binder, named
from polysched.runtime.cpu import CpuProgram, HostProgram
from polysched.runtime.extents import size_of
from polysched.runtime.timing import Timing


def bind(program: CpuProgram, nest: Function, constants: Sequence[str], arguments: Mapping[str, Any]) -> Bound:
    """The program for these constants, all of which must be given, and with them sizes that they do not show."""
    shown = variables(tuple(array.shape for array in nest.arrays if array.name in constants))
    own = _only(nest, frozenset(constants) | shown)
    given = Binder(replace(own, body=()), program.valid_sizes)(arguments)
    addresses = dict(zip(given.order, given.in_order, strict=True))
    made = program.prepared(addresses) if program.prepares else {}
    taken = program.prepares.parameters if program.prepares else parameters(nest)
    kept = {name: view.owner for name, view in given.arrays.items() if name in taken}
    gone = given.arrays.keys() - kept.keys()
    left = _only(nest, frozenset(parameters(nest)) - gone)
    free = _only(left, frozenset(left.params).difference(given.order))
    return Bound(_Rest(left, program, made), {**given.values, **kept}, given.order, free)


@dataclass(frozen=True, eq=False)
class Bound:
    """A kernel with its constants; a call takes the arguments that are left. Many threads may call it at a time."""

    _rest: _Rest
    _given: dict[str, Any]  # what each call hands on
    _bound: tuple[str, ...]  # the parameters that have their arguments
    _open: Function  # what the nest takes besides

    def __repr__(self) -> str:
        return f"Bound({self._open.name}({', '.join(self._open.params)}))"

    def __call__(self, *in_order: Any, **arguments: Any) -> None:
        """Runs on arrays, which it changes, given by name or in the order of the parameters that are left."""
        self._rest(**self._all(named(self._open, in_order, arguments)))

    def ready(self, **arguments: Any) -> Callable[[], None]:
        """A call on these arguments, which are checked now and not each time."""
        return self._rest.bound(self._all(arguments))

    def time(self, *, runs: int = 10, **arguments: Any) -> Timing:
        """Milliseconds of some runs after a first one, as `Compiled.time` measures them, of what is left to do."""
        return self._rest.time(self._all(arguments), runs)

    @property
    def prepared(self) -> dict[str, np.ndarray]:
        """What was made of the constants, by name, to be read."""
        return dict(self._rest.made)

    def _all(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        for name in arguments:
            is_same = name in self._rest.fn.sizes and size_of(name, arguments[name]) == self._given.get(name)
            if name in self._bound and not is_same:
                known = f", and is {self._given[name]}" if name in self._rest.fn.sizes else ""
                raise LaunchError(f"{name} of {self._open.name} is bound already{known}; bind another one anew")
        return {**arguments, **self._given}


@dataclass(frozen=True, eq=False)
class _Rest(HostProgram):
    """The part of a program that each call runs."""

    fn: Function
    program: CpuProgram
    made: dict[str, np.ndarray]

    @property
    def valid_sizes(self) -> Any:  # type: ignore[override]
        return self.program.valid_sizes

    def _run(self, values: list[Any]) -> None:
        prepares = self.program.prepares
        if prepares is not None:
            values = prepares.entry_values(dict(zip(self._bind.order, values, strict=True)), self.made)
        self.program.enter(self.program.entry, values)


def _only(fn: Function, names: frozenset[str]) -> Function:
    """The function as if it had these parameters alone."""
    return replace(
        fn,
        sizes=tuple(size for size in fn.sizes if size in names),
        arrays=tuple(array for array in fn.arrays if array.name in names),
        scalars=tuple(scalar for scalar in fn.scalars if scalar.name in names),
        params=tuple(name for name in parameters(fn) if name in names),
        defaults=tuple((name, value) for name, value in fn.defaults if name in names),
    )
