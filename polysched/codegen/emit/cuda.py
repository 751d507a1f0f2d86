"""Prints a function as CUDA: kernels, and a host function that launches them on device pointers.

    for t in 0..steps:
        for b in 0..n by 32 (block.x):                      for (int64_t t = 0; t < steps; t++) {
            for i in b..min(n, b + 32) (thread.x):    ->        POLYSCHED_LAUNCH(f_k0, grid_of((n + 31) >> 5, 1, 1),
                a[i] = a[i] * 2.0                                                dim3(32, 1, 1), n, a);
                                                            }

Needs: arrays have at most one dimension (`linearize`); names are bound once; to be compiled with -fmad=false.
"""

from __future__ import annotations

from collections.abc import Sequence

from polysched.codegen.emit.dialect import CUDA
from polysched.codegen.emit.kernels import Host, uses
from polysched.codegen.emit.spelling import UNARY
from polysched.codegen.source import Source, parameters
from polysched.ir.dtypes import f16
from polysched.ir.nodes import Array, Expr, Function

_LAUNCH = """\
#ifndef POLYSCHED_LAUNCH
#define POLYSCHED_LAUNCH(kernel, grid, block, ...)                          \\
    do {                                                                    \\
        const dim3 polysched_grid = grid;                                   \\
        if (polysched_grid.x && polysched_grid.y && polysched_grid.z)       \\
            kernel<<<polysched_grid, block>>>(__VA_ARGS__);                 \\
    } while (0)
#endif

/* The largest grid that is allowed, and no larger than asked for; kernels stride over the rest. */
static dim3 grid_of(int64_t x, int64_t y, int64_t z)
{
    return dim3(x < 0 ? 0 : x < 2147483647 ? x : 2147483647, y < 0 ? 0 : y < 65535 ? y : 65535,
                z < 0 ? 0 : z < 65535 ? z : 65535);
}
"""
_READ = """
template <class T> static T read_element(const T *element)
{
    T value;
    cudaMemcpy(&value, element, sizeof(T), cudaMemcpyDeviceToHost);
    return value;
}
"""
_HALF = """\
#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif
"""


def emit_cuda(fn: Function) -> Source:
    """The CUDA text of `fn`; its entry takes device pointers and returns the cudaError_t of the launches as an int."""
    host = _Host(fn)
    names = parameters(fn)
    host.signature(f'extern "C" int {host.entry}', names)
    host.mention(names)
    host.block(fn.body)
    host.line("return (int)cudaGetLastError();")
    host.close()
    parts = [
        *host.header(_HALF + "\n" + _LAUNCH if uses(fn, f16) else _LAUNCH),
        *(_READ.split("\n")[1:] if host.reads_back else []),
        *host.kernel_lines,
        *host.lines,
        "",
    ]
    kernels = tuple(host.kernels)
    return Source(language="cuda", text="\n".join(parts), entry=host.entry, parameters=names, kernels=kernels)


class _Host(Host):
    def __init__(self, fn: Function):
        super().__init__(fn, CUDA, CUDA)
        self.reads_back = False

    def allocate(self, array: Array) -> None:
        name, own = self.names(array.name), self.type(array.dtype)
        self.line(f"{own} *{name} = NULL;")
        self.line(f"cudaMalloc((void **)&{name}, sizeof({own}) * {self.expr(self.extent(array), UNARY)});")

    def free(self, array: Array) -> None:
        self.line(f"cudaFree({self.names(array.name)});")

    def element(self, array: str, index: tuple[Expr, ...]) -> str:
        self.reads_back = True
        return f"read_element(&{super().element(array, index)})"

    def extents(self, grid: Sequence[str], block: Sequence[str]) -> tuple[str, str]:
        return f"grid_of({', '.join(grid)})", f"dim3({', '.join(block)})"

    def argument(self, name: str) -> str:
        return self.names(name)
