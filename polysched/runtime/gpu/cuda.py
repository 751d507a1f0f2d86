"""Runs a CUDA Source on a GPU: numpy arrays are copied there and back, arrays that are there are changed in place.

    run = load_cuda(emit_cuda(linearize(fn)), fn)
    run(A=numpy_array, B=cupy_array)
    run.time({"A": numpy_array, "B": cupy_array}, runs=10)

The kernels are compiled to machine code for the device that is there, the host's part of the text (time steps, grids,
temporaries) to a library that calls the driver itself: a launch costs no Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from polysched.codegen.emit.source import Source
from polysched.errors import LaunchError
from polysched.ir.nodes import Function
from polysched.runtime.arguments import Binder, BoundArguments
from polysched.runtime.cpu import c_function, open_library
from polysched.runtime.forked import require_own
from polysched.runtime.gpu.cuda_compile import cubin
from polysched.runtime.gpu.cuda_driver import LAUNCHERS, Gpu, Launcher, on_gpu
from polysched.runtime.timing import Timing
from polysched.runtime.toolchain import EXACT, compile_shared
from polysched.support import isl

_HOST = Path(__file__).with_name("cuda_host.h")
_FLAGS = ("-std=c++17", "-O2", "-Wno-unused", *EXACT)


@dataclass(frozen=True)
class CudaProgram:
    """A program for GPUs; call it with the arguments of `fn` by name. Nothing is compiled before the first call."""

    source: Source
    fn: Function  # as the user gave it
    valid_sizes: isl.Set | None = None  # { : ... } for which all accesses are in bounds; None: all
    contract: bool = False  # may a * b + c of floats be rounded once?
    launcher: Launcher = "cuda"
    _entries: dict[str, Callable[..., None]] = field(default_factory=dict)  # by architecture

    def __repr__(self) -> str:
        return f"CudaProgram({self.fn.name}, launcher='{self.launcher}')"

    def __call__(self, **arguments: Any) -> None:
        """Runs it, and waits for it; LaunchError, before anything runs, if the arguments do not fit.

        Device arrays are used in place, numpy arrays are copied to the device and, where they are written, back.
        """
        with self._prepared(arguments) as (bound, gpu, entry), _on_device(bound, gpu) as pointers:
            entry(*bound.in_order_at(pointers))
            gpu.synchronize()
            for name in self._bind.written:
                if not bound.arrays[name].form.is_on_device:
                    gpu.copy_out(bound.arrays[name].owner, pointers[name])

    def time(self, arguments: Mapping[str, Any], runs: int) -> Timing:
        """Times of the device without copies from and to the host, on copies of the arrays that are written."""
        with self._prepared(arguments) as (bound, gpu, entry), _on_device(bound, gpu) as pointers:
            sizes = {name: bound.arrays[name].form.nbytes for name in self._bind.written}
            with _memory(sizes, gpu) as scratch:
                values = bound.in_order_at(pointers | scratch)
                samples = []
                for _ in range(runs + 1):
                    for name, size in sizes.items():
                        gpu.copy(scratch[name], pointers[name], size)
                    gpu.synchronize()
                    samples.append(gpu.milliseconds(lambda: entry(*values)))
        return Timing(tuple(samples[1:]))  # the first has loaded the kernels

    @cached_property
    def _bind(self) -> Binder:
        return Binder(self.fn, self.valid_sizes, on_device=True)

    @contextmanager
    def _prepared(self, arguments: Mapping[str, Any]) -> Iterator[tuple[BoundArguments, Gpu, Callable[..., None]]]:
        """The checked arguments, the device that they are on or go to, and what launches the kernels there."""
        bound = self._bind(arguments)
        there = {name: view.at for name, view in bound.arrays.items() if view.form.is_on_device and view.form.nbytes}
        require_own("CUDA")
        with on_gpu(self.launcher, there) as gpu:
            for view in bound.arrays.values():
                if view.stream is not None:
                    gpu.synchronize(view.stream)
            if gpu.arch not in self._entries:
                self._entries[gpu.arch] = _launcher(self.source, self.fn, gpu.arch, self.contract)
            yield bound, gpu, self._entries[gpu.arch]


def load_cuda(
    source: Source,
    fn: Function,
    valid_sizes: isl.Set | None = None,
    *,
    contract: bool = False,
    launcher: Launcher = "cuda",
) -> CudaProgram:
    """`source` as a program; `fn` is the function as the user calls it, before `linearize`.

    LaunchError if there is no such launcher.
    """
    if launcher not in LAUNCHERS:
        raise LaunchError(f"there is no launcher '{launcher}'; they are {', '.join(LAUNCHERS)}")
    return CudaProgram(source, fn, valid_sizes, contract, launcher)


def build(source: Source, arch: str, *, contract: bool = False) -> tuple[bytes, Path]:
    """The machine code of the kernels, and the library of the host's part, both from the cache if they are there."""
    names = " ".join(f"X({name})" for kernel in source.kernels for name in (kernel.name, kernel.wide) if name)
    head = f"/* {arch} */\n#define POLYSCHED_KERNELS(X) {names}\n{_HOST.read_text()}"
    text = f'{head}#line 1 "{source.entry}"\n{source.host}'
    library = compile_shared(text, source.entry, language="c++", flags=_FLAGS)
    return cubin(source, arch, contract=contract), library


def _launcher(source: Source, fn: Function, arch: str, contract: bool) -> Callable[..., None]:
    """The entry of the host's part, whose kernels are loaded; it raises LaunchError where CUDA fails."""
    image, path = build(source, arch, contract=contract)
    library = open_library(str(path))
    library.polysched_last_message.restype = ctypes.c_char_p
    entry = c_function(library, source, fn)
    entry.restype = ctypes.c_int

    def require(status: int) -> None:
        if status:
            raise LaunchError(f"{source.entry} cannot run: {library.polysched_last_message().decode().strip()}")

    require(library.polysched_load(image))
    return lambda *values: require(entry(*values))


@contextmanager
def _on_device(bound: BoundArguments, gpu: Gpu) -> Iterator[dict[str, int]]:
    """The addresses of the arrays on the device, with copies of those that are not there."""
    copied = {name: view for name, view in bound.arrays.items() if not view.form.is_on_device}
    with _memory({name: view.form.nbytes for name, view in copied.items()}, gpu) as fresh:
        for name, view in copied.items():
            gpu.copy_in(fresh[name], view.owner)
        yield {name: fresh.get(name, view.at) for name, view in bound.arrays.items()}


@contextmanager
def _memory(sizes: Mapping[str, int], gpu: Gpu) -> Iterator[dict[str, int]]:
    """Memory on the device for as many bytes each."""
    with ExitStack() as releases:
        taken: dict[str, int] = {}
        for name, size in sizes.items():
            taken[name] = gpu.allocate(size)
            releases.callback(gpu.release, taken[name])
        yield taken
