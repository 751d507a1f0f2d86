"""Prints a function as CUDA that is called from C with arrays in the host's memory.

    namespace scale_on_device {                           what emit_cuda prints
        ...
    }
    namespace scale_on_host {
    extern "C" int scale(double *a, int64_t n)
    {
        const size_t bytes_a = sizeof(double) * n;
        double *device_a = NULL;
        int status = cudaMalloc((void **)&device_a, bytes_a);
        ...                                               copies in, launches, waits
        if (!status && cudaMemcpy(a, device_a, bytes_a, cudaMemcpyDeviceToHost)) abort();
        cudaFree(device_a);
        return status;
    }
    }

It returns 0 if it has run, or an error of CUDA's; then the host's arrays are as they were.

Needs: arrays have at most one dimension (`linearize`); no calls of the user's functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polysched.codegen.emit import helpers
from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.emit.dialect import CUDA
from polysched.codegen.emit.printer import Printer
from polysched.codegen.emit.spelling import UNARY
from polysched.codegen.source import parameters
from polysched.ir.nodes import Array, Expr, Function


@dataclass(frozen=True)
class Offload:
    """A kernel to be called from C with arrays in the host's memory."""

    kernel: Function
    entry: str  # the name to call it by, which no other of its file may have
    elements: Mapping[str, Expr]  # how many of each array are copied


def emit_cuda_file(offloads: Sequence[Offload]) -> str:
    """The CUDA text with a function for each of these, "" if there are none: headers are included once, outside of
    namespaces."""
    lines = [line for offload in offloads for line in _Offload(offload).text().splitlines()]
    includes = sorted({line for line in lines if line.startswith("#include ")})
    rest = [line for line in lines if line not in includes]
    return "\n".join([*includes, "", *rest, ""]) if lines else ""


class _Offload(Printer):
    def __init__(self, offload: Offload):
        fn = offload.kernel
        super().__init__(fn, CUDA)
        self.entry, self.elements = offload.entry, offload.elements
        self.on_host = {array.name: self.names(array.name) for array in fn.arrays}
        self.on_device = {array.name: self.names.fresh(f"device_{array.name}") for array in fn.arrays}
        self.bytes = {array.name: self.names.fresh(f"bytes_{array.name}") for array in fn.arrays}
        self.status = self.names.fresh("status")

    def text(self) -> str:
        device = emit_cuda(replace(self.fn, name=f"{self.entry}_device"))
        self.signature(f'extern "C" int {self.entry}', parameters(self.fn))
        for array in self.fn.arrays:
            own, count = self.type(array.dtype), self.expr(self.elements[array.name], UNARY)
            self.line(f"const size_t {self.bytes[array.name]} = sizeof({own}) * {count};")
            self.line(f"{own} *{self.on_device[array.name]} = NULL;")
        self.line(f"int {self.status} = 0;")
        for array in self.fn.arrays:
            there = self.on_device[array.name]
            self.attempt(f"cudaMalloc((void **)&{there}, {self.bytes[array.name]})")
            self.attempt(self.copy(there, self.on_host[array.name], array, "HostToDevice"))
        passed = (self.on_device.get(name) or self.names(name) for name in device.parameters)
        self.attempt(f"{self.entry}_on_device::{device.entry}({', '.join(passed)})")
        self.attempt("cudaDeviceSynchronize()")
        for array in self.fn.arrays:
            if array.name in self.written:
                back = self.copy(self.on_host[array.name], self.on_device[array.name], array, "DeviceToHost")
                self.line(f"if (!{self.status} && {back})")
                self.line("    abort(); /* too late to run it otherwise */")
        for array in self.fn.arrays:
            self.line(f"cudaFree({self.on_device[array.name]});")
        self.line(f"return {self.status};")
        self.close()
        parts = [
            *(f"#include <{name}>" for name in sorted(self.includes | {"stdlib.h"})),
            *(f"namespace {self.entry}_on_device {{", device.text, "}", ""),
            *(f"namespace {self.entry}_on_host {{", *helpers.definitions(self.helpers, CUDA), ""),
            *(*self.lines, "}", ""),
        ]
        return "\n".join(parts)

    def attempt(self, call: str) -> None:
        self.line(f"if (!{self.status})")
        self.line(f"    {self.status} = (int){call};")

    def copy(self, to: str, of: str, array: Array, direction: str) -> str:
        return f"cudaMemcpy({to}, {of}, {self.bytes[array.name]}, cudaMemcpy{direction})"
