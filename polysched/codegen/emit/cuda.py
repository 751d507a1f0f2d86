"""Prints a function as CUDA: kernels, and a host function that launches them.

    for t in 0..steps:
        for b in 0..n by 32 (block.x):                      for (int64_t t = 0; t < steps; t++) {
            for i in b..min(n, b + 32) (thread.x):    ->        POLYSCHED_LAUNCH(f_k0, grid_of((n + 31) >> 5, 1, 1),
                a[i] = a[i] * 2.0                                                dim3(32, 1, 1), n, a);
                                                            }

`emit_cuda` takes arrays on the device. `emit_cuda_file` is for C programs: its functions take arrays in the host's
memory, and copy them. Every call of CUDA is checked: the first that fails is said on stderr with its place, and the
rest of the function only cleans up.

Needs: arrays have at most one dimension (`linearize`); names are bound once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from polysched.codegen.emit import helpers, tensor
from polysched.codegen.emit.dialect import CUDA, KernelDialect
from polysched.codegen.emit.kernels import Host, uses
from polysched.codegen.emit.narrowing import more
from polysched.codegen.emit.source import Offload, Source, loc_of, parameters
from polysched.codegen.emit.spelling import UNARY
from polysched.ir.build import add
from polysched.ir.dtypes import f16
from polysched.ir.node import substitute
from polysched.ir.nodes import Array, Expr, Function, Var
from polysched.support.version import __version__

_CHECKS = """\
#ifndef POLYSCHED_REPORT
static int polysched_reports; /* only the first is printed: a program may go on without a device */
#define POLYSCHED_REPORT(...) (polysched_reports++ ? 0 : fprintf(stderr, __VA_ARGS__))
#endif

/* What became of the function that runs: its first error. After that, it only cleans up. */
static thread_local cudaError_t polysched_status;

static inline void polysched_check(cudaError_t status, const char *call, const char *file, int line)
{
    if (status == cudaSuccess || polysched_status != cudaSuccess)
        return;
    POLYSCHED_REPORT("%s:%d: %s: %s{then}\\n", file, line, call, cudaGetErrorString(status));
    polysched_status = status;
    cudaGetLastError(); /* it is returned: the next call is not to find it */
}

#define POLYSCHED_CHECK(call) polysched_check(call, #call, __FILE__, __LINE__)
#define POLYSCHED_TRY(call)                                                                        \\
    do {                                                                                           \\
        if (polysched_status == cudaSuccess)                                                       \\
            POLYSCHED_CHECK(call);                                                                 \\
    } while (0)
