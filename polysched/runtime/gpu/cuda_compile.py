"""Compiles the kernels of a CUDA Source to machine code for one kind of GPU, through the cache; needs no GPU.

    cubin(source, "sm_90")      by NVRTC, of the extra [cuda]; by nvcc where there is no NVRTC
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from polysched.codegen.emit.source import Source
from polysched.errors import ToolchainError
from polysched.runtime.cache import cached
from polysched.runtime.toolchain import failure

_ROUND_EACH = "-fmad=false"
_FLAGS = ("-std=c++17", "-diag-suppress=177")  # 177: a helper that only the host's part calls


@dataclass(frozen=True)
class CudaCompiler:
    """A compiler of kernels; `compile` makes machine code of a text, a file name and flags, or raises what it says."""

    name: str  # with its version
    compile: Callable[[str, str, tuple[str, ...]], bytes]


class _Refused(Exception):
    """What the compiler says of a text."""


def cubin(source: Source, arch: str, *, contract: bool = False) -> bytes:
    """The kernels of `source` for GPUs like "sm_90"; with `contract`, a * b + c of floats may be rounded once.

    ToolchainError if there is no compiler, or it refuses the text.
    """
    compiler, file = find_cuda_compiler(), f"{source.entry}.cu"
    flags = (f"-arch={arch}", *_FLAGS, *(() if contract else (_ROUND_EACH,)))

    def build(output: Path) -> None:
        try:
            output.write_bytes(compiler.compile(source.device, file, flags))
        except _Refused as error:
            command = f"{compiler.name}: {shlex.join((*flags, file))}"
            raise ToolchainError(failure(command, str(error), source.device, file)) from None

    return cached((source.device, compiler.name, *flags), ".cubin", build).read_bytes()


def find_cuda_compiler() -> CudaCompiler:
    """NVRTC, or else nvcc; ToolchainError if there is neither."""
    found = _nvrtc() or _nvcc()
    if found is None:
        raise ToolchainError(
            'no compiler of CUDA found: neither NVRTC, which pip install "polysched[cuda]" brings, nor nvcc; the text '
            'is in .source, and optimize(nest, target="c") needs neither'
        )
    return found


# --- NVRTC


@cache
def _nvrtc() -> CudaCompiler | None:
    try:
        nvrtc = import_module("cuda.bindings.nvrtc")
    except ImportError:
        return None
    try:
        _, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError:  # the bindings are there, but not the library
        return None

    def compile(text: str, file: str, flags: tuple[str, ...]) -> bytes:
        program = _ok(nvrtc, nvrtc.nvrtcCreateProgram(text.encode(), file.encode(), 0, [], []))
        try:
            options = [flag.encode() for flag in (*flags, *_headers(text))]
            (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
            if status == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION:
                log = bytes(_ok(nvrtc, nvrtc.nvrtcGetProgramLogSize(program)))
                _ok(nvrtc, nvrtc.nvrtcGetProgramLog(program, log))
                raise _Refused(log.decode(errors="replace"))
            _ok(nvrtc, (status,))
            code = bytes(_ok(nvrtc, nvrtc.nvrtcGetCUBINSize(program)))
            _ok(nvrtc, nvrtc.nvrtcGetCUBIN(program, code))
            return code
        finally:
            nvrtc.nvrtcDestroyProgram(program)

    return CudaCompiler(f"NVRTC {major}.{minor}", compile)


def _ok(nvrtc: Any, result: tuple[Any, ...]) -> Any:
    """The value of a call; it is written into in place where that is how NVRTC gives it."""
    status, *values = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise ToolchainError(f"NVRTC failed: {nvrtc.nvrtcGetErrorString(status)[1].decode()}")
    return values[0] if values else None


def _headers(text: str) -> tuple[str, ...]:
    """The option for CUDA's headers, which NVRTC comes without, if the text includes any."""
    if not re.search(r"#include <cuda", text):
        return ()
    folder = import_module("cuda.pathfinder").find_nvidia_header_directory("cudart")
    if folder is None:
        raise ToolchainError("CUDA's headers are missing, which this text includes: pip install nvidia-cuda-runtime")
    return (f"-I{folder}",)


# --- nvcc


def _nvcc() -> CudaCompiler | None:
    path = shutil.which("nvcc")
    if path is None:
        return None
    version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.strip().splitlines()[-1:]

    def compile(text: str, file: str, flags: tuple[str, ...]) -> bytes:
        with tempfile.TemporaryDirectory(prefix="polysched-") as folder:
            Path(folder, file).write_text(text)
            command = [path, "-cubin", *flags, file, "-o", "out.cubin"]
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
            if run.returncode != 0:
                raise _Refused(run.stderr or run.stdout)
            return Path(folder, "out.cubin").read_bytes()

    return CudaCompiler(f"nvcc {' '.join(version)}", compile)
