"""The variables of a region: what each one is to the nest, and whether its value may be read behind the region.

    for (i = 0; i < n; i++) {           i loop variable, n size, A array, x scalar (by value),
        double t = x * A[i];            t temporary of the region,
        s += t;                         s array of rank 0, bound to &s: it is written and lives on
    }
    for (i = 0; i < n; i++)             i is assigned before it is read
    print(s);                           s may be read

Where the flow of control is not plain (goto, switch), any mention outside of the region counts as a read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from clang.cindex import CursorKind, LinkageKind, StorageClass, TypeKind

from polysched.frontend.c.file.clang import Node, bare, children, operator, stripped, unary_operator, walk
from polysched.frontend.c.file.heads import head_of
from polysched.frontend.c.file.names import Decl, Field, Key, Member, key, mentions, set_by, variable
from polysched.frontend.c.file.source import Source
from polysched.frontend.c.memory.origins import are_apart
from polysched.frontend.c.types import dtype_of, greatest, may_alias
from polysched.ir.dtypes import DType, i64
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import LARGEST_SIZE, Array, Expr, Var
from polysched.model.affine import is_name

_POINTERS = (TypeKind.POINTER, TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY, TypeKind.INCOMPLETEARRAY)


@dataclass
class Variables:
    """Names and roles of the variables that a region mentions."""

    source: Source
    loops: frozenset[Key]  # set by the head of a for
    written: frozenset[Key]  # assigned otherwise
    declared: frozenset[Key]  # in the region
    exposed: frozenset[Key]  # their address is taken, or other functions see them
    assigned: frozenset[Key]  # anywhere in the function
    names: dict[Key, str] = field(default_factory=dict)
    loop_names: set[str] = field(default_factory=set)
    decls: dict[str, Decl] = field(default_factory=dict)  # by name in the nest
    types: dict[str, DType] = field(default_factory=dict)  # of scalars, by name in the nest
    expressions: dict[str, str] = field(default_factory=dict)  # C's spelling, by name in the nest
    products: dict[tuple[str, ...], Var] = field(default_factory=dict)  # of parameters -> a parameter of its own
    factors: dict[str, tuple[Expr, Expr]] = field(default_factory=dict)  # of such a parameter
    fits: dict[str, tuple[str, ...]] = field(default_factory=dict)  # what must hold for it to be the product
    sizes: set[str] = field(default_factory=set)
    rows: dict[str, dict[int, str]] = field(default_factory=dict)  # arrays of pointers -> dimension -> their distance
    unbounded: set[str] = field(default_factory=set)  # arrays that nothing shows the extent of
    bindings: dict[Key, Expr] = field(default_factory=dict)  # integers of the region that are set once, as i64

    def name(self, decl: Decl) -> str:
        """The variable's name in the nest: its own, unless another one has it or isl keeps it for itself."""
        if key(decl) not in self.names:
            name = self.fresh(re.sub(r"->|\[\]\.", ".", decl.spelling))
            self.names[key(decl)] = name
            self.decls[name] = decl
            self.expressions[name] = decl.spelling
            if dtype := dtype_of(decl.type):
                self.types[name] = dtype
        return self.names[key(decl)]

    def fresh(self, wish: str) -> str:
        """`wish`, or `wish_2`, ... where that is taken."""
        name = self.free(wish, {*self.expressions, *self.loop_names})
        self.expressions[name] = name
        return name

    def distance(self, array: str) -> str:
        """A size that says how far rows of pointers are apart."""
        name = self.own(f"{array}_row")
        self.types[name] = i64
        self.sizes.add(name)
        return name

    def own(self, wish: str) -> str:
        """A name that the new text declares, which differs from all others of the file."""
        name = self.free(wish, {*self.expressions, *self.loop_names, *self.source.names})
        self.expressions[name] = name
        return name

    def loop_name(self, decl: Node, around: Iterable[str]) -> str:
        """A name for a loop variable that no loop around has; loops side by side may share one."""
        name = self.free(decl.spelling, {*self.expressions, *around})
        self.loop_names.add(name)
        return name

    def free(self, wish: str, taken: set[str]) -> str:
        wish = re.sub(r"[^A-Za-z0-9_]", "_", wish)  # C's letters are more than isl's, and some compilers take a $
        name, count = wish, 1
        while name in taken or not is_name(name) or (count > 1 and name in self.source.names):
            count += 1
            name = f"{wish}_{count}"
        return name

    def range_of(self, size: str) -> Iterator[str]:
        """What a size must be beyond what its C type says, as C: from 0 to LARGEST_SIZE, and a product no other one."""
        text = self.expressions[size]
        if size in self.decls:
            dtype = self.types[size]
            if dtype.kind == "i":
                yield f"{text} >= 0"
            if greatest(dtype) > LARGEST_SIZE:
                yield f"{text} <= {LARGEST_SIZE}"
        elif size in self.factors:
            for factor in (part.name for part in walk_ir(self.factors[size]) if isinstance(part, Var)):
                yield from self.range_of(factor)
            yield from self.fits[size]
            yield f"{text} >= 0"

    def is_exposed(self, decl: Decl) -> bool:
        """May others read it, or write it by a pointer?"""
        return isinstance(decl, Member | Field) or key(decl) in self.exposed

    def may_alias(self, one: DType, other: DType | None) -> bool:
        """May a store of one type change what is read as the other, None for a pointer?"""
        return self.source.has_may_alias or one.bits == 8 or (other is not None and may_alias(one, other))

    def differ(self, one: Array, other: Array) -> bool:
        """Are two arrays apart by their types, or by what calls give a static function? Types of a variable never
        change; memory that pointers lead to takes the type that it is written as, after it was read as another."""
        decls = [self.decls[array.name] for array in (one, other)]
        if not all(map(is_pointer, decls)) and not self.may_alias(one.dtype, other.dtype):
            return True
        return not self.rows.keys() & {one.name, other.name} and are_apart(self.source, *decls)

    def order(self, name: str) -> tuple[int, str]:
        """Where it is declared, for a list in the user's order."""
        decl = self.decls.get(name)
        return (decl.location.offset if decl is not None else 1 << 62), name


