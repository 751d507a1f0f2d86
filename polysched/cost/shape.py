"""The loops of a kernel at given sizes: how often each is entered and runs, what it computes, and what it touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from polysched.cost.sampled import SAMPLES, Iteration, Scope, Values
from polysched.ir.node import walk
from polysched.ir.nodes import PARALLEL, Alloc, Array, Const, Expr, For, Function, If, Let, Load, Stmt, Store, Var


@dataclass(frozen=True)
class Access:
    """A load or a store; distances are in bytes."""

    array: str
    bytes: int  # of an element
    extent: float  # of the array
    steps: tuple[float, ...]  # from one iteration of each loop around to the next, outermost first
    place: float  # in one of the samples
    is_store: bool


@dataclass(frozen=True)
class Work:
    """A statement."""

    times: float  # that it runs
    value: Expr
    bytes: int  # of what it computes
    accesses: tuple[Access, ...]


@dataclass
class Loop:
    """A loop; without a variable, all of the kernel."""

    var: str
    kind: str
    entries: float  # in which it has iterations
    trips: float  # of an entry, in the mean
    is_uneven: bool = False  # do entries differ in their trips?
    starts: float = 0.0  # of threads
    alone: float = 0.0  # arrivals at a parallel loop that do not start them
    tests: float = 0.0  # of conditions of statements right in it
    body: list[Loop | Work] = field(default_factory=list)

    @property
    def loops(self) -> list[Loop]:
        """Those right in it."""
        return [each for each in self.body if isinstance(each, Loop)]

    @property
    def works(self) -> list[Work]:
        """Those right in it."""
        return [each for each in self.body if isinstance(each, Work)]

    def nested(self) -> Iterator[Loop]:
        """Itself and all in it."""
        yield self
        for each in self.loops:
            yield from each.nested()


def shaped(fn: Function, sizes: Mapping[str, int], registers: int) -> Loop:
    """The loops of `fn`; arrays of its own of up to so many bytes are in registers."""
    root = Loop("", "serial", 1.0, 1.0)
    scope = Scope({name: np.full(SAMPLES, size) for name, size in sizes.items()})
    with np.errstate(all="ignore"):  # of what guards keep from happening
        _Shaping(fn, registers).block(fn.body, scope, np.ones(SAMPLES), root, [])
    return root


class _Shaping:
    def __init__(self, fn: Function, registers: int) -> None:
        self.arrays = {array.name: array for array in fn.arrays}
        self.registers = registers
        self.random = np.random.default_rng(0)

    def block(self, body: tuple[Stmt, ...], scope: Scope, weight: Values, into: Loop, around: list[For]) -> None:
        scope = scope.inside({})
        for stmt in body:
            match stmt:
                case Let(name=name, value=value):
                    self.work(value, None, scope, weight, into, around)
                    scope.bind(name, value)
                case Store(value=value):
                    self.work(value, stmt, scope, weight, into, around)
                case Alloc(array=array):
                    if _bytes(array, scope) > self.registers:
                        self.arrays[array.name] = array
                case For(lo=lo, hi=hi):
                    for bound in (lo, hi):
                        self.work(bound, None, scope, weight, into, around)
                    self.loop(stmt, scope, weight, into, around)
                case If(cond=cond, then=then, other=other):
                    into.tests += float(weight.mean())
                    self.work(cond, None, scope, weight, into, around)
                    holds = scope.value(cond).astype(bool)
                    self.block(then, scope, weight * holds, into, around)
                    self.block(other, scope, weight * ~holds, into, around)

    def loop(self, loop: For, scope: Scope, weight: Values, into: Loop, around: list[For]) -> None:
        span = scope.value(loop.hi) - scope.value(loop.lo)
        trips = np.maximum(0, -(-span // loop.step)).astype(float)
        entered = weight * (trips > 0)
        entries = float(entered.mean())
        own = Loop(loop.var, loop.kind, entries, float((weight * trips).mean()) / entries if entries else 0.0)
        if loop.kind in PARALLEL:
            tests = [scope.value(test).astype(bool) for test in loop.when]
            own.starts = float((weight * np.all([weight > 0, *tests], axis=0)).mean())
            own.alone = float(weight.mean()) - own.starts
        if not entries:
            return
        own.is_uneven = bool(np.ptp(trips[entered > 0]) > 0)
        into.body.append(own)
        spread = (self.random.permutation(SAMPLES) + self.random.random(SAMPLES)) / SAMPLES
        ahead = np.floor(spread * trips).astype(np.int64) * loop.step
        inner = scope.inside({loop.var: Iteration(loop.lo, ahead)})
        self.block(loop.body, inner, weight * trips, own, [*around, loop])

    def work(
        self, value: Expr, store: Store | None, scope: Scope, weight: Values, into: Loop, around: list[For]
    ) -> None:
        if not weight.any() or (store is None and isinstance(value, Const | Var)):
            return
        touched = dict.fromkeys((node.array, node.index, False) for node in walk(value) if isinstance(node, Load))
        if store:
            touched[store.array, store.index, True] = None
        accesses = (self.access(*each, scope, weight, around) for each in touched if each[0] in self.arrays)
        into.body.append(Work(float(weight.mean()), value, max(1, value.dtype.bits // 8), tuple(accesses)))

    def access(
        self, name: str, index: tuple[Expr, ...], is_store: bool, scope: Scope, weight: Values, around: list[For]
    ) -> Access:
        array = self.arrays[name]
        size = array.dtype.bits // 8
        here = _element(array, index, scope) * size
        steps = []
        for loop in around:
            away = np.abs(_element(array, index, scope.ahead(loop.var, loop.step)) * size - here)
            steps.append(float(np.average(away, weights=weight)))
        place = float(here[int(np.argmax(weight > 0))])
        return Access(name, size, _bytes(array, scope), tuple(steps), place, is_store)


def _bytes(array: Array, scope: Scope) -> float:
    extents = [float(scope.value(extent)[0]) for extent in array.shape]
    return float(np.prod(extents)) * array.dtype.bits / 8


def _element(array: Array, index: tuple[Expr, ...], scope: Scope) -> Values:
    """The number of the element, in each sample."""
    where: Values = np.zeros(SAMPLES, np.int64)
    for extent, at in zip(array.shape[len(array.shape) - len(index) :], index, strict=True):
        where = where * scope.value(extent) + scope.value(at)
    return where
