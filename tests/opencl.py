"""Runs OpenCL Sources through OpenCL's C interface: on this machine's device, or on its CPU by PoCL.

    run = on_device(emit_opencl(linearize(fn)), fn, folder)
    run(A=a)

Skips the test where there is none; `pip install polysched[opencl]` brings PoCL.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from polysched.codegen.source import Source
from polysched.ir.nodes import Function
from polysched.runtime.arguments import bind
from polysched.runtime.cpu import c_function, c_values

HEADER = Path(__file__).parent / "c"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")


@cache
def loader() -> str:
    """The path of libOpenCL in the wheel of pyopencl, which finds the devices of this process."""
    pyopencl = pytest.importorskip("pyopencl", reason="needs pyopencl, of the extra [opencl]")
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.LogicError:
        platforms = []
    if not platforms:
        pytest.skip("there is no OpenCL device; PoCL is one, of the extra [opencl]")
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libOpenCL" in line}
    return min(loaded)


def shared_library(text: str, folder: Path) -> ctypes.CDLL:
    """The C text compiled, with OpenCL."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    source, library, path = folder / "host.c", folder / "host.so", loader()
    source.write_text(text)
    link = ["-shared", "-fPIC", f"-I{HEADER}", str(source), path, f"-Wl,-rpath,{Path(path).parent}", "-lm"]
    subprocess.run(["gcc", *STRICT, "-o", str(library), *link], check=True)
    return ctypes.CDLL(str(library))


def on_device(source: Source, fn: Function, folder: Path) -> Callable[..., None]:
    """The program; asserts that OpenCL has run it."""
    entry = c_function(shared_library(source.text, folder), source, fn)
    entry.restype = ctypes.c_int

    def run(**arguments: Any) -> None:
        bound = bind(fn, arguments)
        assert entry(*c_values(bound, fn)) == 0

    return run