def find_variables(
    source: Source, function: Node, statements: Sequence[Node], called: Sequence[Node] = ()
) -> Variables:
    """Also of the functions that are `called` and may be taken in, whose parameters are declared, too."""
    loops, written, declared = _scan((*statements, *called))
    every_loop, every_written, _ = _scan((function, *called))
    parameters = {key(child) for each in called for child in children(each) if child.kind == CursorKind.PARM_DECL}
    addressed = _addressed(function, *called, arrays=True)
    shared = {key(decl) for _, decl in mentions(function, *called) if _outlives(decl)}
    exposed, assigned = frozenset(addressed | shared), every_loop | every_written
    written |= _addressed(*statements, *called)  # as a pointer to it may be, too
    return Variables(source, loops, written, declared | parameters, exposed, assigned)


def _addressed(*nodes: Node, arrays: bool = False) -> set[Key]:
    """Variables whose address is taken."""
    taken = (stripped(children(part)[0]) for node in nodes for part in walk(node) if unary_operator(part) == "&")
    return {key(decl) for part in taken if (decl := variable(part)) is not None and (arrays or not is_array(decl))}


def _scan(statements: Iterable[Node]) -> tuple[frozenset[Key], frozenset[Key], frozenset[Key]]:
    """Variables that heads of loops set, that are assigned otherwise, and that are declared."""
    loops: set[Key] = set()
    written: set[Key] = set()
    declared: set[Key] = set()
    heads: set[int] = set()
    for node in (node for statement in statements for node in walk(statement)):
        if node.kind == CursorKind.FOR_STMT:
            if (head := head_of(node)) is not None:
                loops.add(key(head.decl))
                heads |= {head.start.node.hash, head.change.hash}
        elif node.kind == CursorKind.VAR_DECL:
            declared.add(key(node))
        elif node.hash not in heads and (decl := set_by(node)) is not None:
            written.add(key(decl))
    return frozenset(loops), frozenset(written), frozenset(declared)


def _outlives(decl: Node) -> bool:
    """Is it global, or static?"""
    return decl.linkage != LinkageKind.NO_LINKAGE or decl.storage_class in (StorageClass.STATIC, StorageClass.EXTERN)


