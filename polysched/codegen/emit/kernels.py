"""Prints kernels, and the code on the host that launches them: what CUDA and OpenCL share.

    for t in 0..steps:
        for b in 0..n by 32 (block.x):                      for (int64_t t = 0; t < steps; t++) {
            for i in b..min(n, b + 32) (thread.x):    ->        a launch of f_k0 on (n + 31) / 32 blocks of 32 threads
                a[i] = a[i] * 2.0                           }

- Each outermost block or thread loop is a kernel; what is around it is host code.
- Host code that stores to arrays is a kernel of one thread; where it loads from them, it copies the element back.
- Block loops stride by the grid, which is as large as the host can tell that there are iterations. Where it can, and
  kernels without barriers count in 32 bits, there is a block for each, and the loops end after it.
- Thread loops stride by the block; where they have no more iterations than it has threads, an `if` is enough.
- In a kernel, a store outside of a loop over some axis of blocks or threads is done by the first one alone.
- Temporaries of the host are device buffers; those of a kernel must be small and of constant size.

Needs: arrays have at most one dimension (`linearize`); names are bound once.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Literal

from polysched.codegen.emit.dialect import Dialect, KernelDialect
from polysched.codegen.emit.launch.census import is_data
from polysched.codegen.emit.launch.notes import note
from polysched.codegen.emit.launch.shares import Around, Share, first_iteration, thread_share
from polysched.codegen.emit.launch.sufficient import sufficient
from polysched.codegen.emit.launch.widths import Range, wide_names
from polysched.codegen.emit.narrowing import IndexPrinter
from polysched.codegen.emit.printer import Printer, is_small
from polysched.codegen.emit.source import Kernel, Line, loc_of, parameters
from polysched.codegen.emit.tensor import function_of
from polysched.codegen.lowered import bytes_of, is_mapped
from polysched.codegen.parallel.survey import AXES, Survey
from polysched.config.target import LIMITS
from polysched.errors import InputError, PolyschedError
from polysched.ir.build import conjunction, mul
from polysched.ir.dtypes import DType, boolean, f16, i64
from polysched.ir.integers.polynomial import Polynomial
from polysched.ir.node import statements, walk
from polysched.ir.nodes import (
    LDMATRIX,
    MMA,
    Alloc,
    Array,
    Barrier,
    Binary,
    Call,
    Const,
    Expr,
    For,
    Function,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    StoreLater,
    Var,
)
from polysched.ir.rename import bound_names

# What a text needs before its functions: shared memory that launches give kernels, reciprocals that the host computes
# for kernels to divide by, elements that it reads back, memory of its own, and f16.
Part = Literal["dynamic", "reciprocals", "reads", "temporaries", "half"]


def uses(fn: Function, dtype: DType) -> bool:
    """Has any array or value of `fn` this type?"""
    return any(getattr(node, "dtype", None) == dtype for node in (*walk(fn.body), *fn.arrays, *fn.scalars))


class Host(Printer):
    """Prints the code around the kernels, and has the kernels printed.

    What depends on the language of the host stands in subclasses: what raises here, `block_of`, and `element`, which
    copies an element back.
    """

    block_of = "dim3"  # what makes an argument of a launch of a block's extents

    def __init__(self, fn: Function, host: Dialect, kernels: KernelDialect, entry: str = ""):
        super().__init__(fn, host)
        # Collects what the text of the kernels needs.
        self.device = self if kernels is host else Printer(fn, kernels, self.census)
        self.names.keep(kernels.ids)
        self.entry = entry or self.names.fresh(fn.name)
        self.kernels: list[Kernel] = []
        self.kernel_lines: list[str] = []
        self.templates: list[str] = []  # those of these lines that define what kernels are made of
        self.entries: list[str] = []  # the others
        self.wide = wide_names(fn.body, self.data)
        self.fits: tuple[Polynomial, ...] = ()  # where kernels may count in 32 bits
        self.parts: set[Part] = set()  # of the text before the functions
        self.narrow = self.names.fresh("narrow")  # whether they may
        self.nest: list[For] = []  # the loops around, outermost first

    def allocate(self, array: Array) -> None:
        """Declares a buffer on the device."""
        raise NotImplementedError

    def free(self, array: Array) -> None:
        raise NotImplementedError

    def extents(self, grid: Sequence[str], block: Sequence[str]) -> tuple[str, str]:
        """The numbers of blocks and of threads in each, as arguments of a launch."""
        return f"grid_of({', '.join(grid)})", f"{self.block_of}({', '.join(block)})"

    def argument(self, name: str) -> str:
        """What a launch passes to a kernel for the parameter."""
        return self.names(name)

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
                self.free(stmt.array)

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
        self.allocate(array)

    def launch(self, statements: tuple[Stmt, ...]) -> None:
        """A kernel of these statements, and its launch."""
        if not any(isinstance(node, Store) for node in walk(statements)):
            return
        kernel = _Kernel(self, statements)
        candidates = dict.fromkeys((*parameters(self.fn), *self.arrays, *self.scalars))
        names = tuple(name for name in candidates if name in kernel.outer)
        name = self.names.fresh(f"{self.entry}_k{len(self.kernels)}")
        template, wide = kernel.print(name, names)
        names = (*names, *kernel.reciprocals)
        self.templates += template
        self.entries += kernel.lines
        about = note(statements, kernel.threads)
        self.kernel_lines += [f"/* {name}: {about} */", *template, *kernel.lines]
        alone = tuple(axis for axis in AXES if axis in kernel.alone)
        grid, threads = kernel.grid, kernel.threads
        self.kernels.append(
            Kernel(name=name, parameters=names, grid=grid, block=threads, wide=wide, note=about, alone=alone)
        )
        extents = self.extents([self.expr(extent) for extent in grid], [str(size) for size in threads])
        of = kernel.reciprocals
        given = (f"reciprocal({self.names(of[each])})" if each in of else self.argument(each) for each in names)
        self.parts |= {"reciprocals"} if of else set()
        arguments = (*extents, *given)
        if kernel.dynamic:
            self.parts.add("dynamic")
            for each in filter(None, (name, wide)):
                self.line(f"POLYSCHED_SHARED({each}, {kernel.dynamic});")
        if kernel.fits:
            self.fits = sufficient((*self.fits, *kernel.fits)) or ()
            self.listing("POLYSCHED_LAUNCH_EITHER", [self.narrow, name, wide, *arguments], ";")
        else:
            self.listing("POLYSCHED_LAUNCH", [name, *arguments], ";")
        if kernel.dynamic:
            self.line("polysched_shared = 0;")


def shared_bytes(array: Array) -> int:
    """Of an array of at most one dimension, up to where a next one may begin."""
    return -(-bytes_of(array) // LIMITS.banks) * LIMITS.banks


class _Kernel(IndexPrinter):
    """Prints one kernel; spells names as the host does, and adds to what the text needs before its functions."""

    def __init__(self, host: Host, statements: tuple[Stmt, ...]):
        assert isinstance(host.device.dialect, KernelDialect)
        self.language = host.device.dialect
        super().__init__(host.fn, self.language, host.wide, host.census)
        self.names, self.arrays, self.scalars = host.names, host.arrays, host.scalars
        needs = host.device
        self.includes, self.helpers, self.externals = needs.includes, needs.helpers, needs.externals
        self.instructions = needs.instructions
        self.statements = statements
        nodes = list(walk(statements))
        self.written = {node.array for node in nodes if isinstance(node, Store)}
        self.dynamic = 0  # bytes of shared memory that launches give it
        self.allocated = {node.array.name: node.array for node in nodes if isinstance(node, Alloc)}
        self.waits = any(isinstance(node, Barrier) for node in nodes)
        self.axes = sorted({node.kind for node in nodes if is_mapped(node)})
        self.host_loops = tuple(host.nest)
        self.is_narrow = f"sizeof({self.index}) == 4"  # tests whether this is the kernel that counts in 32 bits
        self.alone: set[str] = set()  # axes of loops that end after the first iteration, if it is that one
        self.is_last = f"if ({self.is_narrow}) break; /* there is a block for each */"
        self.nest: list[For] = []  # the loops around in the kernel, outermost first
        self.survey = survey = Survey(statements)
        self.grid, self.threads = survey.grid(), survey.block()
        used = {node.name for node in nodes if isinstance(node, Var)}
        used |= {node.array for node in nodes if isinstance(node, Load | Store)}
        self.outer = used - set(bound_names(statements))  # scalars and arrays of the host
        self.launched_with = {name for name in self.outer if self.scalars.get(name) == i64}

    def parameter(self, name: str) -> str:
        """Of the type that the host has it in: a launch passes bytes."""
        if self.scalars.get(name) == f16 and name not in parameters(self.fn):
            return f"{self.type(f16)} {self.names(name)}"
        return super().parameter(name)

    def print(self, name: str, names: tuple[str, ...]) -> tuple[list[str], str]:
        """Adds the kernels to the lines; what they are made of, and the name of the one in 64 bits if there are two."""
        self.depth = 1
        self.declare_shared([array for array in self.allocated.values() if array.space == "shared"])
        self.block(self.statements)
        for axis, blocks in zip(AXES, self.grid, strict=True):
            if self.starts_all(f"block.{axis}"):
                self.use(Binary("*", blocks, Const((1 << 31) // (LIMITS.blocks[axis] + 1))))
        self.fits = self.conditions(self.ids())
        if self.fits is None:
            self.alone.clear()
            kept = (line for line in self.lines if self.is_last not in line)
            self.lines = [Line(line.replace(f"{self.is_narrow} || ", ""), loc_of(line)) for line in kept]
        x, y, z = self.threads
        head = self.language.kernel.format(x=x, y=y, z=z, threads=x * y * z)
        return self.instances(head, name, (*names, *self.reciprocals), self.fits)

    def declare_shared(self, arrays: Sequence[Array]) -> None:
        """Declares what a block shares, where OpenCL wants it: one after the other in what its launch gives it, if that
        is more than a kernel may declare."""
        sizes = [shared_bytes(array) for array in arrays]
        if sum(sizes) <= LIMITS.shared:
            for array in arrays:
                own, extent = self.type(array.dtype), self.expr(self.extent(array))
                self.line(f"{self.language.shared} {own} {self.names(array.name)}[{extent}];")
            return
        if not self.language.dynamic:
            raise PolyschedError(f"{self.fn.name}: a block shares {sum(sizes)} bytes, and {LIMITS.shared} are allowed")
        self.dynamic = sum(sizes)
        memory = self.names.fresh("shared_memory")
        self.line(self.language.dynamic.format(name=memory))
        for k, array in enumerate(arrays):
            own, first = self.type(array.dtype), f"{memory} + {sum(sizes[:k])}" if k else memory
            self.line(f"{own} *const {self.names(array.name)} = ({own} *)({first});")

    def starts_all(self, kind: str) -> bool:
        """Does the kernel that counts in 32 bits have a block for each iteration of the loops of this kind? Not where
        threads wait for each other: such blocks take long, and without a loop around nvcc computes addresses in the
        loops inside again and again."""
        blocks = self.grid[AXES.index(kind[-1])]
        if isinstance(blocks, Const) and blocks.value > LIMITS.blocks[kind[-1]]:
            return False
        return not self.waits and self.survey.is_known(kind) and not is_data(blocks, self.wide)

    def ids(self) -> dict[str, Range]:
        """What the numbers of blocks and threads may be."""
        ranges: dict[str, Range] = {}
        for axis, extent, threads in zip(AXES, self.grid, self.threads, strict=True):
            blocks = Const(LIMITS.blocks[axis]) if is_data(extent, self.wide) else extent
            for kind, count in ((f"block.{axis}", blocks), (f"thread.{axis}", Const(threads))):
                ranges[f"{kind}.index"] = Const(0), Binary("-", count, Const(1))
                ranges[f"{kind}.count"] = Const(1), count
        return ranges

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Barrier(arrivals, ahead):
                for line in self.language.arrivals if arrivals else ():
                    self.line(line.format(ahead=ahead))
                self.line(self.language.barrier)
            case _:
                super().stmt(stmt)

    def store(self, stmt: Store) -> None:
        if isinstance(stmt, StoreLater) and self.language.copy and self.copy(stmt):
            return
        if isinstance(stmt.value, Call) and stmt.value.fn.startswith((MMA, *LDMATRIX)):
            self.instruction(stmt, stmt.value)
            return
        space = self.allocated[stmt.array].space if stmt.array in self.allocated else "global"
        shared_by = {"global": ("block", "thread"), "shared": ("thread",), "private": ()}[space]
        missing = [axis for axis in self.axes if axis not in self.around and axis.startswith(shared_by)]
        if not missing:
            super().store(stmt)
            return
        first = conjunction(Binary("==", _index(kind), Const(0)) for kind in missing)
        self.open(f"if ({self.expr(first)})")
        super().store(stmt)
        self.close()

    def copy(self, stmt: StoreLater) -> bool:
        """The store without registers in between, if it is of an element as it is, or of zero where there is none."""
        match stmt.value:
            case Load() as load:
                missing: Expr = Const(0)
            case Select(cond, Load() as load, Const(value)) if not value:
                missing = Select(cond, Const(0), Const(stmt.count * load.dtype.bits // 8))
            case _:
                return False
        to, element = self.element(stmt.array, stmt.index), self.element(load.array, load.index)
        size = stmt.count * load.dtype.bits // 8
        self.includes.add("cuda_pipeline.h")
        self.line(self.language.copy.format(to=to, element=element, size=size, missing=self.expr(missing)))
        return True

    def instruction(self, stmt: Store, call: Call) -> None:
        """One that a warp runs together, on the fragments that begin at these elements."""
        self.instructions.add(call.fn)
        operands = [(stmt.array, stmt.index), *((o.array, o.index) for o in call.args if isinstance(o, Load))]
        elements = ", ".join(f"&{self.element(*operand)}" for operand in operands)
        self.line(f"{function_of(call.fn)}({elements});")

    def element(self, array: str, index: tuple[Expr, ...]) -> str:
        """Where a loop steps through an array by a product, what it begins with is added to the pointer: nvcc does so
        once, before the loop, if the sum is one of 64 bits."""
        text = super().element(array, index)
        if self.index and array not in self.allocated and index and self.nest and self.nest[-1].kind == "serial":
            inside = {self.nest[-1].var, *bound_names(self.nest[-1].body)}
            if _steps_by_product(index[0], inside):
                return text.replace("[", f"[({self.type(i64)})", 1)
        return text

    def loop(self, loop: For) -> None:
        if not is_mapped(loop):
            self.nest.append(loop)
            super().loop(loop)
            self.nest.pop()
            return
        if loop.kind in self.around:
            raise PolyschedError(f"{self.fn.name}: loop {loop.var} is on {loop.kind}, as a loop around it is")
        share, after = self.share(loop), ""
        var, first = self.names(loop.var), self.expr(share.first)
        if share.guard is None:
            distance = mul(_count(loop.kind), loop.step) if loop.step != 1 else _count(loop.kind)
            compare, stride = "<" if loop.step > 0 else ">", self.expr(distance)
            self.use(Binary("+", Var(loop.var), distance))
            own, hi = self.integer(loop.var), self.bound(loop)
            are_alone = bool(self.index) and loop.kind.startswith("block") and self.starts_all(loop.kind)
            after = self.is_last if are_alone else ""
            self.alone |= {loop.kind[-1]} if are_alone else set()
            always = f"{self.is_narrow} || " if are_alone and self.survey.is_exact(loop.kind) else ""
            self.open(f"for ({own} {var} = {first}; {always}{var} {compare} {hi}; {var} += {stride})")
        else:
            self.line(f"const {self.integer(loop.var)} {var} = {first};")
            if share.guard != Const(True, boolean):
                self.open(f"if ({self.expr(share.guard)})")
        self.nest.append(loop)
        self.body(loop)
        self.nest.pop()
        if after:
            self.line(after)
        if share.guard != Const(True, boolean):
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
            return Share(first_iteration(loop, _index(loop.kind), _count(loop.kind), around), None)
        return thread_share(loop, _index(loop.kind), self.threads[AXES.index(loop.kind[-1])], around)

    def alloc(self, array: Array) -> None:
        if not is_small(array):
            shape = ", ".join(str(extent) for extent in array.shape)
            raise InputError(
                f"{self.fn.name}: each iteration of a loop on a GPU would have the array {array.name}[{shape}], and "
                "a kernel has room for small arrays of constant size",
                hint="tile the loop that goes along it, and copy what a tile uses, in the loop over tiles",
            )
        if array.space != "shared":
            super().alloc(array)


def _steps_by_product(subscript: Expr, inside: Set[str]) -> bool:
    """Is it a name from outside of a loop, and a product of a name in it with another one?"""
    start = subscript
    while isinstance(start, Binary) and start.op in ("+", "-"):
        start = start.left
    if not isinstance(start, Var) or start is subscript or start.name in inside:
        return False
    products = [(node.left, node.right) for node in walk(subscript) if isinstance(node, Binary) and node.op == "*"]
    symbolic = [factor for pair in products if not any(isinstance(each, Const) for each in pair) for factor in pair]
    return any(isinstance(factor, Var) and factor.name in inside for factor in symbolic)


def _needs_host(stmt: Stmt) -> bool:
    """Does it hold a kernel, or a temporary that a single thread cannot have?"""
    return any(is_mapped(node) or (isinstance(node, Alloc) and not is_small(node.array)) for node in statements(stmt))


def _index(kind: str) -> Expr:
    """The number of the block or thread along an axis."""
    return Var(f"{kind}.index")


def _count(kind: str) -> Expr:
    """How many there are."""
    return Var(f"{kind}.count")
