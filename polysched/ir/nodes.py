"""The loop IR: the nest that the user gives and the kernel that is printed are both a `Function`.

    Expr ::= Const(value, dtype) | Var(name, dtype) | Load(array, index, dtype) | Unary(op, arg)
           | Binary(op, left, right) | Select(cond, then, other) | Call(fn, args, dtype, pure) | Cast(arg, dtype)
    Stmt ::= Let(name, value) | Store(array, index, value) | For(var, lo, hi, step, body, kind)
           | If(cond, then, other) | Alloc(array) | Barrier() | Prefetch(array, index)

Meaning, stated once:
- Loop variables, sizes and subscripts are i64; sizes are from 0 to `LARGEST_SIZE`. The operands of a Binary have one
  dtype, and so has its result, but for comparisons, which give bool. Conversions are explicit Casts.
- Integers are two's complement of their width and wrap, signed ones too (we compile with -fwrapv).
  A float-to-integer Cast truncates towards zero. Floats follow IEEE 754, one rounding per operation.
- Division names its rounding: `floordiv`/`floormod` towards minus infinity (Python's // and %),
  `truncdiv`/`truncmod` towards zero (C's / and %). All four trap on zero. `/` is for floats alone.
- min(a, b) is `b if b < a else a`, max(a, b) is `b if b > a else a`.
- `&&`, `||` and Select evaluate only what they need, left to right; so a guard protects what it guards.
- For counts from lo while var < hi (step > 0) or var > hi (step < 0); lo and hi are evaluated once.
- Let binds a name for the rest of its block. Alloc makes an uninitialized local array for the rest of its block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import numpy as np

from polysched.errors import Loc
from polysched.ir.contents import Contents
from polysched.ir.dtypes import DType, boolean, i64

LARGEST_SIZE = 1 << 56  # no array of an address space of 57 bits has more elements
ENDLESS = 1 << 62  # iterations, of a loop that a flag ends
PARALLEL = frozenset({"parallel", "dynamic"})  # kinds of loops on threads of a CPU
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}  # a NaN has none but == and !=
MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}  # of operands that change places
LOGICAL = frozenset({"&&", "||"})
SHUFFLE = "shuffle.down"  # Call(SHUFFLE, (value, d)): the value of the lane of a GPU's warp that is d further
MMA = "mma."  # Store(c, i, Call("mma...", (a, b), impure)): fragments begin at these elements; c += a * b of a warp
LDMATRIX = "ldmatrix", "ldmatrix.trans"  # Store(a, i, Call(LDMATRIX, (row,), impure)): fragments of shared rows
TOUCHED = "touched"  # Store(a, i, Call(TOUCHED, ..., impure)): what the call before or after may have done to any of a
ALIGNED = "is_aligned"  # Call(ALIGNED, (element, bytes)): is its address a multiple of so many bytes?
DOT_HALVES = "dot.i16"  # Call(DOT_HALVES, (a, b)): of two i32, the products of both halves, signed, added
DOT_BYTES = "dot.u8.i8"  # Call(DOT_BYTES, (a, b)): the same of their four bytes, a's unsigned, b's signed
DIVISIONS = frozenset({"floordiv", "floormod", "truncdiv", "truncmod"})
ONE_INSTRUCTION = frozenset({"fabs", "floor", "ceil", "trunc", "rint", "copysign", "fma"})  # functions of processors
ARITHMETIC = frozenset({"+", "-", "*", "/", "min", "max", "&", "|", "^", "<<", ">>"}) | DIVISIONS


class Expr:
    """Base of expressions; every one has a `dtype`."""

    if TYPE_CHECKING:  # a property at run time would become the default of the dataclass fields below

        @property
        def dtype(self) -> DType: ...

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}  # which no other process has


E = TypeVar("E", bound=Expr)


@dataclass_transform(frozen_default=True)
def _expression(cls: type[E]) -> type[E]:
    """The class as a frozen dataclass whose instances keep their hash: trees of them are the keys of many tables."""
    cls = dataclass(frozen=True)(cls)
    of_fields = cls.__hash__

    def __hash__(self: E) -> int:
        state = self.__dict__
        found: int | None = state.get("_hash")
        if found is None:
            found = state["_hash"] = of_fields(self)
        return found

    cls.__hash__ = __hash__  # type: ignore[assignment]
    return cls


@_expression
class Const(Expr):
    """A value of its dtype: a float is rounded to it.

    Equal if they are the same bits: 0.0 and -0.0 differ, a NaN equals itself.
    """

    value: int | float | bool
    dtype: DType = i64

    def __post_init__(self) -> None:
        if self.dtype.is_float:
            with np.errstate(over="ignore"):
                object.__setattr__(self, "value", self.dtype.nearest(self.value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Const):
            return NotImplemented
        if type(self.value) is type(other.value) is int:  # most of them
            return self.value == other.value and self.dtype is other.dtype
        return self.dtype is other.dtype and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((self.value if type(self.value) is int else repr(self.value), self.dtype))


@_expression
class Var(Expr):
    """A loop variable, a size, a scalar parameter or a name bound by Let."""

    name: str
    dtype: DType = i64


@_expression
class Load(Expr):
    array: str
    index: tuple[Expr, ...]
    dtype: DType


@_expression
class Unary(Expr):
    """`op` is "-" (arithmetic), "~" (integers) or "!" (bool)."""

    op: str
    arg: Expr

    @property
    def dtype(self) -> DType:
        return self.arg.dtype


@_expression
class Binary(Expr):
    op: str
    left: Expr
    right: Expr

    @property
    def dtype(self) -> DType:
        return boolean if self.op in COMPARISONS else self.left.dtype


@_expression
class Select(Expr):
    """cond ? then : other."""

    cond: Expr
    then: Expr
    other: Expr

    @property
    def dtype(self) -> DType:
        return self.then.dtype


@_expression
class Call(Expr):
    """A function of scalars, by its C name for f64 ("sqrt", "exp", "fabs", "pow", ...)."""

    fn: str
    args: tuple[Expr, ...]
    dtype: DType
    pure: bool = True


@_expression
class Cast(Expr):
    arg: Expr
    dtype: DType


@dataclass(frozen=True)
class Array:
    """An array in C order. `space`: "global", "shared" (one block of a GPU) or "private" (one thread)."""

    name: str
    dtype: DType
    shape: tuple[Expr, ...]  # extents, expressions in the sizes; () is a scalar variable
    space: str = "global"


class Stmt:
    """Base of statements; each carries the place in the user's source that it stems from."""

    loc: Loc | None