def is_pointer(decl: Decl) -> bool:
    """Is it declared as a pointer, or an array parameter? So others may point to its elements, as to all members."""
    if isinstance(decl, Member | Field):
        return isinstance(decl, Member) or is_pointer(decl.of)
    kind = decl.type.get_canonical().kind
    return kind == TypeKind.POINTER or (decl.kind == CursorKind.PARM_DECL and kind in _POINTERS)


def is_array(decl: Decl) -> bool:
    return isinstance(decl, Field) or decl.type.get_canonical().kind in _POINTERS


_Flow = tuple[Node | None, bool]  # where the value may be read, and whether it is surely assigned
_JUMPS = (CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT)
_TANGLED = (CursorKind.GOTO_STMT, CursorKind.INDIRECT_GOTO_STMT, CursorKind.LABEL_STMT, CursorKind.SWITCH_STMT)
_LOOPS = (CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT)


def read_after(path: Sequence[Node], statements: Sequence[Node], name: Key) -> Node | None:
    """The place that may read what the statements leave in the variable; None if there is none.

    `path` leads from the body of the function to the block that holds the statements.
    """
    inside = {node.hash for statement in statements for node in walk(statement)}
    if any(node.kind in _TANGLED for node in walk(path[0]) if node.hash not in inside):
        named = (node for node, decl in mentions(path[0]) if key(decl) == name)
        return next((node for node in named if node.hash not in inside), None)
    begin, end = statements[0].extent.start.offset, statements[-1].extent.end.offset
    for depth, node in reversed(list(enumerate(path))):
        read, written = None, False
        if node.kind == CursorKind.COMPOUND_STMT:
            read, written = _sequence((c for c in children(node) if c.extent.start.offset >= end), name)
        elif node.kind in _LOOPS:  # round again, and behind the loop
            read, written = _sequence(_between_iterations(node), name)
            written = written and not any(part.kind == CursorKind.BREAK_STMT for part in walk(node))
            if read is None and not written:
                again = [c for block in path[depth + 1 :] for c in children(block) if c.extent.end.offset <= begin]
                read, _ = _sequence(again, name)
        if read is not None or written:
            return read
    return None


def _between_iterations(loop: Node) -> list[Node]:
    parts = children(loop)
    if loop.kind == CursorKind.FOR_STMT:
        return [parts[2], parts[1]] if len(parts) == 4 else parts[:-1]
    return parts[1:] if loop.kind == CursorKind.DO_STMT else parts[:1]


def _sequence(nodes: Iterable[Node], name: Key) -> _Flow:
    jumped = False
    for node in nodes:
        read, written = _flow(node, name)
        if read is not None or written:
            return read, written and not jumped  # a jump leaves the old value to what follows the loop
        jumped = jumped or any(part.kind in _JUMPS for part in walk(node))
    return None, False


def _flow(node: Node, name: Key) -> _Flow:
    parts = children(node)
    match node.kind:
        case CursorKind.COMPOUND_STMT | CursorKind.DECL_STMT:
            return _sequence(parts, name)
        case CursorKind.VAR_DECL:
            return _sequence(parts, name)[0], key(node) == name
        case CursorKind.IF_STMT:
            read, _ = _flow(parts[0], name)
            branches = [_flow(part, name) for part in parts[1:]]
            read = next((r for r in (read, *(r for r, _ in branches)) if r is not None), None)
            return read, len(branches) == 2 and all(written for _, written in branches)
        case CursorKind.FOR_STMT if len(parts) == 4:
            start, condition, change, body = parts
            read, written = _sequence((start, condition), name)
            return (read, written) if read is not None or written else (_sequence((body, change), name)[0], False)
        case CursorKind.WHILE_STMT:
            return _sequence(parts, name)[0], False
        case CursorKind.DO_STMT:
            return _sequence(parts, name)
        case CursorKind.RETURN_STMT:
            return _sequence(parts, name)[0], True  # nothing follows
        case CursorKind.PAREN_EXPR:
            return _flow(bare(node), name)
    if operator(node) == ",":
        return _sequence(parts, name)
    if operator(node) == "=" and (target := variable(parts[0])) is not None and key(target) == name:
        return _mention(parts[1], name), True
    return _mention(node, name), False


def _mention(root: Node, name: Key) -> Node | None:
    return next((node for node, decl in mentions(root) if key(decl) == name), None)
