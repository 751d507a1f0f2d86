"""What is known of the processor that code is made for: its vectors and its caches; of a GPU, its multiprocessors.

    machine()                       this one
    Machine(vector_bytes=32)        another one, for `Options(machine=...)`
    Machine(instructions=("vpdpbusd",))    one with VNNI
    H100                            132 multiprocessors, for `Options(gpu=...)`
"""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from polysched.errors import InputError

LINE = 64  # bytes of a line of a cache

INSTRUCTIONS = ("vpdpbusd",)  # that `Machine` can name
_MAY_BE_NONE = ("vector_registers", "l1", "l2", "l3")  # fields that may be zero


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Sizes in bytes, rates in GB/s of one thread; the defaults are of a common x86-64 core.

    `instructions` that not all cores with such vectors have: "vpdpbusd", sums of four products of bytes (VNNI).
    """

    vector_bytes: int = 32
    vector_registers: int = 16
    l1: int = 32 << 10
    l2: int = 512 << 10
    l3: int = 8 << 20  # shared by all cores
    cores: int = 1
    megahertz: int = 3200
    l2_rate: int = 150
    l3_rate: int = 55
    memory_rate: int = 25
    instructions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = self.instructions
        if not isinstance(given, tuple) or any(each not in INSTRUCTIONS for each in given):
            names = ", ".join(map(repr, INSTRUCTIONS))
            raise InputError(f"instructions of a machine are {given!r}, but are a tuple of names out of {names}")
        for field in fields(self):
            if field.name == "instructions":
                continue
            value = getattr(self, field.name)
            least = 0 if field.name in _MAY_BE_NONE else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                said = "an integer of zero or more" if least == 0 else "a positive integer"
                raise InputError(f"{field.name} of a machine is {value!r}, but is {said}")


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU; by default about as large as an H100."""

    arch: str = "sm_90"  # for which nvcc compiles what `Compiled.inspect` reads
    multiprocessors: int = 128  # fewer blocks leave some idle

    def __post_init__(self) -> None:
        if not isinstance(self.arch, str) or not re.fullmatch(r"sm_\d+[af]?", self.arch):
            raise InputError(f"arch of a GPU is {self.arch!r}, but must be as nvcc names it: 'sm_90'")
        count = self.multiprocessors
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InputError(f"multiprocessors of a GPU are {count!r}, but must be a positive integer")

    @property
    def capability(self) -> int:
        """The compute capability, times ten: 90 for "sm_90"."""
        return int(re.sub(r"\D", "", self.arch))


A100 = Gpu(arch="sm_80", multiprocessors=108)
H100 = Gpu(arch="sm_90", multiprocessors=132)  # with SXM; 114 on a PCIe card


@cache
def machine() -> Machine:
    """This machine; the defaults where the system does not tell."""
    features = _read("/proc/cpuinfo").split()
    vector_bytes, vector_registers = _vectors(features)
    return Machine(
        vector_bytes=vector_bytes,
        vector_registers=vector_registers,
        l1=_cache(1, Machine.l1),
        l2=_cache(2, Machine.l2),
        l3=_cache(3, Machine.l3),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        instructions=("vpdpbusd",) if {"avx512_vnni", "avx_vnni"} & {*features} else (),
    )


def _vectors(features: list[str]) -> tuple[int, int]:
    """Bytes of a vector register, and how many there are."""
    if platform.machine() in ("aarch64", "arm64"):
        return 16, 32
    if "avx512f" in features:
        return 64, 32
    return (32, 16) if "avx2" in features or not features else (16, 16)


def _cache(level: int, default: int) -> int:
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        is_data = _read(folder / "type").strip() in ("Data", "Unified")
        if is_data and _read(folder / "level").strip() == str(level):
            size = _read(folder / "size").strip()
            return int(size.removesuffix("K")) << 10 if size.endswith("K") else default
    return default


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
