"""What must hold of a function, per stage; whoever makes or changes one is held to it.

"source", as front ends give it:
- sizes, scalars and arrays have different names, and `params` lists each once or is empty; extents are over the sizes
- a name is bound before it is used, with the dtype it is used at, and is not bound again while it is in scope
- subscripts, loop bounds and extents are i64, and there are as many subscripts as the array has dimensions
- the operands of an operator have one dtype, one that the operator knows; conditions are bool
- a stored value has the dtype of its array; a loop's step is not zero and its kind is known

"lowered" and "printed", as `lower` gives it and the printers take it: also
- every name is bound once in the whole function; steps are positive
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from polysched.errors import InputError, Loc
from polysched.ir import nodes as ir
from polysched.ir.dtypes import DType, boolean, i64
from polysched.ir.integers.intervals import holds

Stage = Literal["source", "lowered", "printed"]

_AXES = (*(f"{level}.{axis}" for level in ("block", "thread") for axis in "xyz"), "block.w")
KINDS = frozenset(("serial", *ir.PARALLEL, "unrolled", "vector", "packed", "dots", "tensor", "foreign", *_AXES))
SPACES = frozenset({"global", "shared", "private"})


def verify(fn: ir.Function, stage: Stage) -> None:
    """Raises InputError with its place for a "source" function, the user's; AssertionError for our own, later ones."""
    _Verifier(fn, stage).function()


_Scope = dict[str, DType | ir.Array]  # the names that may be used


