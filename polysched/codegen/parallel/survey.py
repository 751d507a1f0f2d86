"""How large the grid and the blocks of a kernel have to be.

    for b in 0..n by 32 (block.x):
        for i in b..min(n, b + 32) (thread.x):      ->      (n + 31) / 32 blocks of 32 threads
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polysched.config.heuristics.gpu import UNKNOWN_BLOCK, UNKNOWN_GRID
from polysched.config.target import LIMITS
from polysched.ir.build import binary
from polysched.ir.integers.trips import bounded, most_trips, most_trips_inside, trips
from polysched.ir.node import rewrite, statements, substitute, walk
from polysched.ir.nodes import Barrier, Binary, Const, Expr, For, Let, Stmt, Store, Var
from polysched.ir.simplify import simplify

AXES = "xyz"


class Survey:
    """What the loops of a kernel's statements ask for."""

    def __init__(self, statements: tuple[Stmt, ...]):
        self.lets: dict[str, Expr] = {}  # values of the names bound in the kernel, without such names in them
        self._trips: dict[str, list[Expr | None]] = {}  # of the block loops by kind; None: the host cannot tell
        self._guessed: set[str] = set()  # kinds of block loops that may have more trips than that
        self._varies: set[str] = set()  # kinds of block loops whose trips depend on a loop around
        self._left: set[str] = set()  # kinds of block loops that some store is not in
        self._threads: dict[str, list[For]] = {}
        self._around: dict[str, dict[str, For]] = {}  # the loops around each of these, by its name
        self._meets: set[str] = set()  # kinds of thread loops in which threads wait for each other: all are to be there
        self._stores: list[set[str]] = []  # the kinds of loops around each
        self._visit(statements, {})
        for kinds in self._stores:
            self._left |= set(self._trips) - kinds

    def loops_on(self, kind: str) -> int:
        return len(self._trips.get(kind, ())) + len(self._threads.get(kind, ()))

    def is_known(self, kind: str) -> bool:
        """Can the host tell how many blocks the loops of this kind need?"""
        return kind in self._trips and None not in self._trips[kind] and kind not in self._guessed

    def is_exact(self, kind: str) -> bool:
        """Are there just as many blocks as iterations, of the one loop of this kind?"""
        return self.is_known(kind) and len(self._trips[kind]) == 1 and kind not in self._varies | self._left

    def grid(self) -> tuple[Expr, Expr, Expr]:
        """Blocks along x, y and z, in what is bound outside of the kernel."""
        return self._blocks("x"), self._blocks("y"), self._blocks("z")

    def block(self) -> tuple[int, int, int]:
        """Threads along x, y and z; halved along the longest axis until they are allowed, since thread loops stride."""
        sizes = {axis: min(self._threads_on(axis), LIMITS.threads[axis]) for axis in AXES}
        while sizes["x"] * sizes["y"] * sizes["z"] > LIMITS.block:
            longest = max(AXES, key=lambda axis: sizes[axis])
            sizes[longest] //= 2
        return sizes["x"], sizes["y"], sizes["z"]

    def _blocks(self, axis: str) -> Expr:
        found = list(dict.fromkeys(self._trips.get(f"block.{axis}", ())))
        known = [trip for trip in found if trip is not None]
        if len(known) < len(found):
            return Const(UNKNOWN_GRID)
        # One, at least, does what stands outside of the loops, and all that there is if there is more than was seen.
        least = [Const(1)] if f"block.{axis}" in self._left | self._guessed else []
        return simplify(binary("max", *known, *least)) if known else Const(1)

    def _threads_on(self, axis: str) -> int:
        kind = f"thread.{axis}"
        loops = self._threads.get(kind, ())
        found = (_most_threads(loop, {} if kind in self._meets else self._around[loop.var]) for loop in loops)
        return max([1, *(UNKNOWN_BLOCK[axis] if most is None else most for most in found)])

    def _visit(self, node: Any, inside: dict[str, For]) -> None:
        match node:
            case tuple():
                for child in node:
                    self._visit(child, inside)
            case Let(name, value):
                self.lets[name] = substitute(value, self.lets)
            case For():
                lo, hi = substitute(node.lo, self.lets), substitute(node.hi, self.lets)
                plain = For(node.var, lo, hi, node.step, (), node.kind)
                if node.kind.startswith("block"):
                    if any(map(_truncates, walk(trips(plain)))):
                        self._guessed.add(node.kind)
                    count = _floored(trips(plain))
                    self._trips.setdefault(node.kind, []).append(bounded(count, inside))
                    if any(isinstance(part, Var) and part.name in inside for part in walk(count)):
                        self._varies.add(node.kind)
                if node.kind.startswith("thread"):
                    self._threads.setdefault(node.kind, []).append(plain)
                    self._around[plain.var] = inside
                    if any(isinstance(part, Barrier) for part in statements(node.body)):
                        self._meets.add(node.kind)
                self._visit(node.body, {**inside, node.var: plain})
            case Store():
                self._stores.append({loop.kind for loop in inside.values()})
            case Stmt():
                for name in ("then", "other"):
                    self._visit(getattr(node, name, ()), inside)


def _most_threads(loop: For, inside: dict[str, For]) -> int | None:
    """How many the loop has work for; in whole warps where loops around have to tell."""
    most = most_trips(loop.lo, loop.hi, loop.step)
    if most is None and inside and (most := most_trips_inside(loop, inside)) is not None:
        most = -(-most // LIMITS.warp) * LIMITS.warp
    return most


def _floored(expr: Expr) -> Expr:
    """A bound of a lowered loop with other divisions: isl truncates where nothing is negative, or no rest is left."""
    return rewrite(expr, lambda node: replace(node, op="floordiv") if _truncates(node) else None)


def _truncates(node: Any) -> bool:
    return isinstance(node, Binary) and node.op == "truncdiv"
