"""Prints a function as CUDA: kernels, and a host function that launches them on device pointers.

    for t in 0..steps:
        for b in 0..n by 32 (block.x):                      for (int64_t t = 0; t < steps; t++) {
            for i in b..min(n, b + 32) (thread.x):    ->        POLYSCHED_LAUNCH(f_k0, grid_of((n + 31) >> 5, 1, 1),
                a[i] = a[i] * 2.0                                                dim3(32, 1, 1), n, a);
                                                            }

- Each outermost block or thread loop is a kernel; what is around it is host code.
- Host code that stores to arrays is a kernel of one thread; where it loads from them, it copies the element back.
- Block loops stride by the grid, so any grid is right; it is as large as the host can tell that there are iterations.
- Thread loops stride by the block; where they have no more iterations than it has threads, an `if` is enough.
- In a kernel, a store outside of a loop over some axis of blocks or threads is done by the first one alone.
- Temporaries of the host are device buffers; those of a kernel must be small and of constant size.

Needs: arrays have at most one dimension (`linearize`); names are bound once; to be compiled with -fmad=false.
"""

from __future__ import annotations

from polysched.codegen.emit.dialect import CUDA
from polysched.codegen.emit.printer import Printer, is_small
from polysched.codegen.emit.shares import Around, Share, block_share, thread_share
from polysched.codegen.emit.spelling import UNARY
from polysched.codegen.emit.survey import AXES, Survey, is_mapped
from polysched.codegen.source import Kernel, Source, parameters
from polysched.errors import PolyschedError
from polysched.ir.build import conjunction
from polysched.ir.dtypes import boolean, f16, i64
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, Barrier, Binary, Const, Expr, For, Function, Let, Load, Stmt, Store, Var

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
    nodes = list(walk(fn.body))
    uses_half = any(getattr(node, "dtype", None) == f16 for node in (*nodes, *fn.arrays))
    parts = [
        *host.header(_HALF + "\n" + _LAUNCH if uses_half else _LAUNCH),
        *(_READ.split("\n")[1:] if host.reads_back else []),
        *host.kernel_lines,
        *host.lines,
        "",
    ]
    kernels = tuple(host.kernels)
    return Source(language="cuda", text="\n".join(parts), entry=host.entry, parameters=names, kernels=kernels)


class _Host(Printer):
    """Prints the code around the kernels, and has the kernels printed."""

    def __init__(self, fn: Function):
        super().__init__(fn, CUDA)
        builtins = [f"{name}.{axis}" for name in ("blockIdx", "threadIdx", "gridDim", "blockDim") for axis in AXES]
        self.names.keep({name: f"(int64_t){name}" for name in builtins})
        self.entry = self.names.fresh(fn.name)
        self.kernels: list[Kernel] = []
        self.kernel_lines: list[str] = []
        self.nest: list[For] = []  # the loops around, outermost first
        self.reads_back = False

    def block(self, statements: tuple[Stmt, ...]) -> None:
        if not any(_needs_host(stmt) for stmt in statements):
            self.launch(statements)
            return
        run: list[Stmt] = []  # statements for one kernel of one thread
        for stmt in statements:
            if _needs_host(stmt) or isinstance(stmt, Let | Alloc):
                self.launch(tuple(run))
                run.clear()
                self.stmt(stmt)
            else:
                run.append(stmt)
        self.launch(tuple(run))
        for stmt in reversed(statements):
            if isinstance(stmt, Alloc):
                self.line(f"cudaFree({self.names(stmt.array.name)});")

    def let(self, stmt: Let) -> None:
        self.scalars[stmt.name] = stmt.value.dtype
        super().let(stmt)

    def loop(self, loop: For) -> None:
        if is_mapped(loop):
            self.launch((loop,))
        else:
            self.scalars[loop.var] = i64
            self.nest.append(loop)
            super().loop(loop)
            self.nest.pop()

    def pragma(self, loop: For) -> str:
        return ""

    def alloc(self, array: Array) -> None:
        self.arrays[array.name] = array
        name, own = self.names(array.name), self.type(array.dtype)
        self.line(f"{own} *{name} = NULL;")
        self.line(f"cudaMalloc((void **)&{name}, sizeof({own}) * {self.expr(self.extent(array), UNARY)});")

    def spell(self, expr: Expr) -> tuple[str, int]:
        text, binding = super().spell(expr)
        if not isinstance(expr, Load):
            return text, binding
        self.reads_back = True
        return f"read_element(&{text})", binding

    def launch(self, statements: tuple[Stmt, ...]) -> None:
        """A kernel of these statements, and its launch."""
        if not any(isinstance(node, Store) for node in walk(statements)):
            return
        kernel = _Kernel(self, statements)
        used = kernel.free_names()
        candidates = dict.fromkeys((*parameters(self.fn), *self.arrays, *self.scalars))
        names = tuple(name for name in candidates if name in used)
        name = self.names.fresh(f"{self.entry}_k{len(self.kernels)}")
        self.kernel_lines += [*kernel.text(name, names), ""]
        self.kernels.append(Kernel(name=name, parameters=names, grid=kernel.grid, block=kernel.threads))
        grid = ", ".join(self.expr(extent) for extent in kernel.grid)
        block = ", ".join(map(str, kernel.threads))
        arguments = [self.names(parameter) for parameter in names]
        self.listing("POLYSCHED_LAUNCH", [name, f"grid_of({grid})", f"dim3({block})", *arguments], ";")


