"""Statements that a nest cannot say, as calls of macros that hold their text.

    for (i = 0; i < n; i++) {                   for i in 0..n:
        layer l = net->layers[i];                   world = statement_1(world, i)     l = net->layers[i]
        l.forward(l, net);              ->          world = statement_2(world, i)     l.forward(l, net)
        s += x[i];                                  s = s + x[i]
    }

Each reads and sets one number, as calls that print do (`flow/outside.py`), so that all stay in their order; what memory
they may touch is said at last, when all arrays of the region are known (`touched.py`). Numbers of the region are given
to the macro, which has variables of their names, and read back from it. Anything else that the region declares and such
a text names is declared by the new text in front of the loops, and then only such texts may name it: it is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clang.cindex import CursorKind, StorageClass, Type, TypeKind

from polysched.errors import InputError, Loc
from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import Node, children, has_attributes, initialiser, walk
from polysched.frontend.c.file.names import Decl, key, mentions, set_by
from polysched.frontend.c.opaque.state import Kept, Opaque
from polysched.frontend.c.opaque.text import text_of
from polysched.frontend.c.types import converted, dtype_of
from polysched.ir.dtypes import DType, boolean, i64
from polysched.ir.nodes import Alloc, Array, Binary, Call, Const, Expr, Load, Stmt, Store

_UNNAMED = ("unnamed", "anonymous")  # as clang spells a type that has no name
_VARIABLE = re.compile(r"\[(?!\d+\])")  # an extent that a number tells, perhaps behind a pointer


def statement(read: Expressions, node: Node, why: InputError) -> tuple[Stmt, ...]:
    """A statement as its text; `why` if it cannot be that."""
    return _call(read, node, _Form(), why)


def condition(read: Expressions, node: Node, why: InputError) -> tuple[tuple[Stmt, ...], Expr]:
    """What is done to find out whether an expression is not zero, and whether it is."""
    value, loc = read.variables.own("value"), read.source.loc(node)
    done = _call(read, node, _Form(f"_Bool {value} = (", ");", result=f"(long long){value}"), why)
    holds = Array(read.variables.fresh("holds"), boolean, (), "private")
    is_set = Binary("!=", Load(read.outside, (), i64), Const(0))
    return (*done, Alloc(holds, loc), Store(holds.name, (), is_set, loc)), Load(holds.name, (), boolean)


def declaration(read: Expressions, decl: Node, why: InputError) -> tuple[Stmt, ...]:
    """A variable that is set by a text, or that only texts name."""
    opaque, value = _opaque(read), initialiser(decl)
    if decl.kind != CursorKind.VAR_DECL or decl.storage_class in (StorageClass.STATIC, StorageClass.EXTERN):
        raise why
    if key(decl) not in opaque.kept:
        if _number(decl) is None or key(decl) in read.variables.exposed:
            raise Kept(decl)
        if value is None or has_attributes(decl):
            raise why
        return _call(read, value, _initialised(decl, value, also=decl), why)
    kind = decl.type
    _require_one(read, decl, why)
    if not _is_plain(kind) or any(child.kind.is_attribute() for child in children(decl)):
        raise why
    opaque.declared[decl.spelling] = f"__typeof__({kind.spelling}) {decl.spelling};"
    lists = [child for child in children(decl) if child.kind in (CursorKind.INIT_LIST_EXPR, CursorKind.STRING_LITERAL)]
    if kind.get_canonical().kind == TypeKind.CONSTANTARRAY:
        if lists:
            raise why
        return ()
    if value is None:
        return ()
    return _call(read, value, _initialised(decl, value), why)


def _is_plain(kind: Type) -> bool:
    """Can a variable of the type be declared in front of the loops without a value, and be assigned in them?"""
    is_named = not any(word in kind.spelling for word in _UNNAMED)
    return is_named and not _VARIABLE.search(kind.get_canonical().spelling) and _is_assignable(kind)


def _is_assignable(kind: Type) -> bool:
    """May values be assigned to all of it, which a restrict pointer of a longer life must not have?"""
    kind = kind.get_canonical()
    if kind.kind == TypeKind.CONSTANTARRAY:
        return _is_assignable(kind.element_type)
    is_fixed = kind.is_const_qualified() or kind.is_restrict_qualified()
    members = kind.get_fields() if kind.kind == TypeKind.RECORD else ()
    return not is_fixed and all(_is_assignable(member.type) for member in members)


def _initialised(decl: Node, value: Node, also: Node | None = None) -> _Form:
    is_list = value.kind == CursorKind.INIT_LIST_EXPR
    before, behind = (f"(__typeof__({decl.type.spelling}))", ";") if is_list else ("(", ");")
    return _Form(f"{decl.spelling} = {before}", behind, also)


@dataclass(frozen=True)
class _Form:
    """What a macro does with a text."""

    before: str = ""
    behind: str = ";"
    also: Node | None = None  # a number that it declares, beside those that the text sets
    result: str = "0LL"


def _call(read: Expressions, node: Node, form: _Form, why: InputError) -> tuple[Stmt, ...]:
    """The call of a macro that holds the text of `node`, and what reads back the numbers that this sets."""
    opaque, variables, loc = _opaque(read), read.variables, read.source.loc(node)
    if node.hash not in opaque.around or read.arguments or opaque.declares_types:
        raise why
    text = text_of(read.source, node, *opaque.around[node.hash])
    if text is None:
        raise why
    changed = {key(decl) for part in walk(node) if (decl := set_by(part)) is not None}
    own = {key(part) for part in walk(node) if part.kind == CursorKind.VAR_DECL}
    named = {key(decl): decl for _, decl in mentions(node) if key(decl) not in own}
    if form.also is not None:
        changed, named = changed | {key(form.also)}, {**named, key(form.also): form.also}
    before, names, after, back = list[str](), list[str](), list[str](), list[tuple[Decl, str]]()
    arguments: list[Expr] = []
    for decl in named.values():
        _require_one(read, decl, why)
        is_of_loop, kind = _is_of_own_loop(read, decl), decl.type.get_canonical().spelling
        value = None if is_of_loop else _given(read, decl, key(decl) in changed, why)
        if value is None and not is_of_loop:
            continue
        if any(word in kind for word in _UNNAMED):
            raise why
        if value is None:
            names.append(f"{kind} {decl.spelling}; ")
            continue
        if form.also is not None and key(decl) == key(form.also):
            names.append(f"{kind} {decl.spelling}; ")
        else:
            arguments.append(value)
            given = variables.own(f"{decl.spelling}_given")  # the nest may have its own variable of that name
            before.append(f"{kind} {given} = ({{}}); ")
            names.append(f"{kind} {decl.spelling} = {given}; ")
        if key(decl) in changed:
            place = variables.own(f"{decl.spelling}_set")
            opaque.declared[place] = f"{kind} {place};"
            after.append(f"{place} = {decl.spelling}; ")
            back.append((decl, place))
    read.outside = read.outside or variables.own("outside")
    does = f"{form.before}{text}{form.behind}".replace("{", "{{").replace("}", "}}")
    name = variables.own(f"statement_{len(read.macros) + 1}")
    does = f"{''.join((*before, *names))}{does} {''.join(after)}{form.result};"
    read.macros[name] = len(arguments), f"(__extension__ ({{{{ {does} }}}}))"
    opaque.texts.append(name)
    world = Load(read.outside, (), i64)
    return (
        Store(read.outside, (), Call(name, (world, *arguments), i64, pure=False), loc),
        *(_read_back(read, decl, place, loc) for decl, place in back),
    )


def _is_of_own_loop(read: Expressions, decl: Decl) -> bool:
    """Is it a variable that the region declares for loops, and that is in none of these here?"""
    variables = read.variables
    is_bound = key(decl) in variables.bindings or key(decl) in _opaque(read).kept
    return not is_bound and key(decl) in variables.loops & variables.declared


def _given(read: Expressions, decl: Decl, is_changed: bool, why: InputError) -> Expr | None:
    """The value that a text is given of a variable that it names; None where it uses C's own. Kept for a variable of
    the region that the nest cannot have."""
    variables, dtype = read.variables, _number(decl)
    is_own, is_exposed = key(decl) in variables.declared, key(decl) in variables.exposed
    if key(decl) in _opaque(read).kept:
        return None
    if key(decl) in variables.bindings:
        if is_changed or is_exposed or dtype is None:
            raise why
        return converted(variables.bindings[key(decl)], dtype)
    if key(decl) in variables.loops:  # set by a loop of the text, and read there alone; from outside of the region
        return None
    if is_own and (dtype is None or is_exposed):
        raise Kept(decl)
    if dtype is None or is_exposed or not (is_own or key(decl) in variables.written):
        return None
    if is_changed and decl.type.is_const_qualified():
        raise why
    return Load(read.scalar(decl, dtype).name, (), dtype)


def _read_back(read: Expressions, decl: Decl, place: str, loc: Loc) -> Stmt:
    dtype = _number(decl)
    assert dtype is not None, "it was given"
    name = read.variables.own(f"{decl.spelling}_is")
    read.macros[name] = 0, f"({place})"
    value = Call(name, (Load(read.outside, (), i64),), dtype, pure=False)
    return Store(read.scalar(decl, dtype).name, (), value, loc)


def _number(decl: Decl) -> DType | None:
    return None if decl.type.get_canonical().is_volatile_qualified() else dtype_of(decl.type)


def _require_one(read: Expressions, decl: Decl, why: InputError) -> None:
    """`why` where the region has another variable of that name, so that a text may mean either."""
    if _opaque(read).spellings.get(decl.spelling, set()) - {key(decl)}:
        raise why


def _opaque(read: Expressions) -> Opaque:
    assert read.opaque is not None, "the region has texts"
    return read.opaque
