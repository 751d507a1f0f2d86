"""From a plain Python function to a nest: the function is parsed, never run.

    @nest
    def seidel(a: f64["n", "n"], tsteps: size, n: size):      Function(name="seidel", sizes=("tsteps", "n"),
        for t in range(tsteps):                          ->            arrays=(Array("a", f64, (n, n)),),
            for i in range(1, n - 1):                                  body=(For("t", ...),), ...)
                a[i, i] += a[i - 1, i + 1]

Loops run over ranges with a constant step. `t = e` makes a scalar; its type is the common one of all that is assigned
to it, so that `s = 0` followed by `s += a[i]` is of a's dtype, as when Python runs it. `t = np.empty((n, n))` in front
of all loops makes an array (`python_signature.py`).
Annotations are read from the text too: the names of the types count, whatever they are imported from.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polysched.errors import Loc
from polysched.frontend.arithmetic import Type, Typed, binary, common, converted
from polysched.frontend.python_expressions import SYMBOLS, Expressions, Scope
from polysched.frontend.python_signature import is_made, local_arrays, misplaced, signature
from polysched.frontend.python_source import Source, Travelling, defaults_of, definition_in, definition_of
from polysched.frontend.temporaries import declare
from polysched.ir.nodes import Alloc, Array, Const, Expr, For, Function, If, Stmt, Store, Var
from polysched.ir.text import head
from polysched.ir.verify import verify
from polysched.support.brief import brief
from polysched.support.entry import entry


@dataclass(frozen=True)
class Nest(Travelling):
    """A loop nest, and the Python function that it was read from; calling it runs the latter, as a reference."""

    function: Function
    python: Callable[..., Any] = field(compare=False)

    def __repr__(self) -> str:
        return brief(self, head(self.function))

    @property
    def name(self) -> str:
        return self.function.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.python(*args, **kwargs)


@entry
def nest(function: Callable[..., Any]) -> Nest:
    """The nest that a function with annotated parameters spells out; a decorator.

    InputError with the place of what a nest cannot have, or if the source of the function is not available.
    """
    return Nest(_function(*definition_of(function), defaults_of(function)), function)


def parse_nest(source: str, filename: str, first_line: int = 1) -> Function:
    """The nest in a text that defines one function; `first_line` is the number of the text's first line."""
    return _function(*definition_in(source, filename, first_line))


def _function(source: Source, definition: ast.FunctionDef, defaults: Mapping[str, Any] | None = None) -> Function:
    params, scope = signature(source, definition, defaults)
    body, made = local_arrays(source, scope, _without_docstring_and_return(definition.body))
    scope.arrays |= {array.name: array for array in made}
    loops = (node.target for stmt in body for node in ast.walk(stmt) if isinstance(node, ast.For))
    scope.all_loops = frozenset(target.id for target in loops if isinstance(target, ast.Name))
    scope.temporaries = _assigned(body) - set(params)
    statements, types = _typed(source, scope, body)
    temporaries = [Array(name, types[name].dtype, (), "private") for name in sorted(types)]
    taken = {*params, *scope.all_loops, *types, *scope.arrays}
    function = Function(
        definition.name,
        scope.sizes,
        tuple(array for array in scope.arrays.values() if array not in made),
        (*map(Alloc, made), *declare(statements, temporaries, taken)),
        tuple(Var(name, dtype) for name, dtype in scope.scalars.items()),
        params,
        source.loc(definition),
        tuple(scope.defaults.items()),
    )
    verify(function, "source")
    return function


def _typed(source: Source, scope: Scope, body: Sequence[ast.stmt]) -> tuple[tuple[Stmt, ...], dict[str, Type]]:
    """The statements, and the types of the scalars they assign: the least ones that hold all that is assigned.

    A scalar may be read above the assignment that gives it its type, one of an earlier iteration; hence the repetition.
    It ends because types only grow, and there are finitely many.
    """
    types: dict[str, Type] = {}
    while True:
        reader = _Statements(source, replace(scope, types=dict(types)))
        statements = reader.block(body)
        if reader.scope.types == types:
            return statements, types
        types = reader.scope.types