@dataclass(frozen=True)
class Let(Stmt):
    name: str
    value: Expr
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Store(Stmt):
    array: str
    index: tuple[Expr, ...]
    value: Expr
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True)
class StoreLater(Store):
    """A store to a shared array that may happen at any time up to the thread's next barrier for arrivals; meanwhile, no
    thread uses the element, nor changes what it is computed from.

    It may be of `count` elements next to each other, loaded from as many, if the value is that of the first one.
    """

    count: int = 1


@dataclass(frozen=True)
class For(Stmt):
    """`kind`: "serial", "parallel", "dynamic" (parallel, of iterations that differ in length), "unrolled", "vector",
    "packed" or "dots" (until `pack_products`), "tensor" (until `tensor_products`), "foreign" (until `call_foreign`),
    "block.x/y/z/w" or "thread.x/y/z"; "block.w" shares an axis of the grid with "block.z".

    A parallel loop starts threads only where all of `when` hold. Iterations of a parallel loop, or of a SIMD one, do
    not depend on each other but for updates a[f] = a[f] op e of the arrays that it `reduces`: of a SIMD loop's scalar
    variables each lane has its own, `privatize` brings about the rest.

    A `full` loop keeps its bounds, even where guards inside say that fewer iterations would do.

    A SIMD loop may ask for vectors of `width` iterations; 0 leaves that to the compiler.

    A loop of the kind "tensor" has the `instruction` that runs it and the two loops inside, and so many `stages` of
    copies; one of the kind "foreign", that which runs it and those inside.

    It may `prefetch` arrays: what it loads of each so many iterations later.

    `origin` is the name of the loop of the schedule tree that it came from, or of the outermost of several, or of all
    that threads share; "" where it came from none, as one that copies, or one over the tiles of a product.
    """

    var: str
    lo: Expr
    hi: Expr
    step: int
    body: tuple[Stmt, ...]
    kind: str = "serial"
    loc: Loc | None = field(default=None, compare=False)
    when: tuple[Expr, ...] = ()
    reduces: tuple[str, ...] = ()
    full: bool = False
    origin: str = field(default="", compare=False)
    instruction: str = ""
    stages: int = 1
    width: int = 0
    prefetch: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class If(Stmt):
    cond: Expr
    then: tuple[Stmt, ...]
    other: tuple[Stmt, ...] = ()
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Alloc(Stmt):
    array: Array
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Barrier(Stmt):
    """All threads of a block wait for each other; with `arrivals`, for what they store later, too, but for what they
    have stored so since the `ahead` last such barriers."""

    arrivals: bool = False
    ahead: int = 0
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Prefetch(Stmt):
    """An element is on its way to the cache from here on; nothing else happens, even where there is no such element."""

    array: str
    index: tuple[Expr, ...]
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Foreign:
    """A function in C that the user gives, which changes elements of its first array.

    Store(y, i, Call(name, (y[i], A[j, k], alpha, 1, n, 1), impure)): where its arrays begin, its scalars, and then, for
    each dimension of each array, how many elements lie between neighbors.
    """

    name: str
    arrays: tuple[Array, ...]
    scalars: tuple[Var, ...]
    body: str  # in C: `A[i * A_0 + k * A_1]` is A[i, k]
    includes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()  # of the compiler


@dataclass(frozen=True)
class Function:
    """A loop nest with its parameters."""

    name: str
    sizes: tuple[str, ...]  # i64 parameters; each is zero or positive
    arrays: tuple[Array, ...]  # array parameters, in the user's order
    body: tuple[Stmt, ...]
    scalars: tuple[Var, ...] = ()  # read-only scalar parameters, passed by value
    params: tuple[str, ...] = ()  # names of sizes, scalars and arrays in the user's order
    loc: Loc | None = field(default=None, compare=False)
    defaults: tuple[tuple[str, int | float | bool | Contents], ...] = ()  # of parameters that calls may leave out
    foreign: tuple[Foreign, ...] = ()  # what it may call

    def array(self, name: str) -> Array:
        """The array parameter of that name; KeyError if there is none."""
        return {array.name: array for array in self.arrays}[name]
