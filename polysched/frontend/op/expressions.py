"""From Python's expressions to values: arrays become operations of the graph, the rest is computed while reading.

x.shape[0] // 2         an extent, N // 2
[w / 2, h / 2]          a tuple of two arrays
np.exp(x) * w           %v0 = UnaryType::Exp(%x), %v1 = BinaryType::Mul(%v0, %w)
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op import elementwise
from polysched.frontend.op.arrays import FUNCTIONS, METHODS, as_array
from polysched.frontend.op.emit import Emitter, Operand, name_of
from polysched.frontend.op.extents import is_at_least, normal, number, product
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.shaping import transpose
from polysched.frontend.op.subscripts import assign_to_elements, element
from polysched.frontend.python_expressions import SYMBOLS
from polysched.frontend.python_functions import DTYPES
from polysched.frontend.python_source import Source
from polysched.ir.dtypes import ALL, DType, boolean
from polysched.ir.nodes import Binary, Const, Expr, Unary

__all__ = ["SYMBOLS", "Expressions"]


class Expressions:
    """Reads expressions; `variables` is what the names stand for, and changes as statements are read."""

    def __init__(self, source: Source, emit: Emitter, variables: Mapping[str, Any], constants: Mapping[str, Any]):
        self.source, self.emit, self.variables, self.constants = source, emit, variables, constants

    def value(self, node: ast.expr) -> Any:
        with self.source.at(node):
            return self.value_of(node)

    def value_of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.Constant(value=value) if value is Ellipsis:
                return value
            case ast.Name(id=name):
                return self.name(name)
            case ast.Tuple(elts=entries) | ast.List(elts=entries):
                return self.several(entries)
            case ast.ListComp(elt=elt, generators=[only]) | ast.GeneratorExp(elt=elt, generators=[only]):
                return tuple(self.comprehension(elt, only))
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript(value=base, slice=subscript):
                return self.subscript(self.value(base), subscript)
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, self.value(operand), operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(SYMBOLS[type(op)], self.value(left), self.value(right))
            case ast.BoolOp(op=op, values=values):
                truths = (self.truth(value) for value in values)
                return all(truths) if isinstance(op, ast.And) else any(truths)
            case ast.Compare():
                return self.comparison(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                cond = self.value(test)
                if isinstance(cond, Ref) and not cond.rank:
                    return elementwise.where(self.emit, cond, self.value(body), self.value(orelse))
                return self.value(body if self.truth_of(test, cond) else orelse)
            case ast.Call():
                return self.call(node)
        what, hint = _REFUSED.get(type(node), (f"'{ast.unparse(node)}'", "write it with arrays and numbers"))
        raise InputError(f"{what} cannot be in an operator", None, hint)

    def name(self, name: str) -> Any:
        if name in self.variables:
            return self.variables[name]
        if name in self.constants:
            return self.constants[name]
        raise InputError(
            f"'{name}' is not known", None, f'assign it first, or make it a parameter: {name}: ps.f32["n"]'
        )

    def several(self, nodes: list[ast.expr]) -> tuple[Any, ...]:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += self.entries(node, self.value(node.value))
            else:
                found.append(self.value(node))
        return tuple(found)

    def comprehension(self, elt: ast.expr, generator: ast.comprehension) -> Iterator[Any]:
        if not isinstance(generator.target, ast.Name) or generator.ifs:
            raise InputError(
                "a comprehension of that form cannot be in an operator", None, "write [e for i in range(4)]"
            )
        before = self.variables
        for entry in self.entries(generator.iter, self.value(generator.iter)):
            self.variables = {**before, generator.target.id: entry}
            yield self.value(elt)
        self.variables = before

    def entries(self, node: ast.AST, value: Any) -> list[Any]:
        """What a loop over the value gives."""
        match value:
            case tuple() | range():
                return list(value)
            case Ref() if value.rank:
                extent = number(value.shape[0])
                if extent is not None:
                    return [element(self.emit, value, [k], str(k)) for k in range(extent)]
                message = f"{name_of(value)} has {value.shape[0]} entries, a number that is not known"
                raise self.source.error(node, message, "write operations on the whole array, or a nest: @ps.nest")
            case _SymbolicRange():
                hint = "write operations on whole arrays, as in np.cumsum(x), or a nest: @ps.nest"
                raise self.source.error(node, f"the number of iterations, {value.extent}, is not known", hint)
        raise self.source.error(node, "this is no range and no tuple", "write for i in range(4)")

    # --- arrays

    def array(self, node: ast.expr) -> Ref:
        value = self.value(node)
        if isinstance(value, Ref):
            return value
        raise self.source.error(node, f"'{ast.unparse(node)}' is no array", "elements of arrays alone can be assigned")

    def operand(self, value: Any) -> Operand:
        """What an element-wise operation takes."""
        match value:
            case Ref() | Expr() | bool() | int() | float():
                return value
            case tuple():
                return FUNCTIONS["array"](self.emit, value)
        raise InputError(f"{_described(value)} is no array and no number", None, "pass an array or a number")

    def subscript(self, base: Any, node: ast.expr) -> Any:
        given = self.subscripts(node)
        match base:
            case Ref():
                return element(self.emit, base, given, written(node))
            case tuple() if len(given) == 1 and isinstance(given[0], int | slice):
                try:
                    return base[given[0]]
                except IndexError:
                    raise InputError(f"there is no entry {given[0]} among {len(base)}") from None
        raise InputError(f"{_described(base)} has no elements", None, "arrays and tuples have")

    def subscripts(self, node: ast.expr) -> tuple[Any, ...]:
        nodes = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(self.slice(one) if isinstance(one, ast.Slice) else self.value(one) for one in nodes)

    def slice(self, node: ast.Slice) -> slice:
        bounds = [None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)]
        for bound in bounds:
            if not isinstance(bound, int | Expr | None):
                raise InputError("a bound of a slice must be a number or a size", None, "it cannot depend on data")
        return slice(*bounds)

    def masked(self, array: Ref, subscripts: tuple[Any, ...]) -> Ref:
        """The elements of the array that a mask chooses; it is the only subscript, and of the array's shape."""
        if len(subscripts) != 1 or subscripts[0].shape != array.shape:
            raise InputError(f"a mask must have the shape of {name_of(array)}", None, "and be the only subscript")
        mask: Ref = subscripts[0]
        return mask

    # --- operators

    def unary(self, op: ast.unaryop, value: Any, node: ast.expr) -> Any:
        match op, value:
            case ast.Not(), _:
                return not self.truth_of(node, value)
            case ast.USub(), Expr():
                return normal(Unary("-", value))
            case ast.USub() | ast.UAdd() | ast.Invert(), Ref():
                return elementwise.unary(self.emit, _UNARY[type(op)][0], value)
            case ast.USub() | ast.UAdd() | ast.Invert(), bool() | int() | float():
                return _UNARY[type(op)][1](value)
        raise InputError(f"{_described(value)} has no such operator")

    def binary(self, op: str, left: Any, right: Any) -> Any:
        if op == "@":
            return FUNCTIONS["matmul"](self.emit, self.operand(left), self.operand(right))
        if isinstance(left, Ref) or isinstance(right, Ref):
            return elementwise.binary(self.emit, op, self.operand(left), self.operand(right))
        if isinstance(left, Expr) or isinstance(right, Expr):
            return self.of_extents(op, left, right)
        try:
            return _PYTHON[op](left, right)
        except (TypeError, ArithmeticError) as error:
            raise InputError(f"Python says: {error}") from None

    def of_extents(self, op: str, left: Any, right: Any) -> Any:
        """Sizes and integers give sizes; with floats they are numbers of the kernel."""
        if op in _OF_EXTENTS and all(isinstance(one, Expr | int) for one in (left, right)):
            return normal(Binary(_OF_EXTENTS[op], _extent(left), _extent(right)))
        return elementwise.binary(self.emit, op, self.operand(left), self.operand(right))

    def comparison(self, node: ast.Compare) -> Any:
        operands = [self.value(one) for one in (node.left, *node.comparators)]
        if any(isinstance(one, Ref) for one in operands):
            if len(node.ops) > 1 or type(node.ops[0]) not in _COMPARISONS:
                raise InputError(
                    "a chain of comparisons of arrays has no value in NumPy", None, "write (a < b) & (b < c)"
                )
            left, right = map(self.operand, operands)
            return elementwise.compared(self.emit, _COMPARISONS[type(node.ops[0])][0], left, right)
        pairs = zip(node.ops, operands[:-1], operands[1:], strict=True)
        return all(self.compared(op, left, right) for op, left, right in pairs)

    def compared(self, op: ast.cmpop, left: Any, right: Any) -> bool:
        match op:
            case ast.Is():
                return left is right
            case ast.IsNot():
                return left is not right
            case ast.In():
                return left in right
            case ast.NotIn():
                return left not in right
        symbol, compare = _COMPARISONS[type(op)]
        if not isinstance(left, Expr) and not isinstance(right, Expr):
            return bool(compare(left, right))
        return _decided(symbol, _extent(left), _extent(right))

    def truth(self, node: ast.expr) -> bool:
        """Whether a condition holds, which must be known while the code is read."""
        return self.truth_of(node, self.value(node))

    def truth_of(self, node: ast.expr, value: Any) -> bool:
        match value:
            case Ref():
                hint = "write np.where(cond, x, y)"
                raise self.source.error(node, f"'{ast.unparse(node)}' depends on data", hint)
            case Const(found):
                return bool(found)
            case Expr():
                return self.compared(ast.NotEq(), value, 0)
        return bool(value)

    # --- attributes and calls

    def attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id not in self.variables:
            if node.attr in _CONSTANTS:
                return _CONSTANTS[node.attr]
            if node.attr in _DTYPES:
                return _DTYPES[node.attr]
        base = self.value(node.value)
        if isinstance(base, Ref):
            match node.attr:
                case "T":
                    return transpose(self.emit, base)
                case "shape":
                    return tuple(_plain(extent) for extent in base.shape)
                case "ndim":
                    return base.rank
                case "size":
                    return _plain(product(base.shape))
                case "dtype":
                    return base.dtype
        message = f"the attribute '{ast.unparse(node)}' cannot be in an operator"
        raise InputError(message, None, "arrays have T, shape, ndim, size and dtype")

    def statement(self, node: ast.Call) -> None:
        """A call whose value is not used: of what changes an array in place."""
        match node.func, node.args:
            case ast.Attribute(value=ast.Attribute(attr="add"), attr="at"), [target, index, value]:
                array, indices = self.array(target), self.value(index)
                chosen = indices if isinstance(indices, tuple) else (indices,)
                assign_to_elements(self.emit, array, chosen, self.operand(self.value(value)), add=True)
            case _:
                hint = "assign its value, or delete it"
                raise self.source.error(node, f"the call of '{ast.unparse(node.func)}' has no effect", hint)

    def call(self, node: ast.Call) -> Any:
        args = self.several(node.args)
        keywords = {one.arg: self.value(one.value) for one in node.keywords if one.arg is not None}
        if len(keywords) < len(node.keywords):
            raise InputError("** cannot be in an operator", None, "write the arguments one by one")
        match node.func:
            case ast.Name(id=name) if name not in self.variables:
                if name in _PYTHON_FUNCTIONS and not any(isinstance(arg, Ref) for arg in args):
                    return self.of_python(name, args)
                return self.function(name, _OF_PYTHON.get(name, name), args, keywords, any_name=True)
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module not in self.variables:
                return self.function(f"{module}.{name}", name, args, keywords, any_name=False)
            case ast.Attribute(value=ast.Attribute() as base) if _root(base) not in self.variables:
                message = f"the function '{ast.unparse(node.func)}' is not supported in an operator"
                raise InputError(message, None, "write it with functions that are")
            case ast.Attribute(value=base, attr=name):
                array = self.array(base)
                if name not in METHODS:
                    raise InputError(f"an array has no method '{name}'", None, f"it has {', '.join(sorted(METHODS))}")
                return self.applied(f".{name}", METHODS[name], (array, *args), keywords)
        raise InputError(f"'{ast.unparse(node.func)}' is not a function", None, "call one by name, as in np.exp(x)")

    def function(
        self, written: str, name: str, args: tuple[Any, ...], keywords: dict[str, Any], *, any_name: bool
    ) -> Any:
        """A function of NumPy or polysched; with `any_name` one that neither has is the device's."""
        if name in FUNCTIONS:
            return self.applied(written, FUNCTIONS[name], args, keywords)
        if name in _DTYPES and len(args) == 1:
            return elementwise.cast(self.emit, self.operand(args[0]), _DTYPES[name])
        if keywords:
            raise InputError(f"'{written}' takes no argument by name", None, "write each in its place")
        if not args or not (any_name or elementwise.is_known(name)):
            hint = "write it with functions that are, or call it by its plain name if the device has it"
            raise InputError(f"the function '{written}' is not supported in an operator", None, hint)
        return elementwise.call(self.emit, name, [self.operand(arg) for arg in args])

    def applied(
        self, written: str, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        try:
            bound = inspect.signature(function).bind(self.emit, *args, **keywords)
        except TypeError as error:
            raise InputError(f"'{written}' is called with other arguments than it takes: {error}") from None
        for name in bound.arguments.keys() & _ARRAYS:
            bound.arguments[name] = as_array(self.emit, bound.arguments[name])
        return function(*bound.args, **bound.kwargs)

    def of_python(self, name: str, args: tuple[Any, ...]) -> Any:
        if name == "range" and any(isinstance(arg, Expr) for arg in args):
            return _SymbolicRange(args[-1] if len(args) < 3 else args[1])
        if name in ("min", "max") and any(isinstance(arg, Expr) for arg in args):
            result = _extent(args[0])
            for arg in args[1:]:
                result = normal(Binary(name, result, _extent(arg)))
            return result
        try:
            found = _PYTHON_FUNCTIONS[name](*args)
        except (TypeError, ValueError) as error:
            raise InputError(f"Python says: {error}") from None
        return found if isinstance(found, range | bool | int | float) else tuple(found)


@dataclass(frozen=True)
class _SymbolicRange:
    """A range whose number of iterations is not known."""

    extent: Any


def written(subscript: ast.expr) -> str:
    """A subscript as in the code, without brackets."""
    nodes = subscript.elts if isinstance(subscript, ast.Tuple) else [subscript]
    return ", ".join(map(ast.unparse, nodes))


def _root(node: ast.expr) -> str:
    """The name that a chain of attributes starts with, if any."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _extent(value: Any) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, int):
        return Const(int(value))
    raise InputError(f"{_described(value)} is no size and no integer")


def _plain(extent: Expr) -> int | Expr:
    value = number(extent)
    return extent if value is None else value


def _decided(op: str, left: Expr, right: Expr) -> bool:
    """Whether sizes compare so, for all values that they may have."""
    one = Const(1)
    holds = {
        "==": left == right,
        "!=": is_at_least(left, Binary("+", right, one)) or is_at_least(right, Binary("+", left, one)),
        "<": is_at_least(right, Binary("+", left, one)),
        "<=": is_at_least(right, left),
        ">": is_at_least(left, Binary("+", right, one)),
        ">=": is_at_least(left, right),
    }
    if holds[op]:
        return True
    if holds[_OPPOSITE[op]]:
        return False
    hint = "make the size a number, or write code that needs no condition"
    raise InputError(f"whether {left} {op} {right} depends on sizes", None, hint)


def _described(value: Any) -> str:
    match value:
        case str():
            return "a string"
        case tuple():
            return "a tuple"
        case DType():
            return "a dtype"
    return f"'{value}'"


_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("-", operator.neg),
    ast.UAdd: ("+", operator.pos),
    ast.Invert: ("~", operator.invert),
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_ARRAYS = {"a", "b", "array", "x1", "x2"}  # parameters of functions that are arrays, or numbers as arrays of none
_OF_EXTENTS = {"+": "+", "-": "-", "*": "*", "//": "floordiv", "%": "floormod"}
_PYTHON_FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (range, len, min, max, abs, int, float, bool, tuple, list, enumerate, zip, reversed)
}
_OF_PYTHON = {"min": "minimum", "max": "maximum", "float": "f64", "int": "i64"}
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}
_DTYPES: dict[str, DType] = {**DTYPES, **{dtype.numpy: dtype for dtype in ALL.values()}, "bool_": boolean}
_REFUSED: dict[type[ast.expr], tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write the expression where it is used"),
    ast.ListComp: ("a nested comprehension", "write a loop"),
    ast.SetComp: ("a set", "use a tuple"),
    ast.DictComp: ("a dict", "use a tuple"),
    ast.Dict: ("a dict", "use a tuple"),
    ast.Set: ("a set", "use a tuple"),
    ast.NamedExpr: ("an assignment inside of an expression", "assign on a line of its own"),
    ast.JoinedStr: ("a string", "write numbers and arrays"),
    ast.Slice: ("a slice", "write it in a subscript"),
}
