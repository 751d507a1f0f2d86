"""From Python's expressions to values: arrays become operations of the graph, the rest is computed while reading.

x.shape[0] // 2         an extent, N // 2
[w / 2, h / 2]          a tuple of two arrays
np.exp(x) * w           %v0 = UnaryType::Exp(%x), %v1 = BinaryType::Mul(%v0, %w)
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, Operand, shape_of
from polysched.frontend.op.extents import normal, shown
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy import operators
from polysched.frontend.op.numpy.passed import DTYPES
from polysched.frontend.op.reading import known
from polysched.frontend.op.reading.calls import Calls
from polysched.frontend.op.reading.outside import CONSTANTS, attribute, constant
from polysched.frontend.op.reading.subscripts import element
from polysched.frontend.python_expressions import COMPARISONS, SYMBOLS
from polysched.frontend.python_source import Source
from polysched.ir.nodes import Const, Expr, Unary


@dataclass
class Expressions:
    """Reads expressions; `variables` is what the names stand for, and changes as statements are read."""

    source: Source
    emit: Emitter
    variables: Mapping[str, Any]
    constants: Mapping[str, Any]
    calls: Calls

    def value(self, node: ast.expr) -> Any:
        with self.source.at(node):
            return self.value_of(node)

    def value_of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.Constant(value=value) if value is Ellipsis:
                return value
            case ast.JoinedStr(values=parts):
                return "".join(str(self.value(part)) for part in parts)
            case ast.FormattedValue(value=value):
                return self.value(value)
            case ast.Name(id=name):
                return self.name(name)
            case ast.Tuple(elts=entries) | ast.List(elts=entries):
                return self.several(entries)
            case ast.ListComp(elt=elt, generators=several) | ast.GeneratorExp(elt=elt, generators=several):
                return tuple(self.comprehension(elt, several))
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript(value=base, slice=subscript):
                return self.subscript(self.value(base), subscript)
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, self.value(operand), operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(SYMBOLS[type(op)], self.value(left), self.value(right))
            case ast.BoolOp(op=op, values=values):
                return self.first_that_decides(values, isinstance(op, ast.Or))
            case ast.Compare():
                return self.comparison(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                cond = self.value(test)
                if isinstance(cond, Ref) and not cond.rank:
                    return self.chosen(cond, self.operand(self.value(body)), self.operand(self.value(orelse)))
                return self.value(body if self.truth_of(test, cond) else orelse)
            case ast.Call():
                return self.call(node)
        what, hint = _REFUSED.get(type(node), (f"'{ast.unparse(node)}'", "write it with arrays and numbers"))
        raise InputError(f"{what} cannot be in an operator", None, hint)

    def chosen(self, cond: Ref, then: Operand, other: Operand) -> Ref:
        """then if cond else other, which must have one shape."""
        if shape_of(then) != shape_of(other):
            shapes = f"{shown(shape_of(then))} or {shown(shape_of(other))}"
            raise InputError(f"the shape of this is {shapes}, as data decide", None, "give both the same shape")
        return operators.where(self.emit, cond, then, other)

    def first_that_decides(self, nodes: list[ast.expr], truth: bool) -> Any:
        """What `and` and `or` give: the first value that has this truth, else the last."""
        for node in nodes[:-1]:
            value = self.value(node)
            if self.truth_of(node, value) == truth:
                return value
        return self.value(nodes[-1])

    def name(self, name: str) -> Any:
        if name in self.variables:
            return self.variables[name]
        if name in self.constants:
            return constant(self.emit, name, self.constants[name])
        if name in known.FUNCTIONS:
            return known.FUNCTIONS[name]
        hint = f'assign it first, or make it a parameter: {name}: ps.f32["n"]'
        raise InputError(f"'{name}' is not known", None, hint)

    def several(self, nodes: list[ast.expr]) -> tuple[Any, ...]:
        return tuple(entry for node in nodes for entry in self.written_out(node))

    def comprehension(self, elt: ast.expr, generators: list[ast.comprehension]) -> Iterator[Any]:
        first, *inner = generators
        before = self.variables
        for entry in self.entries(first.iter, self.value(first.iter)):
            self.variables = {**before, **self.named(first.target, entry)}
            if all(self.truth(cond) for cond in first.ifs):
                yield from self.comprehension(elt, inner) if inner else [self.value(elt)]
        self.variables = before

    def named(self, target: ast.expr, value: Any) -> dict[str, Any]:
        """The names of a comprehension's target."""
        match target:
            case ast.Name(id=name):
                return {name: value}
            case ast.Tuple(elts=targets) if isinstance(value, tuple) and len(value) == len(targets):
                pairs = zip(targets, value, strict=True)
                return {name: found for one, each in pairs for name, found in self.named(one, each).items()}
        message = "a comprehension of that form cannot be in an operator"
        raise self.source.error(target, message, "write [e for i in range(4)]")

    def entries(self, node: ast.AST, value: Any) -> Iterator[Any]:
        with self.source.at(node):
            return self.calls.entries(value)

    # --- arrays

    def array(self, node: ast.expr) -> Ref:
        value = self.value(node)
        if isinstance(value, Ref):
            return value
        raise self.source.error(node, f"'{ast.unparse(node)}' is no array", "elements of arrays alone can be assigned")

    def operand(self, value: Any) -> Operand:
        return self.calls.operand(value)

    def subscript(self, base: Any, node: ast.expr) -> Any:
        given = self.subscripts(node)
        match base:
            case Ref():
                return element(self.emit, base, given, written(node) if _is_plain(node) else None)
            case tuple() | range() if len(given) == 1 and isinstance(given[0], int | slice):
                try:
                    found = base[given[0]]
                except IndexError:
                    raise InputError(f"there is no entry {given[0]} among {len(base)}", None, "count from 0") from None
                return tuple(found) if isinstance(found, range) else found
        raise InputError(f"{known.described(base)} has no such elements", None, "arrays and tuples have")

    def subscripts(self, node: ast.expr) -> tuple[Any, ...]:
        """The entries of a subscript: a list is an array of indices, and a tuple by a name several subscripts."""
        if isinstance(node, ast.Tuple):
            return self.several(node.elts)
        value = self.slice(node) if isinstance(node, ast.Slice) else self.value(node)
        return value if isinstance(value, tuple) and not isinstance(node, ast.List) else (value,)

    def written_out(self, node: ast.expr) -> Iterator[Any]:
        """What one entry of a tuple or a subscript stands for."""
        match node:
            case ast.Slice():
                yield self.slice(node)
            case ast.Starred(value=several):
                yield from self.entries(node, self.value(several))
            case _:
                yield self.value(node)

    def slice(self, node: ast.Slice) -> slice:
        bounds = [None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)]
        for bound in bounds:
            if not isinstance(bound, int | Expr | None):
                raise InputError("a bound of a slice must be a number or a size", None, "it cannot depend on data")
        return slice(*bounds)

    # --- operators

    def unary(self, op: ast.unaryop, value: Any, node: ast.expr) -> Any:
        match op, value:
            case ast.Not(), _:
                return not self.truth_of(node, value)
            case ast.USub(), Expr():
                return normal(Unary("-", value))
            case ast.USub() | ast.UAdd() | ast.Invert(), Ref():
                return operators.unary(self.emit, _UNARY[type(op)][0], value)
            case ast.USub() | ast.UAdd() | ast.Invert(), bool() | int() | float():
                return _UNARY[type(op)][1](value)
        raise InputError(f"{known.described(value)} has no such operator", None, "write it with arrays and numbers")

    def binary(self, op: str, left: Any, right: Any) -> Any:
        if op == "@":
            return self.calls.function("@", "matmul", (left, right), {}, any_name=False)
        has_size = isinstance(left, Expr) or isinstance(right, Expr)
        is_size = op in known.OF_SIZES and isinstance(left, Expr | int) and isinstance(right, Expr | int)
        if isinstance(left, Ref) or isinstance(right, Ref) or (has_size and not is_size):
            return operators.binary(self.emit, op, self.operand(left), self.operand(right))
        return known.computed(op, left, right)

    def comparison(self, node: ast.Compare) -> Any:
        operands = [self.value(one) for one in (node.left, *node.comparators)]
        is_of_data = any(isinstance(one, Ref) for one in operands)
        if is_of_data and not any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            if len(node.ops) > 1 or type(node.ops[0]) not in COMPARISONS:
                message = "a chain of comparisons of arrays has no value in NumPy"
                raise InputError(message, None, "write (a < b) & (b < c)")
            left, right = map(self.operand, operands)
            return operators.compared(self.emit, COMPARISONS[type(node.ops[0])], left, right)
        pairs = zip(node.ops, operands[:-1], operands[1:], strict=True)
        return all(self.compared(op, left, right) for op, left, right in pairs)

    def compared(self, op: ast.cmpop, left: Any, right: Any) -> bool:
        match op:
            case ast.Is() | ast.IsNot():
                return (left is right) == isinstance(op, ast.Is)
            case ast.In() | ast.NotIn():
                return any(known.compared("==", left, one) for one in right) == isinstance(op, ast.In)
        return known.compared(COMPARISONS[type(op)], left, right)

    def truth(self, node: ast.expr) -> bool:
        """Whether a condition holds, which must be known while the code is read."""
        return self.truth_of(node, self.value(node))

    def truth_of(self, node: ast.expr, value: Any) -> bool:
        match value:
            case Ref():
                raise self.source.error(node, f"'{ast.unparse(node)}' depends on data", "write np.where(cond, x, y)")
            case Const(found):
                return bool(found)
            case Expr():
                return self.compared(ast.NotEq(), value, 0)
        return bool(value)

    # --- attributes and calls

    def attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id not in self.variables:
            if node.attr in CONSTANTS:
                return CONSTANTS[node.attr]
            if node.attr in DTYPES:
                return DTYPES[node.attr]
            if node.value.id not in self.constants:
                message = f"'{ast.unparse(node)}' is no value that an operator knows"
                raise InputError(message, None, "there are dtypes, functions to call, and np.pi, e, inf, nan, newaxis")
        return attribute(self.emit, self.value(node.value), node.attr, ast.unparse(node))

    def call(self, node: ast.Call) -> Any:
        args = self.several(node.args)
        keywords = {one.arg: self.value(one.value) for one in node.keywords if one.arg is not None}
        if len(keywords) < len(node.keywords):
            raise InputError("** cannot be in an operator", None, "write the arguments one by one")
        calls, func = self.calls, node.func
        users = self.variables.get(func.id, self.constants.get(func.id)) if isinstance(func, ast.Name) else None
        if isinstance(users, FunctionType):
            return calls.inline(users, args, keywords, False)
        match func:
            case ast.Name(id=name) if name not in self.variables:
                if name in known.FUNCTIONS:
                    return calls.of_python(name, args, keywords)
                return calls.function(name, name, args, keywords, any_name=True)
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if "math" not in self.variables:
                return calls.of_math(name, args)
            case ast.Attribute(value=ast.Name(id=module) as base, attr=name) if self.is_module(base):
                return calls.function(f"{module}.{name}", name, args, keywords, any_name=False)
            case ast.Attribute(value=ast.Attribute(attr=ufunc) as base, attr=name) if self.is_module(base):
                if name in ("reduce", "accumulate", "outer"):
                    return calls.of_ufunc(ast.unparse(func), ufunc, name, args, keywords)
                return calls.function(ast.unparse(func), name, args, keywords, any_name=False)
            case ast.Attribute(value=base, attr=name):
                return calls.method(self.array(base), name, args, keywords)
        raise InputError(f"'{ast.unparse(func)}' is not a function", None, "call one by name, as in np.exp(x)")

    def is_module(self, node: ast.expr) -> bool:
        """Does a chain of attributes start with a name that stands for no value?"""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self.variables and node.id not in self.constants


def written(subscript: ast.expr) -> str:
    """A subscript as in the code, without brackets."""
    nodes = subscript.elts if isinstance(subscript, ast.Tuple) else [subscript]
    return ", ".join(map(ast.unparse, nodes))


def _is_plain(subscript: ast.expr) -> bool:
    """Does the text say which elements are meant, without the values of names?"""
    return not any(isinstance(node, ast.Starred | ast.Call) for node in ast.walk(subscript))


_UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("-", operator.neg),
    ast.UAdd: ("+", operator.pos),
    ast.Invert: ("~", operator.invert),
}
_REFUSED: dict[type[ast.expr], tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write the expression where it is used"),
    **dict.fromkeys((ast.Set, ast.SetComp), ("a set", "use a tuple")),
    **dict.fromkeys((ast.Dict, ast.DictComp), ("a dict", "use a tuple")),
    ast.NamedExpr: ("an assignment inside of an expression", "assign on a line of its own"),
    ast.Slice: ("a slice", "write it in a subscript"),
}
