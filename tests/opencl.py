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
from pathlib import Path
from typing import Any

import pytest

from polysched.codegen.emit.opencl import HEADERS
from polysched.codegen.emit.source import Source
from polysched.errors import LaunchError
from polysched.ir.nodes import Function
from polysched.runtime.arguments import Binder
from polysched.runtime.cpu import c_function
from polysched.runtime.gpu.opencl import opencl_library

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")


def loader() -> str:
    """The path of libOpenCL in the wheel of pyopencl, which finds the devices of this process."""
    pytest.importorskip("pyopencl", reason="needs pyopencl, of the extra [opencl]")
    try:
        return opencl_library()
    except LaunchError as error:
        pytest.skip(str(error))


def on_device(source: Source, fn: Function, folder: Path) -> Callable[..., None]:
    """The program, compiled in the folder; asserts that OpenCL has run it."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    text, library, opencl = folder / f"{source.entry}.c", folder / f"{source.entry}.so", loader()
    text.write_text(source.text)
    link = ["-shared", "-fPIC", f"-I{HEADERS}", str(text), opencl, f"-Wl,-rpath,{Path(opencl).parent}", "-lm"]
    subprocess.run(["gcc", *STRICT, "-o", str(library), *link], check=True)
    entry = c_function(ctypes.CDLL(str(library)), source, fn)
    entry.restype = ctypes.c_int

    def run(**arguments: Any) -> None:
        bound = Binder(fn)(arguments)
        assert entry(*bound.in_order) == 0

    return run
