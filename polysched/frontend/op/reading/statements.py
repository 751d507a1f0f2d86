"""The statements of an operator's Python code, read in order: what names stand for, and what memory holds.

    y = x[1:]               y is a view of x
    y *= 2                  %x_1 = Update(%x, ...): the memory has a new value
    for k in range(3): ...  read three times
    soft = softmax(y)       the body of softmax, a function of the user's, in the place of the call

Loops over ranges of numbers are unrolled, an `if` on numbers and shapes is decided.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, name_of
from polysched.frontend.op.extents import shown
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy.functions import ARRAYS, IN_PLACE
from polysched.frontend.op.numpy.making import array
from polysched.frontend.op.numpy.operators import where
from polysched.frontend.op.reading.calls import Calls, bound_arguments, check_kept
from polysched.frontend.op.reading.expressions import Expressions, written
from polysched.frontend.op.reading.outside import Elsewhere, constant, definition_read, known_to
from polysched.frontend.op.reading.subscripts import assign_to_elements, element, is_gather, is_mask, mask_of, viewed
from polysched.frontend.python_expressions import SYMBOLS
from polysched.frontend.python_source import Source


class Statements:
    """Reads statements; `variables` is what the names stand for, and changes. `depth` counts the calls around."""

    def __init__(
        self,
        source: Source,
        emit: Emitter,
        variables: dict[str, Any],
        constants: Mapping[str, Any],
        depth: int = 0,
        in_library: bool = False,
    ):
        self.source, self.emit, self.variables = source, emit, variables
        self.depth, self.in_library = depth, in_library
        self.expressions = Expressions(source, emit, variables, constants, Calls(emit, self.inlined, in_library))
        self.leaving = ""  # "break", "continue" or "return" while the rest is skipped
        self.returned: tuple[ast.Return, Any] | None = None

    def block(self, nodes: Iterable[ast.stmt]) -> None:
        for node in nodes:
            if self.leaving:
                return
            self.emit.loc = self.source.loc(node)
            with self.source.at(node):
                self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Assign(targets=targets, value=value):
                new = self.expressions.value(value)
                for target in targets:
                    self.assign(target, new)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.expressions.value(value))
            case ast.AnnAssign(value=None):
                pass
            case ast.AugAssign(target=target, op=op, value=value):
                self.assign(target, self.expressions.value(value), SYMBOLS[type(op)])
            case ast.For():
                self.loop(node)
            case ast.If():
                self.block(node.body if self.expressions.truth(node.test) else node.orelse)
            case ast.Assert(test=test, msg=message):
                if not self.expressions.truth(test):
                    said = self.expressions.value(message) if message else ast.unparse(test)
                    raise self.source.error(node, f"the assertion does not hold: {said}", "pass what it asks for")
            case ast.Raise(exc=raised):
                raise self.source.error(node, self.message_of(raised), "the code raises this: pass what it can take")
            case ast.Return(value=value):
                self.returned = node, None if value is None else self.expressions.value(value)
                self.leaving = "return"
            case ast.Break() | ast.Continue():
                self.leaving = type(node).__name__.lower()
            case ast.Expr(value=ast.Call() as call):
                self.call(call)
            case ast.Expr(value=value):
                raise self.source.error(value, "this has no effect", "assign it to a name or a slice, or delete it")
            case _:
                name = type(node).__name__.lower()
                what, hint = _REFUSED.get(type(node), (f"a statement '{name}'", "write assignments, for and if"))
                raise self.source.error(node, f"{what} cannot be in an operator", hint)

    def message_of(self, raised: ast.expr | None) -> str:
        match raised:
            case ast.Call(args=[said, *_]):
                return str(self.expressions.value(said))
        return ast.unparse(raised) if raised else "an error"

    # --- assignment

    def assign(self, target: ast.expr, new: Any, op: str = "") -> None:
        """target = new, or target op= new: that changes arrays in place, and numbers not."""
        match target:
            case ast.Name(id=name):
                old = self.expressions.value(target) if op else None
                if isinstance(old, Ref) and not old.memory.is_number:
                    self.in_place(old, op, new, name)
                else:
                    self.bind(name, self.expressions.binary(op, old, new) if op else new)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                values = _spread(targets, list(self.expressions.entries(target, new)))
                if len(values) != len(targets):
                    message = f"{len(values)} values are assigned to {len(targets)} names"
                    raise self.source.error(target, message, "write one name for each value")
                for one, value in zip(targets, values, strict=True):
                    self.assign(one.value if isinstance(one, ast.Starred) else one, value)
            case ast.Subscript(value=ast.Name(id=name), slice=at) if isinstance(self.variables.get(name), tuple):
                entries = list(self.variables[name])
                place = self.expressions.value(at)
                if not (isinstance(place, int) and -len(entries) <= place < len(entries)):
                    raise self.source.error(at, f"there is no entry {place} among {len(entries)}", "count from 0")
                entries[place] = self.expressions.binary(op, entries[place], new) if op else new
                self.bind(name, tuple(entries))
            case ast.Subscript(value=base, slice=subscript):
                array = self.expressions.array(base)
                self.store(array, self.expressions.subscripts(subscript), written(subscript), new, op)
            case _:
                message = f"'{ast.unparse(target)}' cannot be assigned in an operator"
                raise self.source.error(target, message, "assign to a name, or to a slice of an array")

    def bind(self, name: str, new: Any) -> None:
        if isinstance(new, Ref) and not self.in_library:
            self.emit.call_it(new, name)
        self.variables[name] = new

    def store(self, array: Ref, subscripts: tuple[Any, ...], text: str, new: Any, op: str) -> None:
        if any(map(is_mask, subscripts)):
            chosen = mask_of(array, subscripts, self.expressions.operand(new))
            value = self.changed(array, op, new) if op else self.expressions.operand(new)
            self.overwrite(array, where(self.emit, chosen, value, array), "it")
        elif any(map(is_gather, subscripts)):
            old = element(self.emit, array, subscripts) if op else None
            value = self.changed(old, op, new) if old else self.expressions.operand(new)
            assign_to_elements(self.emit, array, subscripts, value)
        else:
            seen = viewed(array, subscripts, text)
            if op:
                self.in_place(seen, op, new, name_of(seen))
            else:
                self.overwrite(seen, new, name_of(seen))

    def overwrite(self, target: Ref, new: Any, what: str) -> None:
        value = self.emit.in_dtype(self.expressions.operand(new), target.dtype)
        self.emit.assign(target, self.emit.broadcast_to(value, target.shape, what))

    def in_place(self, target: Ref, op: str, operand: Any, what: str) -> None:
        new = self.changed(target, op, operand)
        if new.shape != target.shape:
            message = f"the result of shape {shown(new.shape)} does not fit in {what} of shape {shown(target.shape)}"
            raise InputError(message, None, "in place, the shape stays: write x = x + y for a new array")
        self.overwrite(target, new, what)

    def changed(self, old: Ref, op: str, operand: Any) -> Ref:
        """old op operand, of a dtype that goes into the array."""
        new: Ref = self.expressions.binary(op, old, operand)
        check_kept(old, new)
        return new

    # --- control

    def loop(self, node: ast.For) -> None:
        over = self.expressions.value(node.iter)
        if node.orelse:
            message = "an else after a for cannot be in an operator"
            raise self.source.error(node.orelse[0], message, "put it after the loop")
        for entry in self.expressions.entries(node.iter, over):
            self.assign(node.target, entry)
            self.block(node.body)
            if self.leaving == "continue":
                self.leaving = ""
            if self.leaving:
                break
        if self.leaving == "break":
            self.leaving = ""

    # --- calls

    def call(self, node: ast.Call) -> None:
        """A call whose value is not used: of what changes an array in place, or adds to a list."""
        match node.func, node.args:
            case ast.Attribute(value=ast.Attribute(attr=ufunc), attr="at"), [target, index, value]:
                array, indices = self.expressions.array(target), self.expressions.value(index)
                self.expressions.calls.combine_at(ufunc, array, indices, self.expressions.value(value))
            case ast.Attribute(value=ast.Name(id=name), attr="append"), [new] if isinstance(
                self.variables.get(name), tuple
            ):
                self.bind(name, (*self.variables[name], self.expressions.value(new)))
            case _ if self.has_effect(node):
                self.expressions.value(node)
            case _:
                message = f"the call of '{ast.unparse(node.func)}' has no effect"
                raise self.source.error(node, message, "assign its value, or delete it")

    def has_effect(self, node: ast.Call) -> bool:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        is_own = isinstance(self.expressions.constants.get(name), FunctionType)
        return name in IN_PLACE or is_own or any(one.arg == "out" for one in node.keywords)

    def inlined(
        self, function: FunctionType, args: tuple[Any, ...], keywords: Mapping[str, Any], is_library: bool
    ) -> Any:
        """What the body of a Python function gives; places in the library are that of the call."""
        if self.depth == _DEEPEST:
            raise InputError(f"'{function.__name__}' calls itself without end", None, "write a loop over a known range")
        source, definition = definition_read(function)
        if is_library:
            source = Elsewhere(source.filename, source.lines, source.first_line, self.emit.loc)
        bound = bound_arguments(function.__name__, function, args, keywords)
        variables = {name: constant(self.emit, name, value) for name, value in bound.items()}
        if is_library:
            for name in variables.keys() & ARRAYS:
                if isinstance(variables[name], tuple):
                    variables[name] = array(self.emit, variables[name])
        reader = Statements(source, self.emit, variables, known_to(function), self.depth + 1, is_library)
        loc = self.emit.loc
        reader.block(definition.body)
        self.emit.loc = loc
        return reader.returned[1] if reader.returned else None


def _spread(targets: Sequence[ast.expr], values: list[Any]) -> list[Any]:
    """The values, those for a starred name as one."""
    stars = [k for k, one in enumerate(targets) if isinstance(one, ast.Starred)]
    if not stars or len(values) < len(targets) - 1:
        return values
    first, after = stars[0], len(targets) - stars[0] - 1
    last = len(values) - after
    return [*values[:first], tuple(values[first:last]), *values[last:]]


_DEEPEST = 30
_REFUSED: dict[type[ast.stmt], tuple[str, str]] = {
    ast.While: ("a while loop", "write for i in range(4), with a number of iterations that is known"),
    ast.With: ("a with", "leave it around the call"),
    ast.Try: ("a try", "leave it around the call"),
    **dict.fromkeys((ast.Import, ast.ImportFrom), ("an import", "import at the top of the file")),
    ast.ClassDef: ("a class", "define it at the top of the file"),
    ast.FunctionDef: ("a function", "define it beside the operator, and call it"),
    ast.Delete: ("a del", "delete the line"),
    ast.Global: ("a global", "pass the value as a parameter"),
    ast.Nonlocal: ("a nonlocal", "pass the value as a parameter"),
    ast.Match: ("a match", "write if and elif"),
}
