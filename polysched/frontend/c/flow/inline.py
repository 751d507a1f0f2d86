"""Calls of functions whose text is there: the text in place of the call, with its parameters as variables or places.

    void axpy(int n, double a, double *x, double *y)        a_2 = t * 2
    {                                                       for k in 0..m:
        for (int k = 0; k < n; k++) y[k] += a * x[k];  ->       B[i, k] = B[i, k] + a_2 * A[i, k]
    }
    ... axpy(m, t * 2, A[i], B[i]);

A pointer stands for the place that it is given, so that what is the same array stays the same; a number that is a sum
of loop variables and parameters stands for itself, and any other is copied. What a call in an expression does comes
before the statement: it may write nothing then but variables of its own, and has to be called in any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from clang.cindex import CursorKind, TypeKind

from polysched.errors import InputError
from polysched.frontend.c.calls import body_of, only_computes
from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import (
    Node,
    bare,
    children,
    is_integer,
    operands,
    operator,
    stripped,
    unary_operator,
    walk,
)
from polysched.frontend.c.file.names import Decl, Field, Member, copied, key, root, set_by, variable
from polysched.frontend.c.file.source import Source, read
from polysched.frontend.c.flow.exits import Exits, without
from polysched.frontend.c.flow.outside import is_outside, outside_call
from polysched.frontend.c.types import converted, dtype_of
from polysched.frontend.c.variables import Variables, is_array
from polysched.ir.dtypes import boolean, i32
from polysched.ir.node import loaded, stored
from polysched.ir.nodes import Alloc, Array, Const, Load, Stmt, Store

_MOST_NODES = 4000  # of a function that is taken in, and of those that it takes in
_DEEPEST = 6  # calls in functions that are taken in
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+(omp|acc)\b", re.MULTILINE)
_UNEVALUATED = (CursorKind.CXX_UNARY_EXPR,)  # sizeof


class Reader(Protocol):
    """What reads the statements around a call, and those of the function that is called."""

    read: Expressions
    source: Source
    variables: Variables
    regions: tuple[Node, ...]
    exits: Exits
    inside: list[str]

    def block(self, nodes: Iterable[Node]) -> tuple[Stmt, ...]: ...


def calls_of(read: Expressions, node: Node) -> Iterator[Node]:
    """The calls of a statement that are made in any case and whose text has to be taken in, inner ones first."""
    if node.kind == CursorKind.IF_STMT:
        node = children(node)[0]
    elif node.kind == CursorKind.PAREN_EXPR or not node.kind.is_expression():
        return
    if operator(node) == ",":
        return
    yield from _calls(read, node)


def _calls(read: Expressions, node: Node) -> Iterator[Node]:
    if node.kind in _UNEVALUATED or node.kind == CursorKind.StmtExpr:
        return
    below = operands(node)
    if operator(node) in ("&&", "||") or node.kind == CursorKind.CONDITIONAL_OPERATOR:
        below = below[:1]
    for child in below:
        yield from _calls(read, child)
    if node.kind == CursorKind.CALL_EXPR and (_is_taken_in(read, node) or is_outside(read, node)):
        yield node


def _is_taken_in(read: Expressions, call: Node) -> bool:
    function = call.referenced
    if function is None or function.kind != CursorKind.FUNCTION_DECL or function.spelling in read.pure:
        return False
    body = body_of(function)
    is_variadic = function.type.kind == TypeKind.FUNCTIONPROTO and function.type.is_function_variadic()
    if body is None or is_variadic:
        return False
    numbers = all(dtype_of(argument.type) is not None for argument in children(call)[1:])
    statements = children(body)
    is_value = len(statements) == 1 and statements[0].kind == CursorKind.RETURN_STMT
    is_value = is_value and not any(True for _ in _calls(read, statements[0]))
    if not (numbers and dtype_of(call.type)):
        return True
    return not (is_value or only_computes(function, body, frozenset({key(function)})))


def bodies_in(nodes: Sequence[Node]) -> list[Node]:
    """The definitions of the functions that are called, directly or not, and whose text is there."""
    found: dict[int, Node] = {}
    new = list(nodes)
    while new:
        for node in walk(new.pop()):
            function = node.referenced if node.kind == CursorKind.CALL_EXPR else None
            if function is None or function.kind != CursorKind.FUNCTION_DECL or body_of(function) is None:
                continue
            definition = function.get_definition()
            if definition.hash not in found:
                found[definition.hash] = definition
                new.append(definition)
    return list(found.values())


def inlined(statements: Reader, call: Node, statement: Node) -> tuple[Stmt, ...]:
    """What the call does; its value is that of `call` from then on. InputError if it cannot be taken in."""
    read, source, variables = statements.read, statements.source, statements.variables
    if is_outside(read, call):
        return outside_call(read, call)
    function, body, loc = call.referenced, body_of(call.referenced), source.loc(call)
    assert body is not None, "its text is there"
    name = function.spelling
    if name in statements.inside or len(statements.inside) >= _DEEPEST:
        raise source.error(call, f"'{name}' calls itself, or too deep", f"declare it pure with --pure {name}")
    if sum(1 for _ in walk(body)) > _MOST_NODES or _has_directives(source, function):
        message = f"'{name}' is too long to be taken in, or has directives"
        raise source.error(call, message, f"declare it pure with --pure {name}")
    parameters = [c for c in children(function.get_definition()) if c.kind == CursorKind.PARM_DECL]
    passed = children(call)[1:]
    if len(parameters) != len(passed):
        raise source.error(call, f"'{name}' has {len(parameters)} parameters", "give it as many arguments")
    bindings, pointers, exits = dict(variables.bindings), dict(read.pointers), statements.exits
    arguments, read.arguments = read.arguments, {}
    pairs = list(zip(parameters, passed, strict=True))
    copies = {key(to): _copied(statements, of, to) for to, of in pairs if _is_structure(to)}
    before = [stmt for to, of in pairs if not _is_structure(to) for stmt in _passed(statements, to, of)]
    dtype = dtype_of(function.type.get_result())
    if dtype is None and function.type.get_result().get_canonical().kind != TypeKind.VOID:
        raise source.error(call, f"'{name}' returns no number", "write what the function does in place of the call")
    back = variables.fresh("returned")
    result = Array(variables.fresh(f"{name}_value"), dtype, (), "private") if dtype else None
    statements.exits = Exits(back=back, result=result.name if result else None)
    statements.inside.append(name)
    with copied(copies):
        inner = statements.block([body])
    statements.inside.pop()
    statements.exits, read.pointers, variables.bindings, read.arguments = exits, pointers, bindings, arguments
    if back in loaded(inner):
        flag = Alloc(Array(back, boolean, (), "private"), loc), Store(back, (), Const(True, boolean), loc)
        inner = (*flag, *inner)
    else:
        inner = without(inner, back)
    writes = {array for array in stored(inner) if array in read.arrays and not _is_own(statements, array)}
    if writes and not _is_alone(call, statement):
        message = f"'{name}' writes '{min(writes)}', and is called in an expression"
        raise source.error(call, message, "assign what it returns to a variable")
    read.results[call.hash] = Load(result.name, (), result.dtype) if result else Const(0, i32)
    return (*([Alloc(result, loc)] if result else []), *before, *inner)


def _is_own(statements: Reader, array: str) -> bool:
    decl = statements.variables.decls.get(array)
    return decl is None or (key(decl) in statements.variables.declared and not statements.variables.is_exposed(decl))


def _is_alone(call: Node, statement: Node) -> bool:
    """Is the call all of the statement, or all that is assigned to a variable?"""
    node = stripped(statement)
    if operator(node) == "=":
        target, node = children(node)
        if bare(target).kind != CursorKind.DECL_REF_EXPR:
            return False
    while node.kind in (CursorKind.CSTYLE_CAST_EXPR, CursorKind.PAREN_EXPR, CursorKind.UNEXPOSED_EXPR):
        (node,) = operands(node)
    return node == call


def _has_directives(source: Source, function: Node) -> bool:
    definition = function.get_definition()
    extent = definition.extent
    data = source.data if source.is_here(definition) else read(extent.start.file.name)
    return _DIRECTIVE.search(data, extent.start.offset, extent.end.offset) is not None


def _is_structure(parameter: Node) -> bool:
    return bool(parameter.type.get_canonical().kind == TypeKind.RECORD)


def _copied(statements: Reader, argument: Node, parameter: Node) -> Decl:
    """The structure that is given, where neither it nor the copy changes in the region."""
    decl = variable(argument)
    if decl is None or isinstance(decl, Field):
        raise _refused(statements, argument, parameter, "is no structure that is a variable")
    nodes = (*statements.regions, parameter.semantic_parent.get_definition())
    addressed = (children(part)[0] for node in nodes for part in walk(node) if unary_operator(part) == "&")
    changed = (set_by(part) for node in nodes for part in walk(node))
    for part in (*changed, *map(_of_structure, addressed)):
        if part is not None and key(root(part)) in (key(parameter), key(root(decl))):
            raise _refused(statements, argument, parameter, "is a structure that the region may change")
    return decl


def _of_structure(node: Node) -> Decl | None:
    decl = variable(node)
    is_inside = decl is not None and (isinstance(decl, Member) or decl.type.get_canonical().kind == TypeKind.RECORD)
    return decl if is_inside else None


def _passed(statements: Reader, parameter: Node, argument: Node) -> tuple[Stmt, ...]:
    """What is done for a parameter to have its value."""
    read, variables, loc = statements.read, statements.variables, statements.source.loc(argument)
    if is_array(parameter):
        if key(parameter) in variables.written:
            raise _refused(statements, argument, parameter, "changes")
        read.point(parameter, argument)
        return ()
    dtype = dtype_of(parameter.type)
    if dtype is None or dtype_of(argument.type) is None or parameter.type.get_canonical().is_volatile_qualified():
        raise _refused(statements, argument, parameter, "is no number")
    is_old = parameter.semantic_parent.type.kind == TypeKind.FUNCTIONNOPROTO
    if is_old and dtype_of(argument.type) != dtype:
        raise _refused(statements, argument, parameter, "is given a number of another type")
    is_fixed = is_integer(argument) and key(parameter) not in variables.written | variables.exposed
    if is_fixed and (exact := read.shown_or_none(argument)) is not None:
        variables.bindings[key(parameter)] = exact
        return ()
    value = converted(read.value(argument), dtype)
    return (Store(read.scalar(parameter, dtype).name, (), value, loc),)


def _refused(statements: Reader, argument: Node, parameter: Node, why: str) -> InputError:
    message = f"the parameter '{parameter.spelling}' of '{parameter.semantic_parent.spelling}' {why}"
    return statements.source.error(argument, message, "write what the function does in place of the call")

