"""cuBLAS, through its C interface: what a product of matrices takes when experts have written it by hand."""

from __future__ import annotations

import ctypes
import statistics
from importlib import import_module

import numpy as np

from polysched.runtime.cuda_driver import on_gpu

_N = 0  # an operand as it is


def time_product(n: int, bits: int, runs: int) -> float:
    """Milliseconds, by median, of C = A B on n x n matrices of float or double; OSError if there is no cuBLAS."""
    library = ctypes.CDLL(_path())
    own, dtype, gemm = (
        (ctypes.c_double, np.float64, library.cublasDgemm_v2)
        if bits == 64
        else (ctypes.c_float, np.float32, library.cublasSgemm_v2)
    )
    rng = np.random.default_rng(0)
    with on_gpu("cuda", {}) as gpu:
        handle, matrices = ctypes.c_void_p(), []
        _require(library.cublasCreate_v2(ctypes.byref(handle)))
        for _ in range(3):
            matrices.append(gpu.allocate(n * n * bits // 8))
            gpu.copy_in(matrices[-1], rng.random((n, n)).astype(dtype))
        one, zero = own(1.0), own(0.0)
        a, b, c = (ctypes.c_void_p(at) for at in matrices)

        def run() -> None:
            _require(gemm(handle, _N, _N, n, n, n, ctypes.byref(one), a, n, b, n, ctypes.byref(zero), c, n))

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