class _Kernel(Printer):
    """Prints one kernel; spells names as the host does, and adds to what the text needs before its functions."""

    def __init__(self, host: _Host, statements: tuple[Stmt, ...]):
        super().__init__(host.fn, CUDA)
        self.names, self.arrays, self.scalars, self.data = host.names, host.arrays, host.scalars, host.data
        self.includes, self.helpers, self.externals = host.includes, host.helpers, host.externals
        self.statements = statements
        nodes = list(walk(statements))
        self.written = {node.array for node in nodes if isinstance(node, Store)}
        self.spaces = {node.array.name: node.array.space for node in nodes if isinstance(node, Alloc)}
        self.axes = sorted({node.kind for node in nodes if isinstance(node, For) and is_mapped(node)})
        self.host_loops = tuple(host.nest)
        self.nest: list[For] = []  # the loops around in the kernel, outermost first
        self.survey = survey = Survey(statements)
        self.grid, self.threads = survey.grid(), survey.block()

    def text(self, name: str, names: tuple[str, ...]) -> list[str]:
        x, y, z = self.threads
        self.signature(f"__global__ void __launch_bounds__({x * y * z}) {name}", names)
        self.block(self.statements)
        self.close()
        return self.lines

    def free_names(self) -> set[str]:
        """Names of scalars and arrays that are bound outside of the kernel."""
        nodes = list(walk(self.statements))
        used = {node.name for node in nodes if isinstance(node, Var)}
        used |= {node.array for node in nodes if isinstance(node, Load | Store)}
        bound = {node.var for node in nodes if isinstance(node, For)}
        bound |= {node.name for node in nodes if isinstance(node, Let)}
        return used - bound - set(self.spaces)

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Barrier():
                self.line("__syncthreads();")
            case _:
                super().stmt(stmt)

    def store(self, stmt: Store) -> None:
        space = self.spaces.get(stmt.array, "global")
        shared_by = {"global": ("block", "thread"), "shared": ("thread",), "private": ()}[space]
        missing = [axis for axis in self.axes if axis not in self.around and axis.startswith(shared_by)]
        if not missing:
            super().store(stmt)
            return
        first = conjunction(Binary("==", _index(kind), Const(0)) for kind in missing)
        self.open(f"if ({self.expr(first)})")
        super().store(stmt)
        self.close()

    def loop(self, loop: For) -> None:
        if not is_mapped(loop):
            self.nest.append(loop)
            super().loop(loop)
            self.nest.pop()
            return
        if loop.kind in self.around:
            raise PolyschedError(f"{self.fn.name}: loop {loop.var} is on {loop.kind}, as a loop around it is")
        share = self.share(loop)
        var, first = self.names(loop.var), self.expr(share.first)
        if share.guard is None:
            compare, stride = "<" if loop.step > 0 else ">", self.expr(_times(_count(loop.kind), loop.step))
            self.open(f"for (int64_t {var} = {first}; {var} {compare} {self.bound(loop)}; {var} += {stride})")
        else:
            self.line(f"const int64_t {var} = {first};")
            self.open("" if share.guard == Const(True, boolean) else f"if ({self.expr(share.guard)})")
        self.nest.append(loop)
        self.body(loop)
        self.nest.pop()
        self.close()

    def share(self, loop: For) -> Share:
        """The part of the loop that this block or thread runs."""
        around = Around(
            lets=self.survey.lets,
            loops={loop.var: loop for loop in (*self.host_loops, *self.nest)},
            serial=frozenset(loop.var for loop in self.nest if not is_mapped(loop)),
            alone=self.survey.loops_on(loop.kind) == 1,
        )
        if loop.kind.startswith("block"):
            return block_share(loop, _index(loop.kind), _count(loop.kind), around)
        return thread_share(loop, _index(loop.kind), self.threads[AXES.index(loop.kind[-1])], around)

    def alloc(self, array: Array) -> None:
        if not is_small(array):
            shape = ", ".join(str(extent) for extent in array.shape)
            raise PolyschedError(
                f"{self.fn.name}: the temporary {array.name}[{shape}] is allocated inside of a kernel, where only "
                "small ones of constant size can be; allocate it outside of the block loops"
            )
        if array.space == "shared":
            self.line(f"__shared__ {self.type(array.dtype)} {self.names(array.name)}[{self.expr(self.extent(array))}];")
        else:
            super().alloc(array)


def _needs_host(stmt: Stmt) -> bool:
    """Does it hold a kernel, or a temporary that a single thread cannot have?"""
    return any(
        (isinstance(node, For) and is_mapped(node)) or (isinstance(node, Alloc) and not is_small(node.array))
        for node in walk(stmt)
    )


def _index(kind: str) -> Expr:
    """block.x -> blockIdx.x"""
    return Var(kind.replace(".", "Idx."))


def _count(kind: str) -> Expr:
    """block.x -> gridDim.x"""
    return Var(f"{'gridDim' if kind.startswith('block') else 'blockDim'}{kind[-2:]}")


def _times(expr: Expr, factor: int) -> Expr:
    return expr if factor == 1 else Binary("*", expr, Const(factor))
