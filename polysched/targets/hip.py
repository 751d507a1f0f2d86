"""HIP, for AMD's devices: the text that CUDA has, in the words of HIP.

    cudaMalloc((void **)&A, ...)             hipMalloc((void **)&A, ...)
    #include <cuda_fp16.h>             ->    #include <hip/hip_fp16.h>

What differs beside words: a launch has at most 2^32 - 1 threads along an axis; no asynchronous copies of elements to
shared memory; warps have 32 or 64 lanes, so kernels do not count on either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from polysched.codegen.emit.cuda import CudaHost, file_of, source_of
from polysched.codegen.emit.dialect import CUDA
from polysched.codegen.emit.source import Offload, Source
from polysched.config.options import Options
from polysched.ir.nodes import Function

_CALLS = (
    "Error_t", "Success", "GetErrorString", "GetLastError", "Malloc", "MallocAsync", "Free", "FreeAsync", "Memcpy",
    "MemcpyHostToDevice", "MemcpyDeviceToHost", "DeviceSynchronize",
)
HIP = replace(
    CUDA,
    name="HIP",
    copy="",
    dynamic="",
    arrivals=(),
    opaque="",  # which is for ptxas
    hides="",
    hiding="",
    shuffle="",
    includes=("hip/hip_runtime.h",),
    reserved=frozenset({*(f"hip{name}" for name in _CALLS), "HIP", "hipcc", "hiprtc", "CUDA", "nvcc", "NVRTC"}),
)
_MOST_THREADS = (1 << 32) - 1  # of a launch, along an axis

_WORDS = (
    (r"\bcuda_fp16\.h\b", "hip/hip_fp16.h"),
    (rf"\bcuda({'|'.join(_CALLS)})\b", r"hip\1"),
    (r"^( *)(hipGetLastError\(\);)", r"\1(void)\2"),  # whose result hipcc wants to see used
    (r"\b__CUDACC", "__HIPCC"),
    (r"\bCUDA\b", "HIP"),
    (r"\bnvcc -fmad=false", "hipcc -ffp-contract=off"),
    (r"\bnvcc\b", "hipcc"),
    (r"\bNVRTC\b", "hiprtc"),
    # grid_of has one more parameter
    (r"^(static dim3 grid_of\(int64_t x, int64_t y, int64_t z)\)$", r"\1, int64_t most)"),
    (r"^(    return dim3\(x < 0 \? 0 :) x < 2147483647 \? x : 2147483647,", r"\1 x < most ? x : most,"),
)


class _HipHost(CudaHost):
    dialect = HIP

    def extents(self, grid: Sequence[str], block: Sequence[str]) -> tuple[str, str]:
        most = min(_MOST_THREADS // int(block[0]), (1 << 31) - 1)
        return super().extents((*grid, str(most)), block)


def emit_hip(kernel: Function, options: Options) -> Source:
    """The HIP text of `kernel`; its entry takes device pointers and returns the first hipError_t as an int."""
    source = source_of(_HipHost(kernel, contract=options.contract_floats))
    return replace(
        source, target="hip", text=_in_hip(source.text), device=_in_hip(source.device), host=_in_hip(source.host)
    )


def emit_hip_file(offloads: Sequence[Offload], options: Options) -> str:
    contract = options.contract_floats
    return _in_hip(file_of([_HipHost(it.kernel, it.entry, it.elements, contract) for it in offloads]))


def _in_hip(text: str) -> str:
    """CUDA's text line for line."""
    for word, own in _WORDS:
        text = re.sub(word, own, text, flags=re.MULTILINE)
    return text
