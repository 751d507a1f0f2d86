"""From Python expressions to those of the loop IR, typed as NumPy 2 types them.

    a[i, j] / 2 + i     ->     a[i, j] / 2.0f32 + f32(i)       for an f32 array `a`: a Python number adapts to it

Sizes, loop variables and literals are Python's own numbers: i64 and f64 among themselves, and weak among others
(see promotion.py). Every conversion becomes a Cast. Small powers are products: x ** 2 -> x * x, up to x ** 4.
A function of floats is computed in the dtype of its argument, in f64 for an integer: math.sqrt of an f32 is an f32,
as np.sqrt gives it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

from polysched.errors import InputError
from polysched.frontend.promotion import Type, common, fits, promote, weak_bool, weak_float, weak_int
from polysched.frontend.python_source import Source
from polysched.ir.dtypes import ALL, DType, boolean, f64, i64
from polysched.ir.nodes import Array, Binary, Call, Cast, Const, Expr, Load, Select, Unary, Var

DTYPES: dict[str, DType] = {**ALL, "bool_": boolean, "boolean": boolean}  # by the names of `polysched`


@dataclass(frozen=True)
class Typed:
    """An expression, and whether Python would compute it with its own numbers."""

    expr: Expr
    weak: bool = False

    @property
    def type(self) -> Type:
        return Type(self.expr.dtype, self.weak)


@dataclass
class Scope:
    """What the names stand for at the place that is being read."""

    sizes: tuple[str, ...]
    scalars: dict[str, DType] = field(default_factory=dict)  # by-value parameters
    arrays: dict[str, Array] = field(default_factory=dict)
    loops: tuple[str, ...] = ()  # variables of the loops around, outermost first
    all_loops: frozenset[str] = frozenset()  # variables of all loops of the nest
    temporaries: frozenset[str] = frozenset()  # scalars that the nest assigns
    types: dict[str, Type] = field(default_factory=dict)  # of the temporaries, as far as known
    written: frozenset[str] = frozenset()  # temporaries that have been assigned on some way to here

    def is_bound(self, name: str) -> bool:
        return any(name in names for names in (self.sizes, self.scalars, self.arrays, self.all_loops, self.temporaries))


class Expressions:
    """Reads expressions in a scope; every method raises InputError at the part that it cannot read."""

    def __init__(self, source: Source, scope: Scope):
        self.source, self.scope = source, scope

    def value(self, node: ast.expr) -> Typed:
        match node:
            case ast.Constant():
                return self.literal(node)
            case ast.Name():
                return self.name(node)
            case ast.Subscript():
                array, index = self.element(node)
                return Typed(Load(array.name, index, array.dtype))
            case ast.UnaryOp(op, operand):
                return self.unary(op, self.value(operand), node) if not isinstance(op, ast.Not) else self.test(node)
            case ast.BinOp(left, op, right):
                return self.binary(op, self.value(left), self.value(right), node)
            case ast.BoolOp(_, operands):
                for operand in operands:
                    if self.value(operand).type.dtype != boolean:
                        message = f"'{ast.unparse(operand)}' is a number, and Python's and, or give back an operand"
                        raise self.source.error(operand, message, "compare it, as in x != 0")
                return self.test(node)
            case ast.Compare():
                return self.comparisons(node)
            case ast.IfExp(test, then, other):
                return self.select(self.condition(test), self.value(then), self.value(other), node)
            case ast.Call():
                return self.call(node)
            case ast.Attribute(value=ast.Name(id=module), attr=attr) if not self.scope.is_bound(module):
                if attr in _CONSTANTS:
                    return Typed(Const(_CONSTANTS[attr], f64), weak=True)
        what, hint = _REFUSED.get(type(node), (f"'{ast.unparse(node)}'", "write it with numbers and array elements"))
        raise self.source.error(node, f"{what} cannot be in a nest", hint)

    def test(self, node: ast.expr) -> Typed:
        return Typed(self.condition(node), weak=True)

    def condition(self, node: ast.expr) -> Expr:
        """The truth of an expression, a bool; numbers are true unless zero."""
        match node:
            case ast.BoolOp(op, operands):
                symbol = "&&" if isinstance(op, ast.And) else "||"
                return reduce(lambda left, right: Binary(symbol, left, right), map(self.condition, operands))
            case ast.UnaryOp(ast.Not(), operand):
                return Unary("!", self.condition(operand))
        return self.converted(self.value(node), boolean, node)

    def integer(self, node: ast.expr, what: str) -> Expr:
        """An i64; `what` says what it is used as."""
        value = self.value(node)
        if not value.type.dtype.is_integer:
            hint = "use // for a division of integers, int(x) to truncate" if value.type.dtype.is_float else "int(x)"
            message = f"{what} must be an integer, and '{ast.unparse(node)}' is {_a(value.type)}"
            raise self.source.error(node, message, hint)
        return self.converted(value, i64, node)

    # --- names and elements

    def literal(self, node: ast.Constant) -> Typed:
        match node.value:
            case bool(value):
                return Typed(Const(value, boolean), weak=True)
            case int(value):
                if not fits(value, i64):
                    raise self.source.error(node, f"{value} does not fit in i64", "write it as a float")
                return Typed(Const(value, i64), weak=True)
            case float(value):
                return Typed(Const(value, f64), weak=True)
        kind = {str: "a string", bytes: "a string", complex: "a complex number"}.get(type(node.value), repr(node.value))
        raise self.source.error(node, f"{kind} cannot be in a nest", f"the types are {', '.join(ALL)}")

    def name(self, node: ast.Name) -> Typed:
        name, scope = node.id, self.scope
        if name in scope.sizes or name in scope.loops:
            return Typed(Var(name), weak=True)
        if name in scope.scalars:
            return Typed(Var(name, scope.scalars[name]))
        if name in scope.temporaries and name not in scope.all_loops:
            if name not in scope.written:
                hint = f"assign it first, as in {name} = 0.0"
                raise self.source.error(node, f"'{name}' is read before it is assigned", hint)
            known = scope.types.get(name, weak_int)  # a guess until an assignment further down has been read
            return Typed(Load(name, (), known.dtype), known.weak)
        if name in scope.arrays:
            rank = len(scope.arrays[name].shape)
            message = f"'{name}' is an array with {_count(rank, 'dimension')}; a nest works on its elements"
            raise self.source.error(node, message, f"write {_element(name, rank)}")
        if name in scope.all_loops:
            hint = "assign it to another name inside of the loop"
            raise self.source.error(node, f"the loop variable '{name}' is used outside of its loop", hint)
        hint = f"make it a parameter, as in {name}: ps.f64, or assign it first"
        raise self.source.error(node, f"'{name}' is not declared", hint)

    def element(self, node: ast.Subscript) -> tuple[Array, tuple[Expr, ...]]:
        """The array and its subscripts, written a[i, j] or a[i][j]."""
        base: ast.expr = node
        parts: list[ast.expr] = []
        while isinstance(base, ast.Subscript):
            parts = [*(base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]), *parts]
            base = base.value
        if not isinstance(base, ast.Name) or base.id not in self.scope.arrays:
            if isinstance(base, ast.Name):
                self.name(base)  # undeclared names have an error of their own
            message = f"'{ast.unparse(base)}' is not an array and has no elements"
            raise self.source.error(base, message, 'an array is a parameter, as in a: ps.f64["n"]')
        array = self.scope.arrays[base.id]
        for part in parts:
            if isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value in (None, ...)):
                hint = f"loop over the elements: {_element(array.name, len(array.shape))}"
                raise self.source.error(part, "a slice cannot be in a nest", hint)
        if len(parts) != len(array.shape):
            rank = _count(len(array.shape), "dimension")
            message = f"'{array.name}' has {rank} and is given {_count(len(parts), 'subscript')}"
            raise self.source.error(node, message, f"write {_element(array.name, len(array.shape))}")
        return array, tuple(self.subscript(part, array, k) for k, part in enumerate(parts))

    def subscript(self, node: ast.expr, array: Array, dimension: int) -> Expr:
        index = self.integer(node, "a subscript")
        if isinstance(index, Const) and index.value < 0:
            message = f"subscript {index.value} is negative; in a nest that does not count from the end"
            raise self.source.error(node, message, "write extent - k, as in a[n - 1]")
        return index

    # --- operators

    def unary(self, op: ast.unaryop, operand: Typed, node: ast.expr) -> Typed:
        if isinstance(op, ast.Invert):
            if not operand.type.dtype.is_integer:
                raise self.source.error(node, f"'~' needs an integer, not {_a(operand.type)}", "write not x for a bool")
            return Typed(Unary("~", operand.expr), operand.weak)
        target = self.arithmetic_type((operand,), "-" if isinstance(op, ast.USub) else "+", node)
        value = self.converted(operand, target.dtype, node)
        if isinstance(op, ast.UAdd):
            return Typed(value, target.weak)
        if isinstance(value, Const):  # a negative literal
            return Typed(Const(-value.value, value.dtype), target.weak)
        return Typed(Unary("-", value), target.weak)

    def binary(self, op: ast.operator, left: Typed, right: Typed, node: ast.AST) -> Typed:
        """`left op right`; the node is for error messages."""
        symbol = _SYMBOLS[type(op)]
        match op:
            case ast.Pow():
                return self.power(left, right, node)
            case ast.Div():
                return self.applied("/", (left, right), common(common(left.type, right.type), weak_float), node)
            case ast.Add() | ast.Sub() | ast.Mult():
                return self.applied(symbol, (left, right), self.arithmetic_type((left, right), symbol, node), node)
            case ast.FloorDiv() | ast.Mod():
                hint = "write floor(x / y)" if symbol == "//" else "write x - floor(x / y) * y"
                target = self.integer_type(left, right, symbol, node, hint)
                return self.applied("floordiv" if symbol == "//" else "floormod", (left, right), target, node)
            case ast.BitAnd() | ast.BitOr() | ast.BitXor() if left.type.dtype == right.type.dtype == boolean:
                logical = {"&": "&&", "|": "||", "^": "!="}[symbol]
                return Typed(Binary(logical, left.expr, right.expr), left.weak and right.weak)
            case ast.BitAnd() | ast.BitOr() | ast.BitXor() | ast.LShift() | ast.RShift():
                hint = "convert it, as in int(x)"
                return self.applied(symbol, (left, right), self.integer_type(left, right, symbol, node, hint), node)
        raise self.source.error(node, f"the operator '{symbol}' cannot be in a nest", "write its loops")

    def applied(self, op: str, operands: Iterable[Typed], target: Type, node: ast.AST) -> Typed:
        """The operator between operands of the target type, from the left."""
        values = [self.converted(operand, target.dtype, node) for operand in operands]
        return Typed(reduce(lambda left, right: Binary(op, left, right), values), target.weak)

    def arithmetic_type(self, operands: Iterable[Typed], symbol: str, node: ast.AST) -> Type:
        """The common type; Python's own bools count as integers."""
        target = reduce(common, (operand.type for operand in operands))
        if target == weak_bool:
            return weak_int
        if target.dtype == boolean:
            raise self.source.error(node, f"'{symbol}' cannot be applied to bools", "convert them, as in int(x)")
        return target

    def integer_type(self, left: Typed, right: Typed, symbol: str, node: ast.AST, hint: str) -> Type:
        target = self.arithmetic_type((left, right), symbol, node)
        if not target.dtype.is_integer:
            raise self.source.error(node, f"'{symbol}' needs integers, not {_a(target)}", hint)
        return target

    def power(self, base: Typed, exponent: Typed, node: ast.AST) -> Typed:
        target = self.arithmetic_type((base, exponent), "**", node)
        if exponent.weak and exponent.expr in _SMALL_POWERS:
            assert isinstance(exponent.expr, Const)
            return self.applied("*", [base] * int(exponent.expr.value), self.arithmetic_type((base,), "**", node), node)
        if target.dtype.is_integer:
            raise self.source.error(node, "a power of integers", "write a product, or float(x) ** y")
        args = (self.converted(base, target.dtype, node), self.converted(exponent, target.dtype, node))
        return Typed(Call("pow", args, target.dtype), target.weak)

    def comparisons(self, node: ast.Compare) -> Typed:
        """a < b < c is a < b and b < c."""
        operands = [self.value(operand) for operand in (node.left, *node.comparators)]
        pairs = zip(node.ops, operands[:-1], operands[1:], strict=True)
        parts = [self.comparison(op, left, right, node) for op, left, right in pairs]
        whole = reduce(lambda left, right: Binary("&&", left, right), parts)
        return Typed(whole, weak=all(operand.weak for operand in operands))

    def comparison(self, op: ast.cmpop, left: Typed, right: Typed, node: ast.expr) -> Expr:
        if type(op) not in _COMPARISONS:
            hint = f"compare with one of {' '.join(_COMPARISONS.values())}"
            raise self.source.error(node, f"'{ast.unparse(node)}' cannot be in a nest", hint)
        dtype = common(left.type, right.type).dtype
        if dtype.is_integer and not (isinstance(left.expr, Const) or isinstance(right.expr, Const)):
            # A loop variable may not fit in the dtype of an element that it is compared with.
            dtype = promote(left.type.dtype, right.type.dtype)
        first, second = self.converted(left, dtype, node), self.converted(right, dtype, node)
        return Binary(_COMPARISONS[type(op)], first, second)

    def select(self, test: Expr, then: Typed, other: Typed, node: ast.expr) -> Typed:
        target = common(then.type, other.type)
        values = self.converted(then, target.dtype, node), self.converted(other, target.dtype, node)
        return Typed(Select(test, *values), target.weak)

    # --- calls and conversions

    def call(self, node: ast.Call) -> Typed:
        """A function by its last name: sqrt, math.sqrt and np.sqrt are one."""
        match node.func:
            case ast.Name(id=name) if not self.scope.is_bound(name):
                module = ""
            case ast.Attribute(value=ast.Name(id=module), attr=name) if not self.scope.is_bound(module):
                pass
            case _:
                hint = f"the functions are {_FUNCTION_NAMES}"
                raise self.source.error(node, f"'{ast.unparse(node.func)}' is not a function that a nest can call", hint)
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise self.source.error(node, f"'{name}' takes plain arguments only", "drop keywords and stars")
        args = tuple(self.value(arg) for arg in node.args)
        name = _ALIASES.get(name, name)
        self.check_arity(name, len(args), node)
        match name:
            case "min" | "max":
                return self.applied(name, args, self.arithmetic_type(args, name, node), node)
            case "abs":
                return self.absolute(args[0], node)
            case "pow":
                return self.power(args[0], args[1], node)
            case "float":
                return Typed(self.converted(args[0], f64, node), weak=True)
            case "int":
                return Typed(self.cast(args[0], i64, node), weak=True)
        if name in _CASTS:
            return Typed(self.cast(args[0], _CASTS[name], node))
        target = reduce(common, (arg.type for arg in args), weak_float)
        values = tuple(self.converted(arg, target.dtype, node) for arg in args)
        if module == "math" and name in ("floor", "ceil", "trunc"):  # Python's own give an int
            return Typed(Cast(Call(name, values, target.dtype), i64), weak=True)
        return Typed(Call(name, values, target.dtype), target.weak)

    def check_arity(self, name: str, given: int, node: ast.Call) -> None:
        if name in ("min", "max"):
            if given < 2:
                hint = f"write {name}(x, y), or a loop over the elements"
                raise self.source.error(node, f"'{name}' needs two or more numbers", hint)
            return
        wanted = 1 if name in _CASTS else _ARITY.get(name)
        if wanted is None:
            hint = f"the functions are {_FUNCTION_NAMES}"
            raise self.source.error(node, f"'{ast.unparse(node.func)}' is not a function that a nest can call", hint)
        if given != wanted:
            message = f"'{ast.unparse(node.func)}' takes {_count(wanted, 'argument')}, not {given}"
            raise self.source.error(node, message)

    def absolute(self, arg: Typed, node: ast.expr) -> Typed:
        target = self.arithmetic_type((arg,), "abs", node)
        value = self.converted(arg, target.dtype, node)
        match target.dtype.kind:
            case "f":
                return Typed(Call("fabs", (value,), target.dtype), target.weak)
            case "i":
                return Typed(Binary("max", value, Unary("-", value)), target.weak)
        return Typed(value, target.weak)

    def cast(self, value: Typed, dtype: DType, node: ast.AST) -> Expr:
        """An explicit conversion: what does not fit wraps."""
        try:
            return self.converted(value, dtype, node)
        except InputError:
            return Cast(value.expr, dtype)

    def converted(self, value: Typed, dtype: DType, node: ast.AST) -> Expr:
        """The value in a dtype; InputError for an integer literal that does not fit, as in NumPy."""
        expr = value.expr
        if expr.dtype == dtype:
            return expr
        if dtype == boolean:
            return Binary("!=", expr, Const(0.0 if expr.dtype.is_float else 0, expr.dtype))
        if not isinstance(expr, Const) or not value.weak or (expr.dtype.is_float and dtype.is_integer):
            return Cast(expr, dtype)
        if dtype.is_float:
            return Const(float(expr.value), dtype)
        if not fits(int(expr.value), dtype):
            raise self.source.error(node, f"{expr.value} does not fit in {dtype}", "use a wider dtype")
        return Const(int(expr.value), dtype)


