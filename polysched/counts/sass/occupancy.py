"""How many blocks of a kernel a multiprocessor holds at a time, and what keeps it from holding more.

    occupancy("sm_90", threads=256, registers=64, shared=0)     4 blocks, 32 of 64 warps, limited by registers

The rules are those of CUDA's cuda_occupancy.h; the sizes are in the CUDA C++ Programming Guide, "Technical
Specifications per Compute Capability".
"""

from __future__ import annotations

from dataclasses import dataclass

_WARP = 32
_REGISTERS = 64 << 10  # of a multiprocessor, in four parts
_PARTS = 4
_REGISTER_UNIT = 256  # registers are given to warps by this many


@dataclass(frozen=True)
class _Multiprocessor:
    warps: int
    blocks: int
    shared: int  # bytes
    shared_unit: int = 128  # bytes; blocks are given multiples of it
    reserved: int = 1 << 10  # bytes that the driver takes of each block


_ARCHES = {
    "sm_75": _Multiprocessor(32, 16, 64 << 10, 256, 0),
    "sm_80": _Multiprocessor(64, 32, 164 << 10),
    "sm_86": _Multiprocessor(48, 16, 100 << 10),
    "sm_87": _Multiprocessor(48, 16, 164 << 10),
    "sm_89": _Multiprocessor(48, 24, 100 << 10),
    "sm_90": _Multiprocessor(64, 32, 228 << 10),
    "sm_100": _Multiprocessor(64, 32, 228 << 10),
    "sm_103": _Multiprocessor(64, 32, 228 << 10),
    "sm_120": _Multiprocessor(48, 24, 100 << 10),
}


@dataclass(frozen=True, kw_only=True)
class Occupancy:
    """What runs on one multiprocessor at a time."""

    blocks: int
    warps: int
    most_warps: int  # that it can hold
    limit: str  # "warps", "blocks", "registers" or "shared memory": what runs out first

    @property
    def share(self) -> float:
        return self.warps / self.most_warps


def occupancy(arch: str, *, threads: int, registers: int, shared: int) -> Occupancy | None:
    """For blocks of `threads` with `shared` bytes, and `registers` of each thread; None if the GPU is not known."""
    sm = _ARCHES.get(arch.rstrip("af"))  # sm_90a is an sm_90 with more instructions
    if sm is None:
        return None
    warps = -(-threads // _WARP)
    registers_of_warp = _round_up(max(registers, 1) * _WARP, _REGISTER_UNIT)
    of_block = _round_up(shared + sm.reserved, sm.shared_unit)
    most = {
        "warps": sm.warps // warps,
        "blocks": sm.blocks,
        "registers": _REGISTERS // _PARTS // registers_of_warp * _PARTS // warps,
        "shared memory": sm.shared // of_block if of_block else sm.blocks,
    }
    limit = min(most, key=lambda name: most[name])
    return Occupancy(blocks=most[limit], warps=most[limit] * warps, most_warps=sm.warps, limit=limit)


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
