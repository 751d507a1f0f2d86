"""Integers of C as i64: what bounds, subscripts and affine conditions are made of.

    A[i + 2 * n - 1]        i + 2 * n - 1, without the Casts of the value that C computes in int
    A[(i << 2) + k / 2]     i * 4 + truncdiv(k, 2)

This is the number that C computes: a signed overflow is undefined in C, and that an unsigned operation does not wrap,
nor a conversion change the number, is shown by the loops around, or assumed of the parameters (proofs.py), or the
text is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from clang.cindex import CursorKind

from polysched.frontend.arithmetic import fits
from polysched.frontend.c.file.clang import (
    Node,
    bare,
    children,
    constant,
    is_integer,
    operands,
    operator,
    unary_operator,
)
from polysched.frontend.c.file.names import Decl, Field, Key, Member, key, parts, variable
from polysched.frontend.c.file.source import Source
from polysched.frontend.c.memory.structures import Structures
from polysched.frontend.c.opaque.state import Opaque
from polysched.frontend.c.proofs import Proofs, c_text, product_text
from polysched.frontend.c.types import chosen, converted, dtype_of, greatest, holds, within
from polysched.frontend.c.variables import Variables
from polysched.ir.build import combined
from polysched.ir.dtypes import DType, boolean, i64
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import COMPARISONS, LARGEST_SIZE, Const, Expr, Select, Unary, Var
from polysched.model.affine import NotAffine
from polysched.model.known import Unproven, Where

_NAMES = (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR)
CASTS = (CursorKind.UNEXPOSED_EXPR, CursorKind.CSTYLE_CAST_EXPR)
_RING = ("+", "-", "*")  # on unsigned numbers, what wraps on the way does no harm if the result fits


@dataclass
class Numbers(ABC):
    """Reads integers at a place of a region; every method raises InputError at the part that it cannot read."""

    source: Source
    variables: Variables
    proofs: Proofs
    pure: frozenset[str] = frozenset()  # functions that the user declares pure
    where: Where = field(default_factory=Where)
    is_in_bound: bool = False  # of a loop, where a product of parameters is one itself
    structures: Structures = field(default_factory=Structures)
    arguments: dict[Key, Expr] = field(default_factory=dict)  # of the functions that are being inlined

    outside: str = ""  # the number that calls read and set which stay in order, if there are any
    macros: dict[str, tuple[int, str]] = field(default_factory=dict)  # such calls: how many numbers they take, and C
    results: dict[int, Expr] = field(default_factory=dict)  # of calls whose text was taken in
    opaque: Opaque | None = None  # of statements that stay as they are, where there may be any

    @abstractmethod
    def value(self, node: Node) -> Expr:
        """What C computes, in its C type."""

    @abstractmethod
    def condition(self, node: Node) -> Expr:
        """Whether the expression is not zero."""

    def dtype(self, node: Node) -> DType:
        dtype = dtype_of(node.type)
        if dtype is None or node.type.get_canonical().is_volatile_qualified():
            message = f"'{self.source.text(node)}' has the type '{node.type.spelling}'"
            raise self.source.error(node, message, "a nest computes with integers, float and double")
        return dtype

    def name_of(self, decl: Decl) -> str:
        """Its name in the nest; InputError for a member that is nowhere, for all that is known."""
        if self.opaque is not None:
            self.opaque.require_readable(self.source, decl)
        of = decl.of if isinstance(decl, Field) else decl
        if isinstance(of, Member):
            self.structures.come_to(of, self.where)
        return self.variables.name(decl)

    def bound(self, decl: Decl, node: Node) -> Expr | None:
        """A loop variable, or an integer that is set once, as i64; None for other variables."""
        if key(decl) in self.variables.bindings:
            return self.variables.bindings[key(decl)]
        if key(decl) not in self.variables.loops:
            return None
        hint = "assign it to another variable inside of the loop"
        raise self.source.error(node, f"the loop variable '{decl.spelling}' is used outside of its loop", hint)

    def shown_or_none(self, node: Node) -> Expr | None:
        """The number as i64, if that needs no assumption."""
        before = list(self.proofs.assumptions)
        exact = self.exact_or_none(node)
        is_shown = self.proofs.assumptions == before
        self.proofs.assumptions[:] = before
        return exact[0] if exact and is_shown else None

    @contextmanager
    def given(self, condition: Expr) -> Iterator[None]:
        before = self.where
        self.where = before.given(condition)
        try:
            yield
        finally:
            self.where = before

    def index(self, node: Node) -> Expr:
        """An integer as i64."""
        if not is_integer(node):
            message = f"'{self.source.text(node)}' has the type '{node.type.spelling}', and is used as an integer"
            raise self.source.error(node, message, "convert it, as in (int)x")
        expr = None if self.has_data(node) else self.exact(node)
        return converted(self.value(node), i64) if expr is None else expr

    def bound_of_loop(self, node: Node) -> Expr:
        """An integer as i64, in which `n * m` is a parameter of its own."""
        self.is_in_bound = True
        try:
            return self.index(node)
        finally:
            self.is_in_bound = False

    def has_data(self, node: Node) -> bool:
        """Does the number depend on anything but loop variables and integers that stay as they are?"""
        variables = self.variables
        changing = variables.written | (variables.declared - variables.loops) | self.arguments.keys()
        for part in parts(node):
            is_element = part.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR and variable(part) is None
            if is_element or part.kind == CursorKind.CALL_EXPR or unary_operator(part) == "*":
                return constant(node) is None
            if part.kind.is_expression() and not is_integer(part):
                return constant(node) is None
            decl = variable(part) if part.kind.is_expression() else None  # a member's conversion names it, too
            if decl is not None and key(decl) not in variables.bindings and key(decl) in changing:
                return True
        return False

    def exact_or_none(self, *nodes: Node) -> list[Expr] | None:
        """The numbers as i64; None where they come from data, or cannot be shown to be what C computes."""
        if any(self.has_data(node) for node in nodes):
            return None
        before, sparing = list(self.proofs.assumptions), self.proofs.sparing
        self.proofs.sparing = True
        try:
            found = [self.exact(node) for node in nodes]
        except Unproven:
            found = [None]
        finally:
            self.proofs.sparing = sparing
        exact = [expr for expr in found if expr is not None]
        if len(exact) == len(nodes):
            return exact
        self.proofs.assumptions[:] = before
        return None

    def exact(self, node: Node) -> Expr | None:
        """The number as i64; None for operators that have no such reading. Unproven if it may differ from C's."""
        expr = self.ring(node)
        if expr is not None and self.may_leave_type(node):
            try:
                self.require_type(expr, node)
            except NotAffine:
                raise self.unproven(node, "it is not affine, so nothing shows the contrary") from None
        return expr

    def ring(self, node: Node) -> Expr | None:
        """The number before it is wrapped to its type."""
        node, number = bare(node), constant(node)
        if number is not None:
            return Const(int(number)) if fits(int(number), i64) else None
        below = operands(node)
        match node.kind:
            case kind if kind in _NAMES or (kind == CursorKind.ARRAY_SUBSCRIPT_EXPR and variable(node) is not None):
                decl = variable(node)
                assert decl is not None, "has_data refuses the rest"
                if (bound := self.bound(decl, node)) is not None:
                    return bound
                name = self.name_of(decl)
                self.variables.sizes.add(name)
                return Var(name)
            case kind if kind in CASTS and len(below) == 1 and self.dtype(node) != boolean:
                return self.exact(below[0])
            case CursorKind.UNARY_OPERATOR if unary_operator(node) in ("+", "-", "__extension__"):
                arg = self.operand(node, below[0])
                return Unary("-", arg) if arg is not None and unary_operator(node) == "-" else arg
            case CursorKind.BINARY_OPERATOR if operator(node) in _RING:
                left, right = self.operand(node, below[0]), self.operand(node, below[1])
                is_product = self.is_in_bound and operator(node) == "*" and self.is_parametric(left, right)
                return self.product(left, right, node) if is_product else combined(operator(node), left, right)
            case CursorKind.BINARY_OPERATOR if operator(node) in ("/", "%"):
                op = {"/": "truncdiv", "%": "truncmod"}[operator(node)]
                return combined(op, self.exact(below[0]), self.exact(below[1]))
            case CursorKind.BINARY_OPERATOR if operator(node) in ("<<", ">>", "&"):
                return self.power_of_two(node)
            case CursorKind.CONDITIONAL_OPERATOR:
                return self.choice(*below)
        if operator(node) in COMPARISONS or operator(node) in ("&&", "||") or unary_operator(node) == "!":
            return Select(self.condition(node), Const(1), Const(0))
        return None

    def is_parametric(self, *factors: Expr | None) -> bool:
        """Are all of them sums of parameters, and none a number?"""
        names = [_names_of(factor) if factor is not None else set() for factor in factors]
        return all(found and found <= self.variables.sizes for found in names)

    def product(self, left: Expr | None, right: Expr | None, node: Node) -> Expr:
        """A parameter that is n * m, where both are no less than 0, and the product is one of its type."""
        assert left is not None and right is not None, "both are parametric"
        variables = self.variables
        known = (name for name, factors in variables.factors.items() if factors == (left, right))
        name = next(known, None)
        if name is None:
            name = variables.fresh("_".join(sorted(_names_of(left) | _names_of(right))))
            variables.sizes.add(name)
            variables.types[name] = i64
            variables.factors[name] = left, right
            variables.expressions[name] = product_text(left, right, variables.expressions)
            if isinstance(left, Var) and isinstance(right, Var):
                atoms = [next((k for k, v in variables.products.items() if v == f), (f.name,)) for f in (left, right)]
                variables.products.setdefault(tuple(sorted(atoms[0] + atoms[1])), Var(name))
        one, other = (c_text(factor, variables.expressions) for factor in (left, right))
        limit = min(greatest(self.dtype(node)), LARGEST_SIZE)
        fits = (f"{one} >= 0", f"{other} >= 0", f"({other} == 0 || {one} <= {limit} / {other})")
        variables.fits[name] = tuple(dict.fromkeys((*variables.fits.get(name, ()), *fits)))
        self.proofs.assumptions += [text for text in variables.range_of(name) if text not in self.proofs.assumptions]
        return Var(name)

    def operand(self, node: Node, below: Node) -> Expr | None:
        return self.ring(below) if self.dtype(node).kind == "u" else self.exact(below)

    def power_of_two(self, node: Node) -> Expr | None:
        """i << 2 is i * 4, i >> 2 is floor(i / 4), and i & 3 is i modulo 4, negative i too."""
        op, (left, right) = operator(node), children(node)
        if op == "&" and constant(left) is not None:
            left, right = right, left
        number = constant(right)
        if number is None or (op == "&" and (number < 0 or int(number) & (int(number) + 1))):
            return None
        arg = self.operand(node, left) if op == "<<" else self.exact(left)
        if op == "&":
            return combined("floormod", arg, Const(int(number) + 1))
        if not 0 <= number < 31:
            return None
        return combined("*" if op == "<<" else "floordiv", arg, Const(1 << int(number)))

    def choice(self, test: Node, then: Node, other: Node) -> Expr | None:
        cond = self.condition(test)
        with self.given(cond):
            first = self.exact(then)
        with self.given(Unary("!", cond)):
            second = self.exact(other)
        return None if first is None or second is None else chosen(cond, first, second)

    def may_leave_type(self, node: Node) -> bool:
        """Could C's result differ from the integer that the operation has in mathematics? Signed overflow cannot."""
        node = bare(node)
        if constant(node) is not None:
            return False
        if node.kind in CASTS:
            return not holds(self.dtype(node), self.dtype(operands(node)[0]))
        wraps = operator(node) in (*_RING, "<<") or unary_operator(node) == "-"
        return wraps and self.dtype(node).kind == "u"

    def require_type(self, expr: Expr, node: Node) -> None:
        """Unproven if the number may not fit in the C type of the expression; NotAffine if that cannot be asked."""
        for condition in within(expr, self.dtype(node)):
            try:
                self.proofs.require(condition, self.where)
            except Unproven as error:
                raise self.unproven(node, error.message) from None

    def unproven(self, node: Node, why: str) -> Unproven:
        message = f"'{self.source.text(node)}' may leave '{node.type.spelling}': {why}"
        return Unproven(message, self.source.loc(node), "use signed integers, or loop bounds that keep it in range")


def _names_of(expr: Expr) -> set[str]:
    return {part.name for part in walk_ir(expr) if isinstance(part, Var)}