/* CUDA keeps an error until it is asked for: one from before is not to be taken for a launch's. */
#define POLYSCHED_BEGIN(entry)                                                                     \\
    do {                                                                                           \\
        polysched_status = cudaSuccess;                                                            \\
        polysched_check(cudaGetLastError(), "CUDA before " #entry, __FILE__, __LINE__);            \\
    } while (0)

#ifndef POLYSCHED_LAUNCH
{shared}#define POLYSCHED_LAUNCH(kernel, grid, block, ...)                                                 \\
    do {                                                                                           \\
        const dim3 polysched_grid = grid;                                                          \\
        const bool polysched_blocks = polysched_grid.x && polysched_grid.y && polysched_grid.z;    \\
        if (polysched_status == cudaSuccess && polysched_blocks) {                                 \\
            kernel<<<polysched_grid, block>>>(__VA_ARGS__);                                        \\
            polysched_check(cudaGetLastError(), "launch of " #kernel, __FILE__, __LINE__);         \\
        }                                                                                          \\
    } while (0)
#endif

/* The largest grid that is allowed, and no larger than asked for; kernels stride over the rest. */
static dim3 grid_of(int64_t x, int64_t y, int64_t z)
{
    return dim3(x < 0 ? 0 : x < 2147483647 ? x : 2147483647, y < 0 ? 0 : y < 65535 ? y : 65535,
                z < 0 ? 0 : z < 65535 ? z : 65535);
}
"""
_SHARED = """\
/* Bytes of shared memory that launches give a block, beyond what a kernel may declare. */
static thread_local unsigned polysched_shared;
#define POLYSCHED_SHARED(kernel, bytes)                                                            \\
    do {                                                                                           \\
        polysched_shared = bytes;                                                                  \\
        POLYSCHED_TRY(                                                                             \\
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));     \\
    } while (0)
"""
_EITHER = """
#ifndef POLYSCHED_LAUNCH_EITHER
#define POLYSCHED_LAUNCH_EITHER(narrow, kernel, wide, ...)                                         \\
    do {                                                                                           \\
        if (narrow)                                                                                \\
            POLYSCHED_LAUNCH(kernel, __VA_ARGS__);                                                 \\
        else                                                                                       \\
            POLYSCHED_LAUNCH(wide, __VA_ARGS__);                                                   \\
    } while (0)
#endif

/* Is none of these more than an int32_t holds? They are double, which does not overflow. */
template <class... T> static bool fit_32_bits(T... values)
{
    return ((values <= 2147483647.0) && ...);
}
"""
RECIPROCAL = """
/* For kernels, which multiply instead of dividing: 2^k / divisor in 32 bits, and k (Granlund and Montgomery). */
static uint64_t reciprocal(int64_t divisor)
{
    if (divisor <= 0 || divisor > INT32_MAX)
        return 0;
    uint64_t k = 31;
    while (divisor > (int64_t)1 << (k - 31))
        k++;
    return k << 32 | (((uint64_t)1 << k) + divisor - 1) / divisor;
}
"""
_TEMPORARIES = """
/* Memory that is taken and given back in the order of launches, so nobody waits; not every device has it. */
static cudaError_t polysched_malloc(void **memory, size_t size)
{
    if (cudaMallocAsync(memory, size, 0) == cudaSuccess)
        return cudaSuccess;
    cudaGetLastError();
    return cudaMalloc(memory, size);
}

static cudaError_t polysched_free(void *memory)
{
    if (cudaFreeAsync(memory, 0) == cudaSuccess)
        return cudaSuccess;
    cudaGetLastError();
    return cudaFree(memory);
}
"""
_BACK = """
/* For results: once some are in the host's memory, it is too late for the CPU. */
#define POLYSCHED_BACK(call)                                                                       \\
    do {                                                                                           \\
        const cudaError_t polysched_back = polysched_status == cudaSuccess ? (call) : cudaSuccess; \\
        if (polysched_back != cudaSuccess) {                                                       \\
            fprintf(stderr, "%s:%d: %s: %s; too late to run it on the CPU\\n", __FILE__, __LINE__, \\
                    #call, cudaGetErrorString(polysched_back));                                    \\
            abort();                                                                               \\
        }                                                                                          \\
    } while (0)
"""
_READ = """
/* An element of an array on the device, once the launches before have written it. */
template <class T> static T read_element(const T *element)
{
    T value = T();
    POLYSCHED_TRY(cudaMemcpy(&value, element, sizeof(T), cudaMemcpyDeviceToHost));
    return value;
}
"""
_HALF = """\
#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif
"""
# NVRTC compiles without the system's headers.
_RTC = """\
#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INT32_MIN (-2147483647 - 1)
#define INT64_MIN (-9223372036854775807ll - 1)
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#else
{includes}
#endif
"""
_OF_DEVICE = "Takes device pointers, launches on the default stream, and returns the first cudaError_t without waiting."
_OF_HOST = "Takes the host's arrays; returns 0 if it has run, else a cudaError_t, and the arrays are as they were."
_HOW = f"generated by polysched {__version__}, to be compiled with nvcc"
_EXACT_HOW = f"{_HOW} -fmad=false"  # where products and sums must not be rounded at once


def emit_cuda(fn: Function, *, contract: bool = False) -> Source:
    """The CUDA text of `fn`; its entry takes device pointers and returns the first cudaError_t as an int.

    With `contract`, nvcc may round a * b + c once.

    `device` is what NVRTC compiles, `host` what runtime/gpu/cuda_host.h makes a launcher of.
    """
    return source_of(CudaHost(fn, contract=contract))


def source_of(host: CudaHost) -> Source:
    """The text that the host has printed."""
    fn = host.fn
    plain: dict[str, Expr] = {more(size): add(Var(size), 1) for size in fn.sizes}
    prelude, kernels = host.prelude(), tuple(host.kernels)
    lines = [*host.top(host.includes), *prelude, *host.functions(), *host.kernel_lines, *host.lines, ""]
    return Source(
        target="cuda",
        text="\n".join(lines),
        locs=tuple(map(loc_of, lines)),
        device=host.device_text(),
        host="\n".join([*host.top(host.includes - host.of_device), *prelude, *host.lines, ""]),
        entry=host.entry,
        parameters=parameters(fn),
        kernels=kernels,
        fits=tuple(substitute(bound.expression(), plain) for bound in host.fits),
    )


def emit_cuda_file(offloads: Sequence[Offload], *, contract: bool = False) -> str:
    """The CUDA text with a function for each of these, in the namespace polysched; "" if there are none.

    They take arrays in the host's memory, and return 0 if they have run; then else the arrays are as they were.
    """
    return file_of([CudaHost(offload.kernel, offload.entry, offload.elements, contract) for offload in offloads])


def file_of(hosts: Sequence[CudaHost]) -> str:
    """The text that the hosts have printed, with what they share once; "" of none."""
    if not hosts:
        return ""
    first = hosts[0]
    for host in hosts[1:]:
        first.includes |= host.includes
        first.helpers |= host.helpers
        first.parts |= host.parts
        first.fits += host.fits
        first.instructions |= host.instructions
    parts = [
        f"/* {', '.join(host.entry for host in hosts)}: {first.how} */",
        *first.include_lines(first.includes),
        *("", "namespace polysched {", ""),
        *first.prelude(),
        *first.functions(),
        *(line for host in hosts for line in (*host.kernel_lines, *host.lines, "")),
        "}",
        "",
    ]
    return "\n".join(parts)


class CudaHost(Host):
    """Prints the entry; with `elements`, of arrays in the host's memory, of which so many are copied."""

    dialect: KernelDialect = CUDA

    def __init__(
        self, fn: Function, entry: str = "", elements: Mapping[str, Expr] | None = None, contract: bool = False
    ):
        super().__init__(fn, self.dialect, self.dialect, entry)
        self.how = _HOW if contract else _EXACT_HOW
        self.parts |= {"half"} if uses(fn, f16) else set()
        names = parameters(fn)
        self.originals: dict[str, str] = {}  # the arrays as they are passed, where that is not on the device
        if elements is not None:
            self.includes.add("stdlib.h")
            self.originals = {array.name: self.names.fresh(f"host_{array.name}") for array in fn.arrays}
        self.line(f"/* {_OF_DEVICE if elements is None else _OF_HOST} */")
        self.signature(f'extern "C" int {self.entry}', names)
        self.mention(tuple(name for name in names if name not in self.originals))
        self.line(f"POLYSCHED_BEGIN({self.entry});")
        start = len(self.lines)
        if elements is None:
            self.block(fn.body)
        else:
            self.copy_around(fn, elements)
        self.line("return (int)polysched_status;")
        self.close()
        self.lines[start:start] = self.choice()

    def copy_around(self, fn: Function, elements: Mapping[str, Expr]) -> None:
        """The body, between copies of the arrays to the device and back."""
        sizes = {array.name: self.names.fresh(f"bytes_{array.name}") for array in fn.arrays}
        for array in fn.arrays:
            own, count = self.type(array.dtype), self.expr(elements[array.name], UNARY)
            self.line(f"const size_t {sizes[array.name]} = sizeof({own}) * {count};")
            self.line(f"{own} *{self.names(array.name)} = NULL;")
        for array in fn.arrays:
            there, size = self.names(array.name), sizes[array.name]
            self.attempt(f"cudaMalloc((void **)&{there}, {size})")
            self.attempt(f"cudaMemcpy({there}, {self.originals[array.name]}, {size}, cudaMemcpyHostToDevice)")
        self.block(fn.body)
        self.attempt("cudaDeviceSynchronize()")
        for array in fn.arrays:
            if array.name in self.written:
                here, there = self.originals[array.name], self.names(array.name)
                copy = f"cudaMemcpy({here}, {there}, {sizes[array.name]}, cudaMemcpyDeviceToHost)"
                self.line(f"POLYSCHED_BACK({copy});")
        for array in fn.arrays:
            self.line(f"POLYSCHED_CHECK(cudaFree({self.names(array.name)}));")

    def choice(self) -> list[str]:
        """The lines that find out whether kernels may count in 32 bits."""
        if not self.fits:
            return []
        spelled = {more(size): f"({self.names(size)} + 1.0)" for size in self.fn.sizes}
        spelled |= {size: self.names(size) for size in self.fn.sizes}
        sums = (
            " + ".join(" * ".join([f"{factor}.0", *(spelled[name] for name in monomial)]) for monomial, factor in bound)
            for bound in self.fits
        )
        known = self.census.positive
        positive = "".join(f"{self.names(size)} > 0 && " for size in self.fn.sizes if size in known)
        lines, self.lines, self.depth = self.lines, [], 1
        self.listing(f"const bool {self.narrow} = {positive}fit_32_bits", sums, ";")
        chosen, self.lines, self.depth = self.lines, lines, 0
        return chosen

    # --- texts

    def top(self, includes: Set[str]) -> list[str]:
        return [f"/* {self.fn.name}: {self.how} */", *self.include_lines(includes), ""]

    @property
    def of_device(self) -> set[str]:
        """The headers that only kernels need, which compilers of CUDA alone have."""
        return {name for name in self.includes if name.startswith("cuda")}

    def include_lines(self, includes: Set[str]) -> list[str]:
        lines = [f"#include <{name}>" for name in sorted({*includes, *self.dialect.includes, "stdio.h"})]
        return [*lines, *self.half()]

    def half(self) -> list[str]:
        return _HALF.splitlines() if "half" in self.parts else []

    def prelude(self) -> list[str]:
        """What stands before the functions."""
        of_host = bool(self.originals)
        parts = (
            self.checks("; running on the CPU" if of_host else ""),
            _BACK if of_host else "",
            _EITHER if self.fits else "",
            RECIPROCAL if "reciprocals" in self.parts else "",
            _TEMPORARIES if "temporaries" in self.parts else "",
            _READ if "reads" in self.parts else "",
        )
        return [*(line for part in parts for line in part.splitlines()), "", *self.definitions()]

    def checks(self, then: str) -> str:
        """How calls are checked, and kernels launched."""
        has_dynamic = "dynamic" in self.parts
        text = _CHECKS.replace("{then}", then).replace("{shared}", _SHARED if has_dynamic else "")
        if not has_dynamic:
            return text
        more = ", polysched_shared"
        return text.replace(f"block>>>(__VA_ARGS__);{' ' * len(more)}", f"block{more}>>>(__VA_ARGS__);")

    def definitions(self) -> list[str]:
        parts = (sorted(self.externals), helpers.definitions(self.helpers, self.dialect))
        return [line for part in parts if part for line in (*part, "")]

    def functions(self) -> list[str]:
        """Those that only kernels call."""
        return [*tensor.definitions(self.instructions), ""] if self.instructions else []

    def device_text(self) -> str:
        """The kernels alone, by names that no compiler changes."""
        ours = sorted(self.of_device)  # which NVRTC finds
        rtc = _RTC.format(includes="\n".join(f"#include <{name}>" for name in sorted(self.includes.difference(ours))))
        half = [*(f"#include <{name}>" for name in ours), *self.half()]
        lines = [f"/* {self.fn.name}: {self.how} */", *rtc.splitlines(), *half, "", *self.definitions()]
        return "\n".join([*lines, *self.functions(), *self.templates, 'extern "C" {', "", *self.entries, "}", ""])

    # --- what the language of the host says

    def attempt(self, call: str) -> None:
        self.line(f"POLYSCHED_TRY({call});")

    def parameter(self, name: str) -> str:
        if name not in self.originals:
            return super().parameter(name)
        const = "" if name in self.written else "const "
        return f"{const}{self.type(self.arrays[name].dtype)} *{self.originals[name]}"

    def allocate(self, array: Array) -> None:
        self.parts.add("temporaries")
        name, own = self.names(array.name), self.type(array.dtype)
        self.line(f"{own} *{name} = NULL;")
        self.attempt(f"polysched_malloc((void **)&{name}, sizeof({own}) * {self.expr(self.extent(array), UNARY)})")

    def free(self, array: Array) -> None:
        self.line(f"POLYSCHED_CHECK(polysched_free({self.names(array.name)}));")

    def element(self, array: str, index: tuple[Expr, ...]) -> str:
        self.parts.add("reads")
        return f"read_element(&{super().element(array, index)})"
