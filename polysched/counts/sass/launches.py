"""What a CUDA program would launch at given sizes, and the instructions that a thread of each kernel then takes.

    for kernel, execution in executions(report, source, fn, {"n": 512}).items():
        execution.launches, execution.counts["fma"]

The host's part of the text runs, on the CPU; what it would launch is noted, and nothing is launched.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from polysched.codegen.emit.source import Source
from polysched.counts.sass.counts import Counts
from polysched.counts.sass.execute.thread import Triple, run_thread
from polysched.counts.sass.report import Report
from polysched.errors import InputError
from polysched.ir.nodes import Function
from polysched.runtime.cpu import c_function, open_library
from polysched.runtime.toolchain import EXACT, compile_shared
from polysched.support.brief import Brief

_HEADER = Path(__file__).with_name("launches.h")
_FLAGS = ("-std=c++17", "-O1", "-Wno-unused", *EXACT)
_COUNTS = ctypes.POINTER(ctypes.c_uint)
_TELL = ctypes.CFUNCTYPE(None, ctypes.c_char_p, _COUNTS, _COUNTS, ctypes.POINTER(ctypes.c_uint64))


@dataclass(frozen=True, kw_only=True)
class Launch:
    kernel: str
    blocks: Triple
    threads: Triple  # of each block
    arguments: tuple[int, ...]  # as bits


@dataclass(frozen=True, kw_only=True, repr=False)
class Execution(Brief):
    """What one thread of a kernel does in the launch with most blocks: the first thread of the middle block, or of the
    first block if that one does more."""

    launches: int
    largest: Launch
    block: Triple
    counts: Counts

    @property
    def blocks(self) -> int:
        """Of the largest launch."""
        return prod(self.largest.blocks)

    @property
    def threads(self) -> int:
        """Of the largest launch, in all blocks."""
        return self.blocks * prod(self.largest.threads)

    def __str__(self) -> str:
        times = "once" if self.launches == 1 else f"{self.launches} times"
        blocks, threads = ("x".join(map(str, triple)) for triple in (self.largest.blocks, self.largest.threads))
        work = ", ".join(f"{number} {kind}" for kind, number in self.counts.kinds.items() if number)
        kernel = f"{self.largest.kernel}, launched {times}, {blocks} blocks of {threads} at most"
        return f"{kernel}: a thread takes {self.counts.total} instructions, {work}"


def executions(report: Report, source: Source, fn: Function, sizes: Mapping[str, int]) -> dict[str, Execution]:
    """The kernels that are launched for these sizes; `fn` is the function as the user calls it.

    InputError where a size is missing, or where the host or a thread goes by data, which is not known.
    """
    launches = find_launches(source, fn, sizes)
    out = {}
    for name in dict.fromkeys(launch.kernel for launch in launches):
        mine = [launch for launch in launches if launch.kernel == name]
        largest = max(mine, key=lambda launch: prod(launch.blocks))
        assembly = report[name].assembly
        given, of = largest.arguments[: len(assembly.parameters)], largest.blocks
        runs = [
            (block, run_thread(assembly, given, threads=largest.threads, blocks=of, block=block))
            for block in dict.fromkeys([(of[0] // 2, of[1] // 2, of[2] // 2), (0, 0, 0)])
        ]
        block, counts = max(runs, key=lambda one: one[1].total)
        out[name] = Execution(launches=len(mine), largest=largest, block=block, counts=counts)
    return out


def find_launches(source: Source, fn: Function, sizes: Mapping[str, int]) -> list[Launch]:
    """The launches in their order; arrays are addresses far apart, and scalars one.

    InputError where a size is missing, or the host reads an element that a kernel would have written.
    """
    if missing := [name for name in fn.sizes if name not in sizes]:
        raise InputError(f"{fn.name} needs a value for {', '.join(missing)}")
    if unknown := [name for name in sizes if name not in fn.sizes]:
        raise InputError(f"{fn.name} has no size {', '.join(unknown)}; it has {', '.join(fn.sizes) or 'none'}")
    text = f'{_HEADER.read_text()}#line 1 "{source.entry}.cu"\n{source.host}'
    library = open_library(str(compile_shared(text, source.entry, language="c++", flags=_FLAGS)))
    launches: list[Launch] = []
    parameters = {kernel.name: len(kernel.parameters) for kernel in source.kernels}
    parameters |= {kernel.wide: len(kernel.parameters) for kernel in source.kernels if kernel.wide}

    def tell(kernel: bytes, blocks: Sequence[int], threads: Sequence[int], arguments: Sequence[int]) -> None:
        name = kernel.decode()
        launches.append(
            Launch(
                kernel=name,
                blocks=(blocks[0], blocks[1], blocks[2]),
                threads=(threads[0], threads[1], threads[2]),
                arguments=tuple(arguments[k] for k in range(parameters[name])),
            )
        )

    callback = _TELL(tell)
    ctypes.c_void_p.in_dll(library, "polysched_tell").value = ctypes.cast(callback, ctypes.c_void_p).value
    values = {name: sizes[name] for name in fn.sizes} | {scalar.name: 1 for scalar in fn.scalars}
    values |= {array.name: k + 1 << 40 for k, array in enumerate(fn.arrays)}
    c_function(library, source, fn)(*(values[name] for name in source.parameters))
    if ctypes.c_int.in_dll(library, "polysched_has_read").value:
        raise InputError(f"what {fn.name} launches depends on data: its host code reads elements back")
    return launches
