"""Teams of threads that add up: each thread in a variable of its own, then the team in a tree.

    for t in 0..256 (thread.x):            for t in 0..256 (thread.x):
        for i in t..n by 256:                  acc = -0.0
            s[0] = s[0] + a[i]       ->        for i in t..n by 256:
                                                   acc = acc + a[i]
                                               acc = acc + shuffle.down(acc, 16); then 8, 4, 2, 1
                                               if t % 32 == 0: warps[t / 32] = acc
                                               barrier
                                               if t < 32:
                                                   acc = warps[t] if t < 8 else -0.0
                                                   acc = acc + shuffle.down(acc, 4); then 2, 1
                                               if t == 0: s[0] = s[0] + acc

That is CUDA, which moves values between the lanes of a warp by shuffles. OpenCL 1.2 has none, and does the same through
shared memory alone, as teams smaller than a warp do.

Both combine the same values in the same order. Lane t of a warp takes what lane t + 16 has, then what t + 8, t + 4,
t + 2 and t + 1 have; the 8 warps of a team do so at distances of 4, 2 and 1, and a team of 4 threads at 2 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from polysched.codegen.lowered import private
from polysched.codegen.parallel.updates import Update, in_variables
from polysched.config.target import LIMITS
from polysched.ir.build import add, binary, conjunction, floordiv, floormod, mul, where
from polysched.ir.nodes import SHUFFLE, Alloc, Array, Barrier, Binary, Call, Const, Expr, If, Load, Select, Stmt, Store
from polysched.ir.rename import fresh_names, rename_bound
from polysched.model.reduction import identity


@dataclass(frozen=True)
class Team:
    """Threads that add up together: this one's number on axis x, and where its team is along the other axes."""

    thread: Expr
    size: int
    place: tuple[tuple[Expr, int], ...] = ()  # subscript and extent
    when: tuple[Expr, ...] = ()  # that it has anything to do
    order: Literal["rows", "columns"] = "rows"  # how the values of teams lie in memory, one team a row or a column
    repeats: bool = True  # it may add up once more, where a block has several iterations of a loop over blocks

    def shared(self, name: str, update: Update, count: int) -> Array:
        """So many values for each team of the block."""
        extents = self.ordered(tuple(extent for _, extent in self.place), count)
        return Array(name, update.array.dtype, tuple(map(Const, extents)), "shared")

    def memory(self, shared: Array) -> tuple[Stmt, ...]:
        """The array, when nobody reads what it held before."""
        return (Alloc(shared), Barrier()) if self.repeats else (Alloc(shared),)

    def at(self, position: Expr) -> tuple[Expr, ...]:
        """The subscript of the team's value at this position."""
        return self.ordered(tuple(subscript for subscript, _ in self.place), position)

    def ordered(self, place: tuple[Any, ...], position: Any) -> tuple[Any, ...]:
        return (*place, position) if self.order == "rows" else (position, *place)

    @property
    def is_first(self) -> Expr:
        return conjunction((binary("==", self.thread, 0), *self.when))


Finish = Callable[[Update, Expr], tuple[Stmt, ...]]  # from what a team has added up


@dataclass(frozen=True)
class Adder:
    """Has teams add up by shuffles between the lanes of a warp, or through shared memory alone."""

    taken: set[str]  # names; grows by those of variables
    shuffles: bool

    def summed(self, body: tuple[Stmt, ...], updates: list[Update], team: Team, finish: Finish) -> tuple[Stmt, ...]:
        """The body with variables for what it updates; they are combined, and the first thread finishes with them."""
        variables = {update.array.name: self._variable(update) for update in updates}
        done: list[Stmt] = []
        for update in updates:
            variable = variables[update.array.name]
            done += [Alloc(variable), Store(variable.name, (), identity(update.op, variable.dtype))]
        names = fresh_names("r", self.taken)
        own = in_variables(body, {name: variable.name for name, variable in variables.items()})
        own = rename_bound(own, lambda _: next(names))
        done += where(team.when, *own)
        combined = self._shuffled if team.size >= LIMITS.warp and self.shuffles else self._in_memory
        for update in updates:
            steps, value = combined(update, variables[update.array.name].name, team)
            done += [*steps, If(team.is_first, finish(update, value))]
        return tuple(done)

    def _shuffled(self, update: Update, variable: str, team: Team) -> tuple[list[Stmt], Expr]:
        """How the threads of a team combine their variables, and what the first one has then."""
        value = Load(variable, (), update.array.dtype)

        def steps(values: int) -> list[Stmt]:
            others = (Call(SHUFFLE, (value, Const(distance)), value.dtype, pure=False) for distance in _halves(values))
            return [Store(variable, (), Binary(update.op, value, other)) for other in others]

        warps = team.size // LIMITS.warp
        if warps == 1:
            return steps(LIMITS.warp), value
        shared = team.shared(self._variable(update).name, update, warps)
        warp, lane = floordiv(team.thread, LIMITS.warp), floormod(team.thread, LIMITS.warp)
        of_lane = Load(shared.name, team.at(team.thread), value.dtype)
        has_one = Select(binary("<", team.thread, warps), of_lane, identity(update.op, value.dtype))
        return [
            *steps(LIMITS.warp),
            *team.memory(shared),
            If(binary("==", lane, 0), (Store(shared.name, team.at(warp), value),)),
            Barrier(),
            If(binary("<", team.thread, LIMITS.warp), (Store(variable, (), has_one), *steps(warps))),
        ], value

    def _in_memory(self, update: Update, variable: str, team: Team) -> tuple[list[Stmt], Expr]:
        shared = team.shared(self._variable(update).name, update, team.size)

        def value(position: Expr) -> Load:
            return Load(shared.name, team.at(position), shared.dtype)

        def step(condition: Expr, position: Expr, distance: int) -> list[Stmt]:
            new = Binary(update.op, value(position), value(add(position, distance)))
            return [Barrier(), If(condition, (Store(shared.name, team.at(position), new),))]

        own = Store(shared.name, team.at(team.thread), Load(variable, (), shared.dtype))
        steps: list[Stmt] = [*team.memory(shared), own]
        lane = floormod(team.thread, LIMITS.warp) if team.size > LIMITS.warp else team.thread
        for distance in _halves(min(LIMITS.warp, team.size)):
            steps += step(binary("<", lane, distance), team.thread, distance)
        for distance in _halves(team.size // LIMITS.warp):
            steps += step(binary("<", team.thread, distance), mul(team.thread, LIMITS.warp), distance * LIMITS.warp)
        return steps, value(Const(0))

    def _variable(self, update: Update) -> Array:
        return private(update.array.name, update.array.dtype, (), self.taken)


def _halves(values: int) -> list[int]:
    """The distances at which so many values, a power of two, are combined."""
    return [1 << k for k in reversed(range(values.bit_length() - 1))]
