"""What a kernel does with its threads and memory, in one line above it.

/* blocks of 16 x 8 threads; A, B copied to shared memory, 24832 bytes; 8 x 4 x 2 elements of C in registers */
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from polysched.codegen.lowered import bytes_of, elements
from polysched.ir.node import children, loaded, walk
from polysched.ir.node import statements as every
from polysched.ir.nodes import MMA, SHUFFLE, Alloc, Array, Barrier, Call, Const, For, If, Load, Stmt, Store

ONE_THREAD = "one thread"


def note(statements: tuple[Stmt, ...], threads: tuple[int, int, int]) -> str:
    """The line for a kernel of these statements with so many threads along x, y and z."""
    shape = " x ".join(str(size) for size in threads if size > 1) or "1"
    if prod(threads) == 1:
        return ONE_THREAD
    return "; ".join((f"blocks of {shape} threads", *_copies(statements), *_sums(statements), *_points(statements)))


def _copies(statements: tuple[Stmt, ...]) -> Iterator[str]:
    shared = {array.name: array for array in _arrays(statements) if array.space == "shared"}
    own = [array.name for array in _arrays(statements)]
    copied = (load.array for store in _stores(statements) if store.array in shared for load in _loads(store))
    sources = dict.fromkeys(name for name in copied if name not in own)
    if any(isinstance(node, Call) and node.fn == SHUFFLE for node in walk(statements)):
        yield "lanes of a warp are added up by shuffles"
    if shared:
        size = sum(map(bytes_of, shared.values()))
        barriers = (stmt for stmt in every(statements) if isinstance(stmt, Barrier))
        ahead = max((stmt.ahead + 1 for stmt in barriers if stmt.arrivals), default=0)
        when = "" if not ahead else ", a chunk ahead" if ahead == 1 else f", {ahead} chunks ahead"
        yield f"{', '.join(sources) or 'what threads add up'} copied to shared memory{when}, {size} bytes"
    calls = (node.fn for node in walk(statements) if isinstance(node, Call))
    yield from (f"products by {name}" for name in dict.fromkeys(calls) if name.startswith(MMA))


def _sums(statements: tuple[Stmt, ...]) -> Iterator[str]:
    """What private arrays hold until it is stored."""
    private = {array.name: array for array in _arrays(statements) if array.space == "private" and array.shape}
    kept: dict[str, Array] = {}
    for store in _stores(statements):
        sources = loaded(store.value) & private.keys()
        if store.array not in private and len(sources) == 1:
            kept[store.array] = private[next(iter(sources))]
    for name, array in kept.items():
        yield f"{elements(array)} elements of {name} in registers"


def _points(statements: tuple[Stmt, ...]) -> Iterator[str]:
    """The points of one thread, where it stores them at once, and what these read together."""
    best: tuple[int, Store] | None = None
    for count, store in _unrolled(statements, 1):
        if count > 1 and (best is None or count > best[0]):
            best = count, store
    arrays = [array.name for array in _arrays(statements)]
    if best is None or best[1].array in arrays or any(n.array in arrays for n in _loads(best[1])):
        return
    subscripts: dict[str, set[Any]] = {}
    for load in _loads(best[1]):
        subscripts.setdefault(load.array, set()).add(load.index)
    shared = [name for name, found in subscripts.items() if len(found) > 1]
    together = f", which share what they read of {', '.join(shared)} in registers" if shared else ""
    yield f"{best[0]} points a thread{together}"


def _unrolled(node: Any, count: int) -> Iterator[tuple[int, Store]]:
    """Every store, and how many there are of it once loops are unrolled."""
    match node:
        case Store():
            yield count, node
        case For(kind="unrolled", lo=Const(int(first)), hi=Const(int(last))):
            yield from _unrolled(node.body, count * (last - first))
        case tuple():
            for each in node:
                yield from _unrolled(each, count)
        case For() | If():
            for each in children(node):
                yield from _unrolled(each, count)


def _arrays(statements: tuple[Stmt, ...]) -> list[Array]:
    return [stmt.array for stmt in every(statements) if isinstance(stmt, Alloc)]


def _stores(statements: tuple[Stmt, ...]) -> list[Store]:
    return [stmt for stmt in every(statements) if isinstance(stmt, Store)]


def _loads(store: Store) -> list[Load]:
    return [node for node in walk(store.value) if isinstance(node, Load)]
