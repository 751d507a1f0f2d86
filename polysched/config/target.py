"""What a target is, as data that any stage may ask, so that none compares its name.

TARGETS["cuda"].has_grid               loops go on blocks and threads, where a CPU has threads and lanes
TARGETS["cuda"].limits.block           threads of a block, at most
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polysched.config.options import Target
from polysched.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Of every GPU: the largest launch, and bytes that go together."""

    threads: Mapping[str, int]  # of a block, along each axis
    blocks: Mapping[str, int]  # of a grid, along each axis
    block: int  # threads
    warp: int  # threads
    shared: int  # bytes of shared memory that a block has without asking for more
    dynamic: int  # with asking, on the largest devices
    load: int  # bytes that a thread loads at once
    sector: int  # bytes that a warp loads at least
    banks: int  # bytes that a warp can store to shared memory at once, if they lie next to each other

    def team(self, threads: int) -> int:
        """The threads of whole warps, a power of two, that so many need to add up in a tree."""
        return max(self.warp, 1 << (threads - 1).bit_length())


@dataclass(frozen=True, kw_only=True)
class TargetData:
    """A target: what it is called, what it has, and what things cost there."""

    name: Target
    language: str
    suffix: str  # of a file with its kernels
    division: int  # by a value that is no constant, in additions
    registers: int  # integer names that may live across a loop
    shared: int = 48 << 10  # bytes of shared memory that a block may ask for, where it has any
    is_single_source: bool = True  # are kernels and what launches them one text?
    has_grid: bool = False  # blocks and threads, of which a block shares memory
    has_shuffles: bool = False  # threads of a warp read each other's registers
    has_tensor: bool = False  # tensor instructions of a warp
    has_sass: bool = False  # nvcc compiles it, to what can be read


def require_known(name: object) -> None:
    """InputError unless there is a target of that name."""
    if not isinstance(name, str) or name not in TARGETS:
        raise InputError(f"there is no target '{name}'", hint=f"the targets are {', '.join(TARGETS)}")


LIMITS = Limits(
    threads={"x": 1024, "y": 1024, "z": 64},
    blocks={"x": 2147483647, "y": 65535, "z": 65535},
    block=1024,
    warp=32,
    shared=48 << 10,
    dynamic=227 << 10,
    load=16,
    sector=32,
    banks=128,
)  # of CUDA since compute capability 3.0; devices of OpenCL are taken to have as much

# Divisions by run-time values are an instruction of 20 to 40 cycles on CPUs, and a routine on GPUs, of 70 instructions
# in 64 bits, which index arithmetic may have. On a GPU, integer names take up to two registers each; with more than 64,
# fewer threads fit a multiprocessor. A CPU keeps in memory at little cost what only the outer loops need.
_GPU = TargetData(name="cuda", language="CUDA", suffix=".cu", has_grid=True, division=70, registers=32)
TARGETS: Mapping[Target, TargetData] = {
    "c": TargetData(name="c", language="C", suffix=".c", division=25, registers=96),
    "cuda": replace(_GPU, has_shuffles=True, has_tensor=True, has_sass=True, shared=LIMITS.dynamic),
    "opencl": replace(_GPU, name="opencl", language="OpenCL", suffix=".cl", is_single_source=False),
    "hip": replace(_GPU, name="hip", language="HIP", suffix=".hip"),
}
