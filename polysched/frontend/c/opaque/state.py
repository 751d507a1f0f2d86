"""What one reading of a region knows of statements that stay as they are, and which variables these may change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from clang.cindex import CursorKind, TypeKind

from polysched.frontend.c.file.clang import Node, children, operands, stripped, unary_operator, walk
from polysched.frontend.c.file.names import Decl, Field, Key, Member, key, root, set_by, variable
from polysched.frontend.c.file.source import Source

_NAMED = tuple(getattr(CursorKind, f"{kind}_DECL") for kind in ("VAR", "PARM", "TYPEDEF", "FUNCTION", "ENUM_CONSTANT"))
_SUBSCRIPT = CursorKind.ARRAY_SUBSCRIPT_EXPR
_PLACES = (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR, _SUBSCRIPT)
_ARRAYS = (TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY, TypeKind.INCOMPLETEARRAY)


class Kept(Exception):
    """A variable of the region is found to be C's alone: the region is to be read again."""

    def __init__(self, decl: Decl):
        super().__init__(decl.spelling)
        self.decl = decl


class Endless(Exception):
    """A loop is found to be no range: the region is to be read again."""

    def __init__(self, loop: Node):
        super().__init__(loop.spelling)
        self.loop = loop


@dataclass
class Opaque:
    """What one reading of a region knows of such statements."""

    kept: frozenset[Key] = frozenset()  # variables that only texts may name
    whole: frozenset[int] = frozenset()  # loops that are to be read, by hash
    endless: frozenset[int] = frozenset()  # those that a flag ends
    numbers: frozenset[Key] = frozenset()  # what the heads of these set, which is no loop variable then
    around: dict[int, tuple[Node | None, Sequence[Node]]] = field(default_factory=dict)  # parent and siblings, by hash
    declares_types: bool = False  # does the region declare types or functions?
    spellings: dict[str, set[Key]] = field(default_factory=dict)  # what each name means in the region
    texts: list[str] = field(default_factory=list)  # the macros that hold them
    declared: dict[str, str] = field(default_factory=dict)  # lines of declarations, by variable

    @classmethod
    def of(
        cls, statements: Sequence[Node], called: Sequence[Node], kept: frozenset[Key], loops: Sequence[Node]
    ) -> Opaque:
        """Of statements, and the functions that they call."""
        whole = frozenset(each.hash for each in statements if each.kind == CursorKind.FOR_STMT)
        heads = (part for loop in loops for child in children(loop)[:-1] for part in walk(child))
        numbers = frozenset(key(decl) for part in heads if (decl := set_by(part) or _declared(part)) is not None)
        found = cls(kept, whole, frozenset(loop.hash for loop in loops), numbers)
        rest: list[tuple[Node | None, Sequence[Node]]] = [(None, statements)]
        while rest:
            parent, nodes = rest.pop()
            for node in nodes:
                found.around[node.hash] = parent, nodes
                rest.append((node, children(node)))
                if parent is not None and parent.kind == CursorKind.DECL_STMT and node.kind != CursorKind.VAR_DECL:
                    found.declares_types = True
        own = {node.hash for each in statements for node in walk(each)}
        for node in (node for each in (*statements, *called) for node in walk(each)):
            decl = node if node.kind == CursorKind.VAR_DECL else node.referenced
            if decl is not None and decl.kind in _NAMED and (node.hash in own or _is_global(decl)):
                found.spellings.setdefault(decl.spelling, set()).add(key(decl))
        return found

    def require_readable(self, source: Source, decl: Decl) -> None:
        """InputError for what only texts may name: what is kept, and members that may be another one's next time."""
        of = decl.of if isinstance(decl, Field) else decl
        is_behind = isinstance(of, Member) and next(of.pointers, None) is not None
        if is_behind or key(root(decl)) in self.kept:
            message = f"'{decl.spelling}' may be changed by a statement that is kept as it is"
            raise source.error(decl, message, "copy it to a variable before the region")


def _is_global(decl: Node) -> bool:
    return bool(decl.semantic_parent is not None and decl.semantic_parent.kind == CursorKind.TRANSLATION_UNIT)


def _declared(node: Node) -> Node | None:
    return node if node.kind == CursorKind.VAR_DECL else None


def reached(nodes: Sequence[Node], function: Node, exposed: frozenset[Key]) -> frozenset[Key]:
    """The variables of a region, members among them, that functions or stores may change of which nothing is known:
    those that others see, and members of structures that are assigned or whose address is taken."""
    of_structures = {key(root(decl)) for node in nodes for part in walk(node) if (decl := set_by(part)) is not None}
    of_structures |= set(_addressed(function))
    found = set()
    for decl in _variables(nodes):
        kind = decl.type.get_canonical()
        is_seen = key(root(decl)) in exposed or (isinstance(decl, Member) and key(root(decl)) in of_structures)
        if is_seen and kind.kind not in _ARRAYS and not kind.is_const_qualified():
            found.add(key(decl))
    return frozenset(found)


def _variables(nodes: Sequence[Node]) -> Iterator[Decl]:
    for part in (part for node in nodes for part in walk(node) if part.kind.is_expression()):
        if (decl := variable(part)) is not None:
            yield decl
            while isinstance(decl, Member):
                yield (decl := decl.of)


def _addressed(function: Node) -> Iterator[Key]:
    """The variables of which the address is taken, or that of a part, or an array but to name an element."""
    parts = list(walk(function))
    subscripted = {stripped(each).hash for part in parts if part.kind == _SUBSCRIPT for each in children(part)}
    for part in parts:
        if unary_operator(part) == "&":
            place = stripped(children(part)[0])
        elif part.kind in _PLACES and part.type.get_canonical().kind in _ARRAYS and part.hash not in subscripted:
            place = part
        else:
            continue
        while place.kind in _PLACES[1:] and operands(place):
            place = stripped(operands(place)[0])
        if (decl := variable(place)) is not None:
            yield key(root(decl))
