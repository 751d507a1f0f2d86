"""Calls that change nothing a region sees: those that print, and random numbers. They stay in their order.

    for (i = 0; i < n; i++) {           for i in 0..n:
        a[i] = rand() % 10;     ->          outside = i64(rand_1(outside)); a[i] = i32(outside) % 10
        printf("%d\\n", a[i]);               outside = i64(printf_1(outside, a[i]))
    }

Each reads and sets one number, `outside`, so that no schedule leaves one out, repeats it, or has two change places.
What is called is a macro of the new text, with the literals of the call in it:
`#define printf_1(w, a) (printf)("%d\\n", a)`.
"""

from __future__ import annotations

from clang.cindex import CursorKind, TokenKind, TypeKind

from polysched.frontend.c.calls import body_of
from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import Node, children, stripped
from polysched.frontend.c.file.names import key, variable
from polysched.frontend.c.file.source import Source
from polysched.frontend.c.types import converted, dtype_of
from polysched.ir.dtypes import i64
from polysched.ir.nodes import Alloc, Array, Call, Const, Expr, Load, Stmt, Store

_PRINT = ("printf", "fprintf", "puts", "putchar", "fputs", "fputc", "putc", "fflush")
_OTHERS = ("rand", "srand", "random", "srandom", "time", "clock", "sleep", "usleep")
_STREAMS = ("FILE *", "struct _IO_FILE *")
_LONG = (TypeKind.LONG, TypeKind.ULONG)


def is_outside(read: Expressions, call: Node) -> bool:
    """Is it a function of the C library that nothing in a region sees the effects of, and can it be called as here?"""
    function = call.referenced
    if function is None or function.kind != CursorKind.FUNCTION_DECL or body_of(function) is not None:
        return False
    is_known = function.spelling in (*_PRINT, *_OTHERS) and function.location.is_in_system_header
    result = dtype_of(call.type)
    is_number = call.type.get_canonical().kind == TypeKind.VOID or (result is not None and not result.is_float)
    return is_known and is_number and not _is_macro(read.source, function.spelling) and _text(read, call) is not None


def _is_macro(source: Source, name: str) -> bool:
    """Has the user a macro of that name?"""
    macros = (node for node in source.unit.cursor.get_children() if node.kind == CursorKind.MACRO_DEFINITION)
    return any(node.spelling == name and not node.location.is_in_system_header for node in macros)


def _text(read: Expressions, call: Node) -> tuple[str, list[Node]] | None:
    """The call as C, with {} for each number, and these; None if it is given something else."""
    texts, numbers = [], list[Node]()
    for argument in children(call)[1:]:
        inner = stripped(argument)
        if inner.kind == CursorKind.STRING_LITERAL and (literal := _literal(inner)) is not None:
            texts.append(literal)
        elif dtype_of(argument.type) is not None:
            numbers.append(argument)
            kind = argument.type.get_canonical()
            texts.append(f"({kind.spelling})({{}})" if kind.kind in _LONG else "({})")
        elif (stream := _stream(read, inner)) is not None:
            texts.append(stream)
        elif inner.kind == CursorKind.CSTYLE_CAST_EXPR and call.spelling == "time":  # of NULL
            texts.append("0")
        else:
            return None
    text = f"({call.referenced.spelling})({', '.join(texts)})"
    return f"({text}, 0LL)" if call.type.get_canonical().kind == TypeKind.VOID else text, numbers


def _literal(node: Node) -> str | None:
    tokens = list(node.get_tokens())
    try:
        words = [token.spelling for token in tokens]
    except UnicodeDecodeError:
        return None
    are_literals = all(token.kind == TokenKind.LITERAL for token in tokens) and all(word[-1:] == '"' for word in words)
    if not tokens or not are_literals:
        return None
    text = " ".join(words)
    return None if "\n" in text or not text.isprintable() else text.replace("{", "{{").replace("}", "}}")


def _stream(read: Expressions, node: Node) -> str | None:
    """A FILE * that the region does not change."""
    decl = variable(node)
    if decl is None or node.kind != CursorKind.DECL_REF_EXPR or node.type.spelling not in _STREAMS:
        return None
    is_fixed = key(decl) not in read.variables.written | read.variables.declared
    is_seen = decl.location.is_in_system_header or read.source.is_here(decl)
    return str(decl.spelling) if is_fixed and is_seen else None


def outside_call(read: Expressions, call: Node) -> tuple[Stmt, ...]:
    """The call; its value is that of `call` from then on."""
    loc, variables = read.source.loc(call), read.variables
    found = _text(read, call)
    assert found is not None, "is_outside says so"
    text, numbers = found
    if not read.outside:
        read.outside = variables.own("outside")
    world, dtype = read.outside, dtype_of(call.type)
    name = next((name for name, (_, known) in read.macros.items() if known == text), None)
    if name is None:
        name = variables.own(f"{call.referenced.spelling}_{len(read.macros) + 1}")
        read.macros[name] = len(numbers), text
    arguments = tuple(read.value(number) for number in numbers)
    value: Expr = Call(name, (Load(world, (), i64), *arguments), i64, pure=False)
    done: tuple[Stmt, ...] = (Store(world, (), value, loc),)
    read.results[call.hash] = Const(0)
    if dtype is not None:
        result = Array(variables.fresh(f"{call.referenced.spelling}_value"), dtype, (), "private")
        done = (Alloc(result, loc), *done, Store(result.name, (), converted(Load(world, (), i64), dtype), loc))
        read.results[call.hash] = Load(result.name, (), dtype)
    return done
