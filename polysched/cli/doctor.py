"""`polysched doctor`: what this machine has of what polysched can use, and how to get what is missing.

    found    C compiler    runs kernels in C
                           gcc 12.2.0
    missing  nvdisasm      polysched inspect
                           no nvdisasm found: pip install "polysched[inspect]"
"""

from __future__ import annotations

import argparse
import ctypes
import platform
import textwrap
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from polysched.cli.knobs import Commands
from polysched.codegen.emit.vector_math import MACRO
from polysched.config.machine import machine
from polysched.counts.sass.toolkit import find
from polysched.errors import LaunchError, ToolchainError
from polysched.runtime.cache import cache_folder
from polysched.runtime.calibrate import calibrated
from polysched.runtime.gpu.cuda_compile import find_cuda_compiler
from polysched.runtime.gpu.cuda_driver import INSTEAD, on_gpu
from polysched.runtime.gpu.opencl import opencl_library
from polysched.runtime.toolchain import compile_shared, find_compiler, has_openmp
from polysched.runtime.vector_math import libmvec_has
from polysched.support.version import __version__


def add(commands: Commands) -> None:
    parser = commands.add_parser("doctor", help="say which compilers, libraries and devices are there, and which not")
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """A line for each thing; 1 if there is no C compiler, without which no kernel runs."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "islpy", "highspy"))
    print(f"polysched {__version__} on Python {platform.python_version()} with {packages}")
    missing = [name for name, (use, check) in _CHECKS.items() if not _is_there(name, use, check)]
    return int(_ESSENTIAL in missing)


def _is_there(name: str, use: str, check: Callable[[], str]) -> bool:
    try:
        is_there, what = True, check()
    except (ToolchainError, LaunchError, OSError) as error:
        is_there, what = False, str(error).replace(INSTEAD, "").removesuffix("; or ").removesuffix("; ")
    print(f"{'found' if is_there else 'missing':8} {name:13} {use}")
    print(textwrap.fill(what, 100, initial_indent=_INDENT, subsequent_indent=_INDENT))
    return is_there


_INDENT = " " * 23


def _threads() -> str:
    if not has_openmp(find_compiler()):
        raise ToolchainError("the C compiler links no OpenMP: kernels run on one thread; install libgomp, or gcc")
    path = compile_shared("#include <omp.h>\nint threads(void) { return omp_get_max_threads(); }\n", "threads")
    return f"{ctypes.CDLL(str(path)).threads()} threads"


def _vector_math() -> str:
    if not (names := libmvec_has(f"{MACRO}exp {MACRO}tanh")):
        raise ToolchainError("glibc's libmvec is not there: exp, sin and others are called for one value at a time")
    return f"libmvec, with {' and '.join(names)} of several values at a time"


def _device() -> str:
    with on_gpu("cuda", {}) as gpu:
        return f"of architecture {gpu.arch}"


def _pictures() -> str:
    try:
        return f"matplotlib {version('matplotlib')}"
    except PackageNotFoundError:
        raise ToolchainError('matplotlib is missing: pip install "polysched[report]"') from None


def _rates() -> str:
    here = machine()
    if calibrated(here) == here:
        raise ToolchainError("times are predicted with the rates of a common machine: run polysched calibrate")
    return f"{here.cores} cores with vectors of {here.vector_bytes} bytes"


_ESSENTIAL = "C compiler"
_CHECKS: dict[str, tuple[str, Callable[[], str]]] = {
    _ESSENTIAL: ("runs kernels in C", lambda: find_compiler().version),
    "OpenMP": ("runs them on several threads", _threads),
    "vector math": ("functions in SIMD loops, with Options(fast_math=True)", _vector_math),
    "C++ compiler": ("verify() of kernels for GPUs, on the CPU", lambda: find_compiler("c++").version),
    "CUDA compiler": ("compiles kernels in CUDA", lambda: find_cuda_compiler().name),
    "NVIDIA GPU": ("runs kernels in CUDA", _device),
    "nvcc": ("polysched inspect", lambda: find("nvcc")),
    "nvdisasm": ("polysched inspect", lambda: find("nvdisasm")),
    "OpenCL": ("runs kernels in OpenCL", opencl_library),
    "pictures": ("plot(), polysched report", _pictures),
    "calibration": ("predict() for this machine", _rates),
    "cache": ("compiled kernels and results are kept", lambda: str(cache_folder())),
}