@dataclass
class _Verifier:
    fn: ir.Function
    stage: Stage
    loc: Loc | None = None  # of the statement being checked
    bound: set[str] = field(default_factory=set)  # by the statements so far

    def fail(self, message: str) -> NoReturn:
        if self.stage == "source":
            raise InputError(message, self.loc or self.fn.loc)
        raise AssertionError(f"{self.fn.name}, {self.stage}: {message}")

    def function(self) -> None:
        fn = self.fn
        names = [*fn.sizes, *(s.name for s in fn.scalars), *(a.name for a in fn.arrays)]
        for name in names:
            if names.count(name) > 1:
                self.fail(f"two parameters are named {name}; give each its own name")
        if fn.params and sorted(fn.params) != sorted(names):
            self.fail(f"params lists {_list(fn.params)}, but sizes, scalars and arrays are {_list(names)}")
        scope: _Scope = dict.fromkeys(fn.sizes, i64)
        for array in fn.arrays:
            self.array(array, scope)
        scope |= {scalar.name: scalar.dtype for scalar in fn.scalars} | {array.name: array for array in fn.arrays}
        self.bound.update(names)
        self.block(fn.body, scope)

    def array(self, array: ir.Array, scope: _Scope) -> None:
        for extent in array.shape:
            self.integer(extent, f"an extent of {array.name}", scope)
        if array.space not in SPACES:
            self.fail(f"{array.name} is in the unknown space {array.space!r}; there are {_list(sorted(SPACES))}")

    def bind(self, name: str, meaning: DType | ir.Array, scope: _Scope) -> None:
        if name in scope:
            self.fail(f"{name} is bound again while it is in scope; choose another name")
        if self.stage != "source" and name in self.bound:
            self.fail(f"{name} is bound twice; after lowering every name is bound once")
        self.bound.add(name)
        scope[name] = meaning

    def block(self, statements: tuple[ir.Stmt, ...], outer: _Scope) -> None:
        """Names bound here hold for the rest of the block."""
        scope = dict(outer)
        for stmt in statements:
            self.loc = stmt.loc or self.loc
            self.stmt(stmt, scope)

    def stmt(self, stmt: ir.Stmt, scope: _Scope) -> None:
        match stmt:
            case ir.Let(name, value):
                self.bind(name, self.expr(value, scope), scope)
            case ir.Store(array, index, value):
                target = self.access(array, index, scope)
                self.expect(value, target.dtype, f"the value stored to {array}", scope)
            case ir.For():
                self.loop(stmt, scope)
            case ir.If(cond, then, other):
                self.expect(cond, boolean, "the condition of an if", scope)
                self.block(then, scope)
                self.block(other, scope)
            case ir.Alloc(array):
                self.array(array, scope)
                self.bind(array.name, array, scope)
            case ir.Prefetch(array, index):
                self.access(array, index, scope)
            case ir.Barrier():
                pass
            case _:
                raise TypeError(f"unknown statement {type(stmt).__name__}")

    def loop(self, stmt: ir.For, scope: _Scope) -> None:
        self.integer(stmt.lo, f"the lower bound of {stmt.var}", scope)
        self.integer(stmt.hi, f"the upper bound of {stmt.var}", scope)
        for cond in stmt.when:
            self.expect(cond, boolean, f"what loop {stmt.var} is parallel under", scope)
        if stmt.step == 0:
            self.fail(f"loop {stmt.var} has step 0 and would never end")
        if stmt.step < 0 and self.stage != "source":
            self.fail(f"loop {stmt.var} has step {stmt.step}; after lowering steps are positive")
        for name in stmt.reduces:
            if not isinstance(scope.get(name), ir.Array):
                self.fail(f"loop {stmt.var} reduces {name}, which is no array that is known here")
        if stmt.kind not in KINDS:
            self.fail(f"loop {stmt.var} is of the unknown kind {stmt.kind!r}; there are {_list(sorted(KINDS))}")
        inside = dict(scope)
        self.bind(stmt.var, i64, inside)
        self.block(stmt.body, inside)

    def expr(self, expr: ir.Expr, scope: _Scope) -> DType:
        """The dtype of the expression, which holds what must hold."""
        match expr:
            case ir.Const(value, dtype):
                if not _is_value_of(value, dtype):
                    self.fail(f"the constant {value!r} is not a value of {dtype}")
            case ir.Var(name, dtype):
                found = scope.get(name)
                if not isinstance(found, DType):
                    self.fail(f"{name} {'is an array; subscript it' if found else 'is not bound here'}")
                if found != dtype:
                    self.fail(f"{name} is bound as {found} and used as {dtype}")
            case ir.Load(array, index, dtype):
                source = self.access(array, index, scope)
                if source.dtype != dtype:
                    self.fail(f"{array} holds {source.dtype} and is loaded as {dtype}")
            case ir.Unary(op, arg):
                self.operator(op, self.expr(arg, scope), _UNARY, expr)
            case ir.Binary(op, left, right):
                dtype = self.expr(left, scope)
                if self.expr(right, scope) != dtype:
                    self.fail(f"{op} is given {left.dtype} and {right.dtype} in {expr}; cast one of them")
                self.operator(op, dtype, _BINARY, expr)
            case ir.Select(cond, then, other):
                self.expect(cond, boolean, "the condition of a select", scope)
                self.expect(other, self.expr(then, scope), "the other branch of a select", scope)
            case ir.Call(_, args, _, _):
                for arg in args:
                    self.expr(arg, scope)
            case ir.Cast(arg, _):
                self.expr(arg, scope)
            case _:
                raise TypeError(f"unknown expression {type(expr).__name__}")
        return expr.dtype

    def operator(self, op: str, dtype: DType, table: dict[str, str], expr: ir.Expr) -> None:
        if op not in table:
            self.fail(f"unknown operator {op!r} in {expr}; there are {_list(sorted(table))}")
        if dtype.kind not in table[op]:
            wanted = _list([_KIND_NAMES[kind] for kind in table[op] if kind != "u"])
            self.fail(f"{op} does not apply to {dtype} in {expr}; it takes {wanted}")

    def access(self, name: str, index: tuple[ir.Expr, ...], scope: _Scope) -> ir.Array:
        array = scope.get(name)
        if not isinstance(array, ir.Array):
            self.fail(f"{name} is no array{'; drop its subscripts' if array else ' that is known here'}")
        if len(index) != len(array.shape):
            self.fail(f"{name} has {len(array.shape)} dimensions and is given {len(index)} subscripts")
        for subscript in index:
            self.integer(subscript, f"a subscript of {name}", scope)
        return array

    def integer(self, expr: ir.Expr, what: str, scope: _Scope) -> None:
        self.expect(expr, i64, what, scope)

    def expect(self, expr: ir.Expr, dtype: DType, what: str, scope: _Scope) -> None:
        found = self.expr(expr, scope)
        if found != dtype:
            self.fail(f"{what}, {expr}, is {found}; it must be {dtype}")


# The kinds of dtype that each operator takes.
_UNARY = {"-": "fiu", "~": "iu", "!": "b"}
_BINARY = {
    **dict.fromkeys(ir.COMPARISONS, "fiub"),
    **dict.fromkeys(ir.LOGICAL, "b"),
    **dict.fromkeys(ir.ARITHMETIC, "iu"),
    **dict.fromkeys(ir.DIVISIONS, "iu"),
    **dict.fromkeys(("+", "-", "*", "min", "max"), "fiu"),
    "/": "f",
}
_KIND_NAMES = {"f": "floats", "i": "integers", "b": "bool"}


def _is_value_of(value: int | float | bool, dtype: DType) -> bool:
    match dtype.kind:
        case "b":
            return isinstance(value, bool)
        case "f":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return type(value) is int and holds(dtype, (value, value))


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
