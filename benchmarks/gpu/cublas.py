"""cuBLAS, through its C interface: what a product of matrices takes when experts have written it by hand."""

from __future__ import annotations

import ctypes
import statistics
from importlib import import_module

import numpy as np

from polysched.runtime.gpu.cuda_driver import on_gpu

_N = 0  # an operand as it is
_FLOAT, _HALF = 0, 2  # cudaDataType_t
_IN_FLOAT, _DEFAULT = 68, -1  # CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT


def time_product(n: int, bits: int, runs: int) -> float:
    """Milliseconds, by median, of C = A B on n x n matrices of double, float, or half with sums of float; OSError if
    there is no cuBLAS."""
    library = ctypes.CDLL(_path())
    own = ctypes.c_double if bits == 64 else ctypes.c_float
    dtype = {64: np.float64, 32: np.float32, 16: np.float16}[bits]
    rng = np.random.default_rng(0)
    with on_gpu("cuda", {}) as gpu:
        handle, matrices = ctypes.c_void_p(), []
        _require(library.cublasCreate_v2(ctypes.byref(handle)))
        for _ in range(3):
            matrices.append(gpu.allocate(n * n * max(32, bits) // 8))
            gpu.copy_in(matrices[-1], rng.random((n, n)).astype(dtype))
        one, zero = own(1.0), own(0.0)
        a, b, c = (ctypes.c_void_p(at) for at in matrices)

        def run() -> None:
            shape, factor = (handle, _N, _N, n, n, n, ctypes.byref(one)), ctypes.byref(zero)
            if bits == 16:
                ex = library.cublasGemmEx
                _require(ex(*shape, a, _HALF, n, b, _HALF, n, factor, c, _FLOAT, n, _IN_FLOAT, _DEFAULT))
            else:
                gemm = library.cublasDgemm_v2 if bits == 64 else library.cublasSgemm_v2
                _require(gemm(*shape, a, n, b, n, factor, c, n))

        samples = [gpu.milliseconds(run) for _ in range(runs + 2)][2:]
        for at in matrices:
            gpu.release(at)
        _require(library.cublasDestroy_v2(handle))
    return statistics.median(samples)


def _path() -> str:
    """Of the library: in a wheel of NVIDIA's, or the system's."""
    try:
        return str(import_module("cuda.pathfinder").load_nvidia_dynamic_lib("cublas").abs_path)
    except (ImportError, RuntimeError):
        return "libcublas.so"


def _require(status: int) -> None:
    if status:
        raise OSError(f"cuBLAS failed with status {status}")
