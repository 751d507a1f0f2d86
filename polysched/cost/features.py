"""A kernel as numbers, for a model that has learned which kernels are fast: counts, footprints, strides, threads.

    features(kernel, {"n": 1000}, machine, threads=2)     {"work": 29.9, "vector": 1.0, "touched 2 by l1": -0.42, ...}

Most are logarithms to base two, and what is counted is weighted by how often it runs, so that kernels of different
nests can be compared. The parts of the predicted time are among them: a model learns where to trust it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, log2

from polysched.config.machine import Machine
from polysched.cost.prediction import predict
from polysched.cost.shape import Access, Loop, Work, shaped
from polysched.cost.traffic import bytes_into, bytes_touched
from polysched.ir.node import walk
from polysched.ir.nodes import PARALLEL, Alloc, Function

_LEVELS = 5  # loops around the work, from inside
_DIGITS = 3

Features = dict[str, float]


def features(kernel: Function, sizes: Mapping[str, int], machine: Machine, threads: int = 1) -> Features:
    """Of a kernel of the loop IR at these sizes, as it runs on so many threads of the machine."""
    root = shaped(kernel, sizes, machine.vector_registers * machine.vector_bytes)
    places = list(_places(root, ()))
    found = {
        **_time(kernel, sizes, machine, threads),
        **_counts(kernel, root, places),
        **_inner_loops(places, machine),
        **_strides(places),
        **_footprints(root, places, machine),
        **_threads(root, threads),
    }
    return {name: round(value, _DIGITS) for name, value in found.items()}


def seconds_of(found: Features) -> float:
    """That the cost model predicts, of the features."""
    return 1e-9 * (2.0 ** found["predicted seconds"] - 1.0)


@dataclass(frozen=True)
class _Place:
    """A statement and the loops around it."""

    work: Work
    around: tuple[Loop, ...]


def _places(loop: Loop, around: tuple[Loop, ...]) -> Iterator[_Place]:
    around = (*around, loop) if loop.var else around
    yield from (_Place(work, around) for work in loop.works if work.times)
    for inner in loop.loops:
        yield from _places(inner, around)


def _time(kernel: Function, sizes: Mapping[str, int], machine: Machine, threads: int) -> Features:
    """What the cost model says of it, as it is and by parts."""
    found = predict(kernel, sizes, machine, threads)
    parts = ("seconds", "arithmetic", "second_cache", "third_cache", "memory", "threads")
    return {f"predicted {part}": _log(1e9 * getattr(found, part)) for part in parts}


def _counts(kernel: Function, root: Loop, places: list[_Place]) -> Features:
    loops = [loop for loop in root.nested() if loop.var]
    work = sum(each.work.times for each in places)
    steps = sum(loop.entries * loop.trips for loop in loops if loop.kind == "serial")
    return {
        "work": _log(work),
        "statements": float(len(places)),
        "loops": float(len(loops)),
        "entries by work": _log(sum(loop.entries for loop in loops)) - _log(work),
        "steps by work": _log(steps) - _log(work),
        "own arrays": float(sum(isinstance(node, Alloc) for node in walk(kernel.body))),
        "depth": _mean((each.work.times, float(len(each.around))) for each in places),
    }


def _inner_loops(places: list[_Place], machine: Machine) -> Features:
    """How the loops next to the work run, and how often."""

    def of(what: str) -> Iterator[tuple[float, float]]:
        for each in places:
            lanes = [loop for loop in each.around if loop.kind == "vector"]
            copies = [loop.trips for loop in each.around if loop.kind == "unrolled"]
            width = each.work.bytes * (lanes[-1].trips if lanes else 1.0)
            values = {
                "vector": float(bool(lanes)),
                "lanes": _log(lanes[-1].trips) if lanes else 0.0,
                "full vectors": width / (machine.vector_bytes * ceil(width / machine.vector_bytes)),
                "unrolled": sum(map(_log, copies)),
                "registers": sum(map(_log, copies)) + _log(width) - _log(machine.vector_bytes),
                "uneven": float(any(loop.is_uneven for loop in each.around)),
            }
            yield each.work.times, values[what]

    names = ("vector", "lanes", "full vectors", "unrolled", "registers", "uneven")
    trips = {
        f"trips {level}": _mean((each.work.times, _log(_trips(each.around, level))) for each in places)
        for level in range(1, _LEVELS + 1)
    }
    return {**{name: _mean(of(name)) for name in names}, **trips}


def _trips(around: tuple[Loop, ...], level: int) -> float:
    """Of a loop that is neither lanes nor written out, from inside."""
    rolled = [loop for loop in around if loop.kind not in ("vector", "unrolled")]
    return rolled[-level].trips if level <= len(rolled) else 1.0


def _strides(places: list[_Place]) -> Features:
    """Of accesses along the loop whose iterations are lanes, or the innermost one; the shares add up to one."""
    found = {"stays": 0.0, "next": 0.0, "far": 0.0}
    stores = total = 0.0
    for each in places:
        lane = next((k for k, loop in enumerate(each.around) if loop.kind == "vector"), len(each.around) - 1)
        for access in each.work.accesses:
            found[_stride(access, lane)] += each.work.times
            stores += each.work.times * access.is_store
            total += each.work.times
    return {**{name: count / total if total else 0.0 for name, count in found.items()}, "accesses": _log(total)} | {
        "stores": stores / total if total else 0.0
    }


def _stride(access: Access, lane: int) -> str:
    step = access.steps[lane] if access.steps else 0.0
    return "stays" if step == 0 else "next" if step <= access.bytes else "far"


def _footprints(root: Loop, places: list[_Place], machine: Machine) -> Features:
    """What each loop around the busiest statement touches in an entry, from inside; what comes from beyond caches."""
    caches = {"l1": machine.l1, "l2": machine.l2, "l3": machine.l3}
    busiest = max(places, key=lambda each: each.work.times, default=None)
    around = busiest.around if busiest else ()
    touched = [bytes_touched(loop, depth) for depth, loop in reversed(list(enumerate(around)))]
    touched += [touched[-1] if touched else 0.0] * (_LEVELS - len(touched))
    found = {f"touched {level} by l1": _log(touched[level - 1]) - _log(machine.l1) for level in range(1, _LEVELS + 1)}
    whole = _log(bytes_touched(root))
    found |= {f"all by {name}": whole - _log(size) for name, size in caches.items()}
    return found | {f"into {name}": _log(bytes_into(size, root)) - whole for name, size in caches.items()}


def _threads(root: Loop, threads: int) -> Features:
    """How much of the work threads share, how evenly, and how often they start."""
    loops = [loop for loop in root.nested() if loop.kind in PARALLEL]
    shared = sum(work.times for loop in loops for each in loop.nested() for work in each.works)
    work = sum(work.times for each in root.nested() for work in each.works)
    full = [(loop.entries, loop.trips / (threads * ceil(loop.trips / threads))) for loop in loops if loop.trips]
    return {
        "shared": min(1.0, shared / work) if work else 0.0,
        "starts": _log(sum(loop.starts for loop in loops)),
        "full threads": _mean(full),
        "uneven threads": _mean((loop.entries, float(loop.is_uneven)) for loop in loops),
        "pieces": _mean((loop.entries, _log(loop.trips)) for loop in loops),
    }


def _log(value: float) -> float:
    return log2(1.0 + max(0.0, value))


def _mean(weighted: Iterator[tuple[float, float]] | list[tuple[float, float]]) -> float:
    pairs = list(weighted)
    total = sum(weight for weight, _ in pairs)
    return sum(weight * value for weight, value in pairs) / total if total else 0.0
