"""From Python expressions to those of the loop IR: what the names stand for, and what is refused.

    a[i, j] / 2 + i     ->     a[i, j] / 2.0f32 + f32(i)       for an f32 array `a`: a Python number adapts to it

Sizes, loop variables and literals are Python's own numbers: i64 and f64 among themselves, and weak among others
(see arithmetic.py); so what is computed is what the Python function computes.

    parse_formula("i < j and 2 * i <= n", ("i", "j", "n"))      i < j && 2 * i <= n      of type bool: text of users'
    parse_formula("n // 2", ("n",))                             floordiv(n, 2)           of type i64
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from polysched.errors import InputError, Loc
from polysched.frontend.arithmetic import (
    Type,
    Typed,
    a,
    binary,
    comparison,
    converted,
    counted,
    fits,
    select,
    unary,
    weak_int,
)
from polysched.frontend.python_functions import call
from polysched.frontend.python_source import Source, names_in
from polysched.ir.dtypes import ALL, DType, boolean, f64, i64
from polysched.ir.nodes import Array, Binary, Const, Expr, Load, Unary, Var


@dataclass
class Scope:
    """What the names stand for at the place that is being read."""

    sizes: tuple[str, ...]
    scalars: dict[str, DType] = field(default_factory=dict)  # by-value parameters
    arrays: dict[str, Array] = field(default_factory=dict)
    defaults: dict[str, int | float | bool] = field(default_factory=dict)  # of sizes and scalars
    constants: dict[str, Any] = field(default_factory=dict)  # parameters that are no parameters of the nest
    loops: tuple[str, ...] = ()  # variables of the loops around, outermost first
    all_loops: frozenset[str] = frozenset()  # variables of all loops of the nest
    temporaries: frozenset[str] = frozenset()  # scalars that the nest assigns
    types: dict[str, Type] = field(default_factory=dict)  # of the temporaries, as far as known
    written: frozenset[str] = frozenset()  # temporaries that have been assigned on some way to here

    def is_bound(self, name: str) -> bool:
        return any(name in names for names in (self.sizes, self.scalars, self.arrays, self.all_loops, self.temporaries))


@dataclass
class Expressions:
    """Reads expressions in a scope; every method raises InputError at the part that it cannot read."""

    source: Source
    scope: Scope

    def value(self, node: ast.expr) -> Typed:
        with self.source.at(node):
            return self.value_of(node)

    def value_of(self, node: ast.expr) -> Typed:
        match node:
            case ast.Constant():
                return self.literal(node)
            case ast.Name():
                return self.name(node)
            case ast.Call(ast.Name("len"), [ast.Name(id=name)], []) if name in self.scope.arrays:
                return self.extent(name, 0)
            case ast.Subscript(ast.Attribute(ast.Name(id=name), "shape"), axis) if name in self.scope.arrays:
                return self.extent(name, _integer(axis))
            case ast.Subscript():
                array, index = self.element(node)
                return Typed(Load(array.name, index, array.dtype))
            case ast.UnaryOp(ast.Not(), _):
                return Typed(self.condition(node), weak=True)
            case ast.UnaryOp(op, operand):
                return unary(_UNARY[type(op)], self.value(operand))
            case ast.BinOp(left, op, right):
                return binary(SYMBOLS[type(op)], self.value(left), self.value(right))
            case ast.BoolOp(_, operands):
                weak = [self.bool(operand).weak for operand in operands]
                return Typed(self.condition(node), all(weak))
            case ast.Compare():
                return self.comparisons(node)
            case ast.IfExp(test, then, other):
                return select(self.condition(test), self.value(then), self.value(other))
            case ast.Call():
                return self.call(node)
            case ast.Attribute(ast.Name(id=module), attr) if attr in _CONSTANTS and not self.scope.is_bound(module):
                return Typed(Const(_CONSTANTS[attr], f64), weak=True)
            case ast.Attribute(ast.Name(id=name), "shape") if name in self.scope.arrays:
                message = f"'{name}.shape' is a tuple; a nest works on numbers"
                raise InputError(message, None, f"take one extent, as in {name}.shape[0]")
            case ast.Attribute():
                hint = "pass the value as a parameter, as in n: ps.size"
                raise InputError(f"the attribute '{ast.unparse(node)}' cannot be in a nest", None, hint)
        what, hint = _REFUSED.get(type(node), (f"'{ast.unparse(node)}'", "write it with numbers and array elements"))
        raise InputError(f"{what} cannot be in a nest", None, hint)

    def condition(self, node: ast.expr) -> Expr:
        """The truth of an expression, a bool; numbers are true unless zero."""
        match node:
            case ast.BoolOp(op, operands):
                symbol = "&&" if isinstance(op, ast.And) else "||"
                return reduce(lambda left, right: Binary(symbol, left, right), map(self.condition, operands))
            case ast.UnaryOp(ast.Not(), operand):
                return Unary("!", self.condition(operand))
        return converted(self.value(node), boolean)

    def bool(self, node: ast.expr) -> Typed:
        """An operand of and, or where their value is used: Python gives back the operand itself."""
        value = self.value(node)
        if value.type.dtype != boolean:
            message = f"'{ast.unparse(node)}' is {a(value.type)}, and the value of and, or is known only for bools"
            raise self.source.error(node, message, "compare it, as in x != 0")
        return value

    def integer(self, node: ast.expr, what: str) -> Expr:
        """An i64; `what` says what it is used as."""
        value = self.value(node)
        if not value.type.dtype.is_integer:
            hint = "divide with //, or truncate with int(x)" if value.type.dtype.is_float else "convert it with int(x)"
            message = f"{what} must be an integer, and '{ast.unparse(node)}' is {a(value.type)}"
            raise self.source.error(node, message, hint)
        return converted(value, i64)

    # --- names and elements

    def extent(self, name: str, axis: int | None) -> Typed:
        """len(a), a.shape[1]: an extent as the annotation has it, which calls are held to."""
        shape = self.scope.arrays[name].shape
        if axis is None or not -len(shape) <= axis < len(shape):
            hint = f"it has {counted(len(shape), 'dimension')}{f', as in {name}.shape[0]' if shape else ''}"
            raise InputError(f"'{name}' has no such extent", None, hint)
        return Typed(shape[axis], weak=True)

    def literal(self, node: ast.Constant) -> Typed:
        match node.value:
            case bool(value):
                return Typed(Const(value, boolean), weak=True)
            case int(value) if fits(value, i64):
                return Typed(Const(value, i64), weak=True)
            case int(value):
                raise InputError(f"{value} does not fit in i64", None, "write it as a float")
            case float(value):
                return Typed(Const(value, f64), weak=True)
        kinds = {str: "a string", bytes: "a string", complex: "a complex number"}
        what = kinds.get(type(node.value), f"'{ast.unparse(node)}'")
        raise InputError(f"{what} cannot be in a nest", None, f"the types are {', '.join(ALL)}")

    def name(self, node: ast.Name) -> Typed:
        name, scope = node.id, self.scope
        if name in scope.sizes or name in scope.loops:
            return Typed(Var(name), weak=True)
        if name in scope.scalars:
            return Typed(Var(name, scope.scalars[name]))
        if name in scope.arrays:
            rank = len(scope.arrays[name].shape)
            message = f"'{name}' is an array of {counted(rank, 'dimension')}; a nest works on elements"
            raise self.source.error(node, message, f"write {_element(name, rank)}")
        if name in scope.all_loops:
            hint = "assign it to another name inside of the loop"
            raise self.source.error(node, f"the loop variable '{name}' is used outside of its loop", hint)
        if name not in scope.temporaries:
            hint = f"make it a parameter, as in {name}: ps.f64, or assign it first"
            raise self.source.error(node, f"'{name}' is not declared", hint)
        if name not in scope.written:
            raise self.source.error(node, f"'{name}' is read before it is assigned", f"assign it first: {name} = 0.0")
        known = scope.types.get(name, weak_int)  # a guess until an assignment further down has been read
        return Typed(Load(name, (), known.dtype), known.weak)

    def element(self, node: ast.Subscript) -> tuple[Array, tuple[Expr, ...]]:
        """The array and its subscripts, written a[i, j] or a[i][j]."""
        base: ast.expr = node
        parts: list[ast.expr] = []
        while isinstance(base, ast.Subscript):
            parts = [*(base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]), *parts]
            base = base.value
        if not isinstance(base, ast.Name) or base.id not in self.scope.arrays:
            if isinstance(base, ast.Name) and not self.scope.is_bound(base.id):
                hint = f'make it a parameter, as in {base.id}: ps.f64["n"]'
                raise self.source.error(base, f"the array '{base.id}' is not declared", hint)
            self.value(base)  # which may have an error of its own
            hint = 'an array is a parameter, as in a: ps.f64["n"]'
            raise self.source.error(base, f"'{ast.unparse(base)}' is not an array and has no elements", hint)
        array = self.scope.arrays[base.id]
        rank, example = len(array.shape), _element(array.name, len(array.shape))
        for part in parts:
            if isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value in (None, ...)):
                raise self.source.error(part, "a slice cannot be in a nest", f"loop over the elements: {example}")
        if len(parts) != rank:
            message = f"'{array.name}' has {counted(rank, 'dimension')} and is given {counted(len(parts), 'subscript')}"
            raise self.source.error(node, message, f"write {example}")
        return array, tuple(self.subscript(part) for part in parts)

    def subscript(self, node: ast.expr) -> Expr:
        index = self.integer(node, "a subscript")
        if isinstance(index, Const) and index.value < 0:
            message = f"subscript {index.value} is negative, and a nest does not count from the end"
            raise self.source.error(node, message, "subtract from the extent, as in a[n - 1]")
        return index

    # --- comparisons and calls

    def comparisons(self, node: ast.Compare) -> Typed:
        """a < b < c is a < b and b < c."""
        for op in node.ops:
            if type(op) not in COMPARISONS:
                message = f"'{ast.unparse(node)}' cannot be in a nest"
                raise InputError(message, None, f"compare with {', '.join(COMPARISONS.values())}")
        operands = [self.value(operand) for operand in (node.left, *node.comparators)]
        symbols = [COMPARISONS[type(op)] for op in node.ops]
        parts = [comparison(*part) for part in zip(symbols, operands[:-1], operands[1:], strict=True)]
        whole = reduce(lambda left, right: Binary("&&", left, right), (part.expr for part in parts))
        return Typed(whole, all(part.weak for part in parts))

    def call(self, node: ast.Call) -> Typed:
        match node.func:
            case ast.Name(id=name) if not self.scope.is_bound(name):
                module = ""
            case ast.Attribute(value=ast.Name(id=module), attr=name) if not self.scope.is_bound(module):
                pass
            case func:
                raise InputError(f"'{ast.unparse(func)}' is not a function", None, "call one by name, as in sqrt(x)")
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            message = f"the arguments of '{ast.unparse(node.func)}' must be plain"
            raise InputError(message, None, "write each in its place, without keyword and star")
        return call(module, name, [self.value(arg) for arg in node.args])


def _integer(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(int(value)):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
            return -value
    return None


SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}

_REFUSED: dict[type[ast.expr], tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write the expression where it is used"),
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), ("a comprehension", "write the loop")
    ),
    ast.NamedExpr: ("an assignment inside of an expression", "assign on a line of its own"),
    ast.Tuple: ("a tuple", "write one number"),
    ast.List: ("a list", "use an array parameter"),
    ast.Dict: ("a dict", "use an array parameter"),
    ast.Set: ("a set", "use an array parameter"),
    ast.JoinedStr: ("a string", f"the types are {', '.join(ALL)}"),
    ast.Slice: ("a slice", "write one number"),
}


def _element(name: str, rank: int) -> str:
    """An element of the array, as an example."""
    return f"{name}[{', '.join('ijkl'[d] if d < 4 else f'i{d}' for d in range(rank)) or '()'}]"


def parse_formula(text: str, names: Sequence[str]) -> Expr:
    """The condition, a bool, or the integer, an i64, that the text says; InputError with a caret where it is neither.

    `names` are integers.
    """
    source = Source("formula", (text,))
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise InputError(f"this is not Python: {error.msg}", Loc("formula", 1, error.offset or 1, text)) from None
    called = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    for name in names_in(node):
        if name.id not in names and name not in called:
            raise source.error(name, f"'{name.id}' is not known here", f"the names are: {', '.join(names)}")
    read = Expressions(source, Scope(tuple(names)))
    is_condition = isinstance(node, ast.Compare | ast.BoolOp) or read.value(node).type.dtype == boolean
    return read.condition(node) if is_condition else read.integer(node, "it")
