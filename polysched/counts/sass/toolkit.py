"""Compiles CUDA with nvcc and disassembles it with nvdisasm, through the cache.

    POLYSCHED_NVCC, POLYSCHED_NVDISASM     the programs to use; else the first that is found in
    PATH, CUDA_HOME/bin, CUDA_PATH/bin, /usr/local/cuda/bin, and NVIDIA's wheels (pip install "polysched[inspect]")
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from polysched.errors import ToolchainError
from polysched.runtime.cache import cached
from polysched.runtime.toolchain import failure

_INSTALL = {
    "nvcc": "install a CUDA toolkit, or name its compiler in POLYSCHED_NVCC",
    "nvdisasm": 'pip install "polysched[inspect]" (NVIDIA\'s wheel nvidia-cuda-nvdisasm), or name one in '
    "POLYSCHED_NVDISASM",
}
DEFAULT_ARCH = "sm_90"


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What ptxas says that a kernel takes."""

    registers: int  # of each thread
    spill_stores: int  # bytes
    spill_loads: int  # bytes
    stack: int  # bytes of each thread
    shared: int  # bytes of each block, without what a launch adds


def disassemble(
    text: str, name: str, *, arch: str = DEFAULT_ARCH, flags: tuple[str, ...] = (), include: Path | None = None
) -> tuple[str, dict[str, Resources]]:
    """What nvdisasm prints of the CUDA `text`, and the resources of its kernels by symbol.

    `name` is what nvcc calls the text in messages; `include` is a folder of headers.
    ToolchainError if a program is missing, or nvcc refuses the text.
    """
    nvcc, nvdisasm = find("nvcc"), find("nvdisasm")
    file = re.sub(r"\W", "_", name.removesuffix(".cu")) + ".cu"
    folders = ("-I", str(include.resolve())) if include else ()
    command = (nvcc, "-cubin", f"-arch={arch}", "-lineinfo", "-Xptxas", "-v", *flags, *folders, file)

    def build(output: Path) -> None:
        folder = output.parent
        (folder / file).write_text(text)
        said = _run([*command, "-o", "out.cubin"], folder, text, file)
        out = _run([nvdisasm, "-g", "out.cubin"], folder)
        output.write_text(said + _CUT + out)

    if re.search(r'#\s*include\s*"', text) or any(flag.startswith(("-I", "-include", "--")) for flag in flags):
        with tempfile.TemporaryDirectory(prefix="polysched-") as folder:  # the cache would not see edits of headers
            build(path := Path(folder, "out.sass"))
            printed = path.read_text()
    else:
        printed = cached((text, *command, _version(nvcc), _version(nvdisasm)), ".sass", build).read_text()
    said, _, disassembly = printed.partition(_CUT)
    return disassembly, _resources(said)


_CUT = "\n// polysched: what nvcc says stands above, the disassembly below\n"


def find(program: str) -> str:
    """The path of "nvcc" or "nvdisasm"; ToolchainError with what to install if there is none."""
    variable = f"POLYSCHED_{program.upper()}"
    if named := os.environ.get(variable):
        if path := shutil.which(named):
            return path
        raise ToolchainError(f"{variable}={named} is no program that runs")
    for folder in _folders():
        if path := shutil.which(program, path=folder):
            return path
    raise ToolchainError(f"no {program} found: {_INSTALL[program]}")


def _folders() -> Iterator[str]:
    """Where programs may be; of the toolkit's own folder first, whose versions fit together."""
    yield os.environ.get("PATH", "")
    if nvcc := shutil.which("nvcc"):
        yield str(Path(nvcc).resolve().parent)
    yield from (f"{os.environ[name]}/bin" for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name))
    yield "/usr/local/cuda/bin"
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        yield from (str(folder) for folder in sorted(Path(place).glob("*/bin"), reverse=True))


def _run(command: list[str], folder: Path, text: str = "", file: str = "") -> str:
    """What it prints; ToolchainError with the first line of `text` that it complains about if it fails."""
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    said = run.stderr + run.stdout
    if run.returncode != 0:
        raise ToolchainError(failure(shlex.join(command), said, text, file))
    return said


@cache
def _version(program: str) -> str:
    return _run([program, "--version"], Path.cwd())


_KERNEL = re.compile(r"Compiling entry function '([^']+)'")
_NUMBERS = {
    "stack": r"(\d+) bytes stack frame",
    "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads",
    "registers": r"Used (\d+) registers",
    "shared": r"(\d+) bytes smem",
}


def _resources(said: str) -> dict[str, Resources]:
    """What `ptxas -v` has said of each kernel; what it does not mention is none."""
    _, *parts = _KERNEL.split(said)
    return {
        symbol: Resources(
            **{name: int(found[1]) if (found := re.search(pattern, text)) else 0 for name, pattern in _NUMBERS.items()}
        )
        for symbol, text in zip(parts[::2], parts[1::2], strict=True)
    }
