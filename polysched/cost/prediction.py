"""The time that a kernel takes, predicted from its loops at given sizes.

    predict(kernel, {"n": 1000}, machine, threads=2)     35.1 ms at n = 1000 on 2 threads (arithmetic 34.2 ms, ...)

On the 30 kernels of PolyBench, source and ours, half of the predictions are within a factor of 1.3 of what was
measured, and three quarters within 1.5: benchmarks/RESULTS.md. What takes longest hides most of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polysched.config.heuristics.cost import CORES_OF_MEMORY, SHARE_OF_L3, SHOWN, START
from polysched.config.machine import Machine
from polysched.cost.cycles import cycles
from polysched.cost.shape import shaped
from polysched.cost.traffic import bytes_into
from polysched.ir.nodes import Function
from polysched.ir.text import in_words


@dataclass(frozen=True, repr=False)
class Prediction:
    """Seconds that parts of a run would take alone."""

    arithmetic: float
    second_cache: float  # to read from it, and to write to it
    third_cache: float
    memory: float
    threads: float  # to start them
    where: str = ""  # sizes and threads, as in n = 1000 on 2 threads

    def __str__(self) -> str:
        parts = {name.replace("_", " "): getattr(self, name) for name in _PARTS}
        longest = sorted(((part, name) for name, part in parts.items() if part), reverse=True)
        alone = ", ".join(f"{name} {duration(part)}" for part, name in longest)
        return f"{duration(self.seconds)}{self.where and ' '}{self.where} ({alone or 'nothing to do'})"

    __repr__ = __str__

    @property
    def seconds(self) -> float:
        parts = (self.arithmetic, self.second_cache, self.third_cache, self.memory)
        return max(parts) + SHOWN * (sum(parts) - max(parts)) + self.threads


_PARTS = ("arithmetic", "second_cache", "third_cache", "memory", "threads")


def predict(kernel: Function, sizes: Mapping[str, int], machine: Machine, threads: int = 1) -> Prediction:
    """A run of the kernel on so many threads, with data in the nearest cache that holds them all."""
    loops = shaped(kernel, sizes, machine.vector_registers * machine.vector_bytes)
    alone, together = cycles(loops, machine), cycles(loops, machine, threads)
    at_a_time = alone / together if together else 1.0  # threads that have a cache each
    from_memory = bytes_into(min(machine.l3, SHARE_OF_L3), loops)
    return Prediction(
        arithmetic=together / machine.megahertz * 1e-6,
        second_cache=bytes_into(machine.l1, loops) / machine.l2_rate / at_a_time * 1e-9,
        third_cache=bytes_into(machine.l2, loops) / machine.l3_rate / at_a_time * 1e-9,
        memory=from_memory / machine.memory_rate / min(at_a_time, CORES_OF_MEMORY) * 1e-9,
        threads=sum(loop.starts for loop in loops.nested()) * START if threads > 1 else 0.0,
        where=f"{f'at {in_words(sizes)} ' if sizes else ''}on {'one thread' if threads == 1 else f'{threads} threads'}",
    )


def duration(seconds: float) -> str:
    """As in 12.3 ms."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 0.9995:
            digits = ".3g" if seconds * factor < 999.5 else ".0f"
            return f"{seconds * factor:{digits}} {unit}"
    return f"{seconds * 1e9:.0f} ns"
