"""Prints kernels whose index arithmetic is in 32 bits where the sizes, as they are at the launch, allow it.

    template <typename index_t>
    __device__ __forceinline__ void f_k0_body(index_t n, double *__restrict__ a)
    {
        const index_t i = (index_t)blockIdx.x * 32 + (index_t)threadIdx.x; ...
    }

    __global__ void __launch_bounds__(32) f_k0(int64_t n, double *__restrict__ a)
    {
        f_k0_body<int32_t>(n, a);
    }

    __global__ void __launch_bounds__(32) f_k0_wide(int64_t n, double *__restrict__ a)
    {
        f_k0_body<int64_t>(n, a);
    }

Index arithmetic is what is of type i64 and made of loop variables, sizes and constants alone. What is loaded, converted
or passed as a scalar is data and keeps its 64 bits; where they meet, C++ converts to the wider one.
"""

from __future__ import annotations

from collections.abc import Set

from polysched.codegen.emit.dialect import KernelDialect
from polysched.codegen.emit.helpers import INDEX
from polysched.codegen.emit.launch.census import Census, is_data
from polysched.codegen.emit.launch.widths import conditions, shape_of
from polysched.codegen.emit.printer import Printer
from polysched.codegen.emit.spelling import PRIMARY
from polysched.codegen.lowered import names_in
from polysched.ir.build import sub
from polysched.ir.dtypes import DType, i32, i64, u64
from polysched.ir.integers.bounds import Range
from polysched.ir.integers.polynomial import Polynomial
from polysched.ir.nodes import Binary, Const, Expr, For, Function, Unary, Var


def more(size: str) -> str:
    """Stands for one more than a size that may be zero, as conditions are on positive numbers."""
    return f"{size} + 1"


class IndexPrinter(Printer):
    """Prints the bodies of kernels, and notes the values of their index arithmetic."""

    def __init__(self, fn: Function, dialect: KernelDialect, wide: Set[str], census: Census):
        super().__init__(fn, dialect, census)
        self.wide = wide  # names that are no index arithmetic
        self.index = dialect.index
        self.declared = self.index or self.type(i64)  # what names of index arithmetic are declared as
        self.indices: dict[Expr, None] = {}
        self.launched_with: Set[str] = frozenset()  # sizes and the like, the same for all threads
        self.reciprocals: dict[str, str] = {}  # what the host computes of divisors -> the divisor
        self.is_inside = False  # of index arithmetic, which holds no data

    def conditions(self, ids: dict[str, Range]) -> tuple[Polynomial, ...] | None:
        """Where the values noted so far fit 32 bits, if the numbers of blocks and threads have the ranges `ids`; None:
        nowhere, as far as is known."""
        if not self.index:
            return None
        positive = self.census.positive
        sizes = {size if size in positive else more(size) for size in self.fn.sizes}
        rest = {size: sub(Var(more(size)), 1) for size in self.fn.sizes if size not in positive}
        lets, ranges = {**self.census.lets, **rest}, {**self.census.ranges, **ids}
        known, shape = self.census.conditions, shape_of(self.indices, ranges, lets)
        if shape not in known:
            known[shape] = conditions(self.indices, ranges, lets, sizes)
        return known[shape]

    def instances(
        self, head: str, name: str, names: tuple[str, ...], fits: tuple[Polynomial, ...] | None
    ) -> tuple[list[str], str]:
        """Makes kernels of the lines, which are a body: what they are instances of if they are, and the name of the one
        that counts in 64 bits, if there are two."""
        body, self.lines, self.depth = self.lines, [], 0
        has_indices = any(self.scalars.get(name) == i64 and name not in self.wide for name in names)
        if fits is None or (not fits and not has_indices):
            self.declared = self.type(i64)
            self.signature(f"{head} {name}", names)
            if self.index and any(self.index in line for line in body):
                self.line(f"using {self.index} = {self.type(i64 if fits is None else i32)};")
            self.lines += [*body, "}", ""]
            return [], ""
        inner, wide = self.names.fresh(f"{name}_body"), self.names.fresh(f"{name}_wide") if fits else ""
        self.line(f"template <typename {self.index}>")
        self.signature(f"{self.dialect.inlined} void {inner}", names)
        template, self.lines, self.depth = [*self.lines, *body, "}", ""], [], 0
        self.declared = self.type(i64)
        for instance, dtype in ((name, i32), *([(wide, i64)] if wide else [])):
            self.signature(f"{head} {instance}", names)
            self.listing(f"{inner}<{self.type(dtype)}>", map(self.names, names), ";")
            self.close()
            self.line("")
        return template, wide

    # --- what the body is made of

    def use(self, expr: Expr) -> None:
        """Notes that the kernel computes this value."""
        if self.is_index(expr):
            self.indices[expr] = None

    def is_index(self, expr: Expr) -> bool:
        """Is it computed in the type of index arithmetic?"""
        if not self.index or expr.dtype != i64 or (not self.is_inside and is_data(expr, self.wide)):
            return False
        return bool(names_in(expr))

    def spell(self, expr: Expr) -> tuple[str, int]:
        if self.is_inside or not self.is_index(expr):
            return super().spell(expr)
        self.indices[expr] = None
        self.is_inside = True
        spelled = super().spell(expr)
        self.is_inside = False
        return spelled

    def binary(self, expr: Binary) -> tuple[str, int]:
        """A division by what is the same for all threads is a product with what the host has computed of it."""
        match expr:
            case Binary("truncdiv" | "truncmod" as op, left, Var(name) as right) if (
                name in self.launched_with and self.is_index(expr) and not self.may_be_minus_one(right)
            ):
                reciprocal = f"{name}.reciprocal"
                self.reciprocals[reciprocal], self.scalars[reciprocal] = name, u64
                operands = f"{self.expr(left)}, {self.names(name)}, {self.names(reciprocal)}"
                helper = f"{op}_by".replace("trunc", "count" if self.is_count(left) else "trunc")
                return f"{self.helper(helper, INDEX)}({operands})", PRIMARY
            case Binary("min" | "max" as op, left, right) if self.dialect.hides and self.is_index(expr):
                return f"{self.helper(op, INDEX)}({self.value(left)}, {self.value(right)})", PRIMARY
        return super().binary(expr)

    def value(self, expr: Expr) -> str:
        """The text of an operand of a maximum, or of what may become one, which `Dialect.hides` if it is negated, or
        nvcc may make it so: it takes -(a & 1) for (a + 1 & 1) - 1."""
        match expr:
            case Unary("-", arg) | Binary("*", arg, Const(-1)) if self.dialect.hides and self.is_index(arg):
                self.use(expr)
                return f"{self.helper('negated', INDEX)}({self.expr(arg)})"
            case Binary("-", Binary("floormod" | "truncmod"), Const()) if self.dialect.hides and self.is_index(expr):
                return f"{self.helper('hidden', INDEX)}({self.expr(expr)})"
        return self.expr(expr)

    def loop(self, loop: For) -> None:
        self.use(Binary("+", Var(loop.var), Const(loop.step)))  # as it ends
        super().loop(loop)

    def integer(self, name: str) -> str:
        return self.declared if name not in self.wide else self.type(i64)

    def computed_in(self, expr: Expr) -> DType:
        return INDEX if self.is_index(expr) else super().computed_in(expr)

    def is_wide(self, expr: Expr) -> bool:
        return not self.is_index(expr) and super().is_wide(expr)

    def helper(self, op: str, dtype: DType) -> str:
        name = super().helper(op, dtype)
        return f"{name}<{self.index}>" if dtype == INDEX else name