_SMALL_POWERS = (Const(2), Const(3), Const(4))
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf}

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_SYMBOLS: dict[type[ast.operator], str] = {
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

# Functions of floats by their C names, with the number of their arguments; then what the IR has operators for.
_ARITY = {
    **dict.fromkeys("sqrt cbrt exp exp2 expm1 log log2 log10 log1p fabs floor ceil trunc rint erf erfc".split(), 1),
    **dict.fromkeys("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh lgamma tgamma".split(), 1),
    **dict.fromkeys("atan2 fmin fmax fmod hypot copysign pow".split(), 2),
    "fma": 3,
    **dict.fromkeys("abs float int".split(), 1),
}
_ALIASES = {
    **{f"arc{name}": f"a{name}" for name in "sin cos tan sinh cosh tanh tan2".split()},
    **{"absolute": "abs", "power": "pow", "gamma": "tgamma"},
}
_CASTS = {**DTYPES, **{dtype.numpy: dtype for dtype in ALL.values()}}
_FUNCTION_NAMES = " ".join(sorted({*_ARITY, "min", "max"})) + ", and casts such as ps.f32"

_REFUSED: dict[type[ast.expr], tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write the expression where it is used"),
    ast.ListComp: ("a comprehension", "write the loop"),
    ast.SetComp: ("a comprehension", "write the loop"),
    ast.DictComp: ("a comprehension", "write the loop"),
    ast.GeneratorExp: ("a comprehension", "write the loop"),
    ast.NamedExpr: ("an assignment inside of an expression", "assign on a line of its own"),
    ast.Tuple: ("a tuple", "write one number"),
    ast.List: ("a list", "use an array parameter"),
    ast.Dict: ("a dict", "use an array parameter"),
    ast.Set: ("a set", "use an array parameter"),
    ast.JoinedStr: ("a string", f"the types are {', '.join(ALL)}"),
    ast.Attribute: ("an attribute", "pass it as a parameter, as in n: ps.size"),
}


def _element(name: str, rank: int) -> str:
    """An element of the array, as an example."""
    return f"{name}[{', '.join('ijkl'[d] if d < 4 else f'i{d}' for d in range(rank)) or '()'}]"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _a(kind: Type) -> str:
    return f"{'an' if kind.dtype.name[0] in 'fi' else 'a'} {kind}"
