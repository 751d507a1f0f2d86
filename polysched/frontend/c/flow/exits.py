"""`break` and `continue` as conditions on what follows.

    for (i = 0; i < n; i++) {               going = true
        if (a[i] < 0) break;                for i in 0..n:
        if (a[i] == 0) continue;    ->          if going:
        b[i] = 1 / a[i];                            if a[i] < 0: going = false
    }                                               else: if !(a[i] == 0): b[i] = 1 / a[i]

The flag is data to the model: the loop runs in order, and all that follows a jump is done only if the flag says so.
Printers leave such a loop as soon as its flag is false (`codegen/emit/block/ends.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from clang.cindex import CursorKind

from polysched.errors import Loc
from polysched.frontend.c.file.clang import Node, children
from polysched.ir.build import branch
from polysched.ir.dtypes import boolean
from polysched.ir.node import loaded
from polysched.ir.nodes import Alloc, Array, Const, For, If, Load, Stmt, Store

_LOOPS = (CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT)
_BREAK, _CONTINUE = (CursorKind.BREAK_STMT,), (CursorKind.CONTINUE_STMT,)
_RETURN = (CursorKind.RETURN_STMT,)
JUMPS = _BREAK + _CONTINUE + _RETURN


@dataclass
class Exits:
    """The flags of the loop around a place; None outside of loops."""

    going: str | None = None  # false once the loop was left
    on: str | None = None  # false for the rest of an iteration
    back: str | None = None  # of a function that is inlined: false once it has returned
    result: str | None = None  # what it returns
    final: tuple[Stmt, ...] = ()  # what keeps the loop's variable where the loop is left
    left: list[str] = field(default_factory=list)  # the flags that the statements so far may have set to false


    def returned(self, inner: Exits) -> None:
        """Notes that what ran inside, with exits of its own, may have left the function."""
        if self.back is not None and self.back in inner.left:
            self.left.append(self.back)


def flag_is_set(flag: str) -> Load:
    return Load(flag, (), boolean)


def set_flag(name: str, loc: Loc) -> tuple[Stmt, ...]:
    """Declares the flag, which is true then."""
    return Alloc(Array(name, boolean, (), "private"), loc), Store(name, (), Const(True, boolean), loc)


def with_flag(body: tuple[Stmt, ...], flag: str, loc: Loc) -> tuple[Stmt, ...]:
    """The body after its flag is set, or without the flag where nobody reads it."""
    return (*set_flag(flag, loc), *body) if flag in loaded(body) else without(body, flag)


def without(body: tuple[Stmt, ...], flag: str) -> tuple[Stmt, ...]:
    """The body where nobody reads the flag."""
    found: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Store(array=array) if array == flag:
                continue
            case For(body=inner):
                found.append(replace(stmt, body=without(inner, flag)))
            case If(cond, then, other, loc):
                found += branch(cond, without(then, flag), without(other, flag), loc)
            case _:
                found.append(stmt)
    return tuple(found)


def breaks(body: Node) -> bool:
    """Does the body of a loop leave it?"""
    return _has(body, _BREAK)


def continues(body: Node) -> bool:
    return _has(body, _CONTINUE)


def returns(body: Node) -> bool:
    return _has(body, _RETURN)


def jumps(node: Node) -> bool:
    """May the statement leave the block that it is in, by a jump of the loop around?"""
    return _has(node, JUMPS)


def _has(node: Node, kinds: tuple[CursorKind, ...]) -> bool:
    if node.kind in kinds:
        return True
    if node.kind in _LOOPS:
        kinds = tuple(k for k in kinds if k in _RETURN)
    kinds = tuple(k for k in kinds if k not in _BREAK) if node.kind == CursorKind.SWITCH_STMT else kinds
    return bool(kinds) and any(_has(child, kinds) for child in children(node))


def always_jumps(node: Node) -> bool:
    """Does what follows the statement never run after it?"""
    match node.kind:
        case kind if kind in JUMPS:
            return True
        case CursorKind.COMPOUND_STMT:
            return any(map(always_jumps, children(node)))
        case CursorKind.IF_STMT:
            _, *branches = children(node)
            return len(branches) == 2 and all(map(always_jumps, branches))
    return False