def _without_docstring_and_return(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    match body[0]:
        case ast.Expr(value=ast.Constant(value=str())):
            body = body[1:]
    if body and isinstance(body[-1], ast.Return) and body[-1].value is None:
        body = body[:-1]
    return body


def _assigned(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Names that the statements assign, by = or an operator such as +=."""
    found: set[str] = set()
    for node in (node for stmt in body for node in ast.walk(stmt)):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


class _Statements:
    """Reads statements one after the other; the scope follows."""

    def __init__(self, source: Source, scope: Scope):
        self.source, self.scope = source, scope
        self.expressions = Expressions(source, scope)

    def block(self, nodes: Iterable[ast.stmt]) -> tuple[Stmt, ...]:
        return tuple(stmt for node in nodes for stmt in self.statement(node))

    def statement(self, node: ast.stmt) -> tuple[Stmt, ...]:
        match node:
            case ast.Pass():
                return ()
            case ast.For():
                return (self.loop(node),)
            case ast.If():
                return (self.branch(node),)
            case ast.Assign(targets=[ast.Name()], value=ast.Call() as call) if is_made(call):
                raise misplaced(self.source, call)
            case ast.Assign(targets=[target], value=value):
                self.check_target(target)
                with self.source.at(value):
                    return (self.store(target, self.expressions.value(value), self.source.loc(node)),)
            case ast.Assign(targets=[_, second, *_]):
                hint = "assign each on a line of its own"
                raise self.source.error(second, "a chain of assignments cannot be in a nest", hint)
            case ast.AugAssign(target=target, op=op, value=value):
                self.check_target(target)
                before, operand = self.expressions.value(target), self.expressions.value(value)
                with self.source.at(node):
                    return (self.store(target, binary(SYMBOLS[type(op)], before, operand), self.source.loc(node)),)
            case ast.Expr(value=ast.Call() as call):
                message = f"the call of '{ast.unparse(call.func)}' may read or write any memory"
                raise self.source.error(node, message, "leave only loops, branches and assignments in the nest")
            case ast.Expr(value=value):
                raise self.source.error(value, "this has no effect", "assign it to an array element, or delete it")
        name = type(node).__name__.lower()
        what, hint = _REFUSED.get(type(node), (f"a statement '{name}'", "a nest has loops, branches and assignments"))
        raise self.source.error(node, f"{what} cannot be in a nest", hint)

    def loop(self, node: ast.For) -> For:
        var = self.loop_variable(node.target)
        lo, hi, step = self.bounds(node.iter)
        if node.orelse:
            raise self.source.error(node.orelse[0], "an else after a for cannot be in a nest", "put it after the loop")
        outside = self.scope.loops
        self.scope.loops = (*outside, var)
        # An earlier iteration may have assigned anything that the body assigns.
        self.scope.written |= _assigned(node.body)
        body = self.block(node.body)
        self.scope.loops = outside
        return For(var, lo, hi, step, body, loc=self.source.loc(node))

    def loop_variable(self, target: ast.expr) -> str:
        if not isinstance(target, ast.Name):
            message = f"'{ast.unparse(target)}' is not one loop variable"
            raise self.source.error(target, message, "write one name, as in: for i in range(n)")
        name, scope = target.id, self.scope
        if name in scope.loops:
            raise self.source.error(target, f"an outer loop has the variable '{name}' too", "rename one of them")
        if name in (*scope.sizes, *scope.scalars, *scope.arrays):
            message = f"the loop variable '{name}' is an array or parameter too"
            raise self.source.error(target, message, "rename one of them")
        return name

    def bounds(self, node: ast.expr) -> tuple[Expr, Expr, int]:
        match node:
            case ast.Call(func=ast.Name(id="range"), args=[_] | [_, _] | [_, _, _] as args, keywords=[]):
                step = self.step(args[2]) if len(args) == 3 else 1
                bounds = [self.expressions.integer(bound, "a bound of a loop") for bound in args[:2]]
                return Const(0) if len(bounds) == 1 else bounds[0], bounds[-1], step
        message = f"a loop runs over a range, not over '{ast.unparse(node)}'"
        raise self.source.error(node, message, "write range(n), range(lo, hi) or range(lo, hi, step)")

    def step(self, node: ast.expr) -> int:
        match self.expressions.integer(node, "the step of a loop"):
            case Const(int(step)) if step != 0:
                return step
        message = f"the step of a loop must be a constant other than zero, not '{ast.unparse(node)}'"
        raise self.source.error(node, message, "write a number; for a step of s, loop over k and use lo + s * k")

    def branch(self, node: ast.If) -> If:
        cond = self.expressions.condition(node.test)
        before = self.scope.written
        then, after_then = self.block(node.body), self.scope.written
        self.scope.written = before
        other = self.block(node.orelse)
        self.scope.written |= after_then
        return If(cond, then, other, self.source.loc(node))

    def check_target(self, target: ast.expr) -> None:
        scope = self.scope
        match target:
            case ast.Subscript():
                return
            case ast.Name(id=name) if name in scope.arrays:
                problem = f"the whole array '{name}' is assigned", "assign its elements in a loop"
            case ast.Name(id=name) if name in (*scope.sizes, *scope.scalars):
                result = f", or {name}[0] of an array of one element, as in {name}: ps.f64[1]"
                hint = f"assign another name{result if name in scope.scalars else ''}"
                problem = f"the parameter '{name}' is assigned, and parameters are read-only", hint
            case ast.Name(id=name) if name in scope.loops:
                what = f"the loop variable '{name}' is changed in the body of its loop"
                problem = what, "change the range of the loop"
            case ast.Name(id=name) if name in scope.all_loops:
                problem = f"the loop variable '{name}' is assigned outside of its loop", "assign another name"
            case ast.Name():
                return
            case ast.Tuple() | ast.List():
                what = "several targets of one assignment cannot be in a nest"
                problem = what, "assign each on a line of its own"
            case _:
                what = f"'{ast.unparse(target)}' cannot be assigned in a nest"
                problem = what, "assign to an array element or to a name"
        raise self.source.error(target, *problem)

    def store(self, target: ast.expr, value: Typed, loc: Loc) -> Store:
        """The value goes to the target in the target's dtype."""
        if isinstance(target, ast.Subscript):
            array, index = self.expressions.element(target)
            return Store(array.name, index, converted(value, array.dtype), loc)
        assert isinstance(target, ast.Name), "check_target refuses the rest"
        name, types = target.id, self.scope.types
        types[name] = common(types[name], value.type) if name in types else value.type
        self.scope.written |= {name}
        return Store(name, (), converted(value, types[name].dtype), loc)


_REFUSED: dict[type[ast.stmt], tuple[str, str]] = {
    ast.While: ("a while loop", "write for i in range(n), with the number of iterations known before"),
    ast.Break: ("break", "store that it is found, and test that in an if around the body"),
    ast.Continue: ("continue", "guard the rest of the body with an if"),
    ast.Return: ("a return inside, or with a value,", "store the result in an array parameter"),
    ast.With: ("a with", "leave it around the call of the nest"),
    ast.Try: ("a try", "leave it around the call of the nest"),
    ast.Raise: ("a raise", "check before the call of the nest"),
    ast.Assert: ("an assert", "check before the call of the nest"),
    **dict.fromkeys((ast.Import, ast.ImportFrom), ("an import", "import at the top of the file")),
    ast.ClassDef: ("a class", "define it at the top of the file"),
    ast.FunctionDef: ("a function", "write its body where it is called"),
    ast.AnnAssign: ("an annotated assignment", "convert the value, as in t = ps.f32(0)"),
    ast.Delete: ("a del", "delete the line"),
    ast.Global: ("a global", "pass the value as a parameter"),
    ast.Nonlocal: ("a nonlocal", "pass the value as a parameter"),
    ast.Match: ("a match", "write if and elif"),
}
