"""Cycles that a core takes to compute, if all data are in its first cache.

A statement takes as long as the busiest of the ports that its operations go through, of loads, stores, arithmetic and
all together, or as the one before it in a chain that waits for it; a loop some more to begin and to count. Iterations
of a SIMD loop are lanes, also where the loops in it are unrolled. What unrolled loops do not change is loaded once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import ceil

from polysched.config.heuristics.cost import (
    ALONE,
    CALL,
    CONSTANT_DIVISION,
    DIVIDED,
    DIVISION,
    ENTRY,
    INTEGER_DIVISION,
    LATENCY,
    OPERATIONS_A_CYCLE,
    STEP,
    STRAIGHT,
    TEST,
    UNEVEN_ENTRY,
    VECTOR_CALL,
    VECTOR_DIVISION,
)
from polysched.config.machine import Machine
from polysched.cost.shape import Access, Loop, Work
from polysched.ir.node import walk, without_subscripts
from polysched.ir.nodes import DIVISIONS, ONE_INSTRUCTION, Binary, Call, Const, Select, Unary

_AT_ONCE = ONE_INSTRUCTION | {"fmin", "fmax"}  # the latter with math flags


def cycles(loop: Loop, machine: Machine, threads: int = 1, around: tuple[Loop, ...] = ()) -> float:
    """Of all entries of the loop, on so many threads."""
    around = (*around, loop) if loop.var else ()
    stored = {access.array for work in loop.works for access in work.accesses if access.is_store}
    total = loop.tests * TEST + loop.alone * ALONE
    total += sum(_of_statement(work, machine, around, stored) for work in loop.works)
    total += sum(cycles(inner, machine, threads, around) for inner in loop.loops)
    if loop.var and not _is_straight(loop):
        total += loop.entries * (UNEVEN_ENTRY if loop.is_uneven else ENTRY)
        total += loop.entries * loop.trips * STEP if loop.kind != "vector" else 0.0
    return total / shares(loop, threads)


def shares(loop: Loop, threads: int) -> float:
    """How many threads work at a time, in the mean over all entries."""
    some = min(threads, max(1.0, loop.trips))
    part = loop.starts / (loop.starts + loop.alone) if loop.starts else 0.0
    return 1 / (part / some + 1 - part)


def _is_straight(loop: Loop) -> bool:
    """Is it written out, by us or by the compiler?"""
    return loop.kind == "unrolled" or (loop.kind == "vector" and not loop.is_uneven and loop.trips <= STRAIGHT)


def _of_statement(work: Work, machine: Machine, around: tuple[Loop, ...], stored: Collection[str]) -> float:
    lane = _vector(around)
    lanes = 1.0
    if lane is not None:
        width = max([work.bytes, *(access.bytes for access in work.accesses)])
        trips = around[lane].trips
        lanes = max(1.0, trips / ceil(trips * width / machine.vector_bytes))
    loads = stores = 0.0
    for access in work.accesses:
        elements = lanes if lane is not None and access.steps[lane] > access.bytes else 1.0
        if access.is_store:
            stores += elements
        else:
            loads += elements * _loaded_anew(access, around, lanes, stored)
    arithmetic, slow = _operations(work, lanes if lane is not None else 0.0)
    busiest = max(loads / 2, stores, arithmetic / 2, (loads + stores + arithmetic) / OPERATIONS_A_CYCLE)
    return work.times / lanes * max(busiest + slow, _waits(work, around))


def _vector(around: Sequence[Loop]) -> int | None:
    """The place of the loop whose iterations are lanes: those inside of it are unrolled."""
    for place, loop in reversed(list(enumerate(around))):
        if loop.kind == "vector":
            return place
        if loop.kind != "unrolled":
            break
    return None


def _loaded_anew(access: Access, around: Sequence[Loop], lanes: float, stored: Collection[str]) -> float:
    """The part of the iterations that load it, if registers hold what does not change."""
    part = 1.0
    for step, loop in zip(reversed(access.steps), reversed(around), strict=True):
        if loop.kind not in ("vector", "unrolled"):
            return 0.0 if step == 0 and access.array not in stored else part
        if step == 0:
            part /= max(1.0, loop.trips / (lanes if loop.kind == "vector" else 1.0))
    return part


def _operations(work: Work, lanes: float) -> tuple[float, float]:
    """Operations that begin every cycle, and cycles of those that do not; a product is added in the same one.
    Subscripts cost nothing: addresses are computed beside, or ahead of the loop.
    """
    added = products = others = slow = 0.0
    for node in walk(without_subscripts(work.value)):
        match node:
            case Binary(op="/") | Call(fn="sqrt"):
                slow += VECTOR_DIVISION if lanes else DIVISION
            case Call(fn=fn) if fn not in _AT_ONCE:
                slow += VECTOR_CALL if lanes else CALL
            case Binary(op=op, right=Const()) if op in DIVISIONS:
                others += CONSTANT_DIVISION
            case Binary(op=op) if op in DIVISIONS:
                slow += INTEGER_DIVISION * max(1.0, lanes)  # there is none for lanes
            case Binary(op="*") if node.dtype.is_float:
                products += 1
            case Binary() if node.dtype.is_float:
                added += 1
            case Binary() | Unary() | Select() | Call():
                others += 1
    return max(added, products, (added + products) / 2) + others / 2, slow  # of others, four begin in a cycle


def _waits(work: Work, around: Sequence[Loop]) -> float:
    """Cycles from one iteration of the innermost loop to the next, if that waits for it."""
    if not around or around[-1].kind in ("vector", "unrolled"):
        return 0.0
    for store in (access for access in work.accesses if access.is_store):
        step = store.steps[-1]
        for load in work.accesses:
            is_like_it = not load.is_store and load.array == store.array and load.steps[-1] == step
            if is_like_it and abs(load.place - store.place) == step:
                divides = any(isinstance(node, Binary) and node.op == "/" for node in walk(work.value))
                return LATENCY + DIVIDED * divides
    return 0.0
