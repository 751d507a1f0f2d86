"""From C expressions to those of the loop IR: what C computes, to the bit, every conversion a Cast.

    A[i] * 2 + i / n            f64(A[i]) * 2.0 + f64(truncdiv(i32(i), i32(n)))       for float A[n] and int i, n
    i < n && A[i] > 0           i < n && A[i] > 0.0f32          conditions on loop variables stay affine (numbers.py)

The conversions are those of clang's tree, so C's rules of promotion stand nowhere here.
"""

from __future__ import annotations

from clang.cindex import CursorKind

from polysched.frontend.c.calls import called
from polysched.frontend.c.elements import Elements, is_of_element
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
from polysched.frontend.c.file.names import key, variable
from polysched.frontend.c.numbers import CASTS
from polysched.frontend.c.types import arithmetic, chosen, converted, holds
from polysched.frontend.c.variables import is_array
from polysched.ir.dtypes import boolean
from polysched.ir.nodes import COMPARISONS, Binary, Const, Expr, Load, Unary, Var


class Expressions(Elements):

    # --- what C computes

    def value(self, node: Node) -> Expr:
        """The value in its C type."""
        number = constant(node)
        if number is not None:
            dtype = self.dtype(node)
            return Const(bool(number) if dtype == boolean else number, dtype)
        match node.kind:
            case CursorKind.PAREN_EXPR:
                return self.value(bare(node))
            case CursorKind.UNEXPOSED_EXPR | CursorKind.CSTYLE_CAST_EXPR if len(operands(node)) == 1:
                return converted(self.value(operands(node)[0]), self.dtype(node))
            case CursorKind.DECL_REF_EXPR:
                return self.name(node)
            case CursorKind.MEMBER_REF_EXPR if variable(node) is not None:
                return self.name(node)
            case CursorKind.ARRAY_SUBSCRIPT_EXPR:
                return self.load(node) if variable(node) is None else self.name(node)
            case CursorKind.MEMBER_REF_EXPR if is_of_element(node):
                return self.load(node)
            case CursorKind.UNARY_OPERATOR:
                return self.unary(node)
            case CursorKind.BINARY_OPERATOR | CursorKind.COMPOUND_ASSIGNMENT_OPERATOR:
                return self.binary(node)
            case CursorKind.CONDITIONAL_OPERATOR:
                test, then, other = children(node)
                cond = self.condition(test)
                with self.given(cond):
                    first = self.value(then)
                with self.given(Unary("!", cond)):
                    return chosen(cond, first, self.value(other))
            case CursorKind.CALL_EXPR:
                return called(self, node)
        what, hint = _REFUSED.get(node.kind, (f"'{self.source.text(node)}'", "write it with numbers and elements"))
        raise self.source.error(node, f"{what} cannot be in a region", hint)

    def name(self, node: Node) -> Expr:
        decl = variable(node)
        if decl is None:
            raise self.source.error(node, f"'{node.spelling}' is no variable", "call it, or write a number")
        if key(decl) in self.arguments:
            return self.arguments[key(decl)]
        if is_array(decl):
            hint = f"write one element, as in {decl.spelling}[i]"
            raise self.source.error(node, f"the whole of '{decl.spelling}' is used", hint)
        dtype = self.dtype(node)
        if (bound := self.bound(decl, node)) is not None:
            return converted(bound, dtype)
        name = self.name_of(decl)
        if key(decl) in self.variables.written | self.variables.declared:
            return Load(self.scalar(decl, dtype).name, (), dtype)
        return Var(name, dtype)

    def load(self, node: Node) -> Expr:
        array, index = self.element(node)
        return Load(array.name, index, array.dtype)

    def unary(self, node: Node) -> Expr:
        if node.hash in self.results:
            return self.results[node.hash]
        (operand,) = children(node)
        match unary_operator(node):
            case "*":
                return self.load(node)
            case "+" | "__extension__":
                return self.value(operand)
            case "-":
                value = self.value(operand)
                return Const(-value.value, value.dtype) if isinstance(value, Const) else Unary("-", value)
            case "~":
                return Unary("~", self.value(operand))
            case "!":
                return converted(self.condition(node), self.dtype(node))
            case "&":
                raise self.source.error(node, "an address is taken", "subscript the array instead")
            case op:
                message = f"'{op.removeprefix('post')}' inside of an expression"
                raise self.source.error(node, message, "change the variable in a statement of its own")

    def binary(self, node: Node) -> Expr:
        op = operator(node)
        if op in COMPARISONS or op in ("&&", "||"):
            return converted(self.condition(node), self.dtype(node))
        if op == ",":
            raise self.source.error(node, "a comma inside of an expression", "write two statements")
        if op.endswith("="):
            raise self.source.error(node, "an assignment inside of an expression", "write it as a statement of its own")
        left, right = children(node)
        self.dtype(node)
        return arithmetic(op, self.value(left), self.value(right))

    # --- conditions

    def condition(self, node: Node) -> Expr:
        """Whether the expression is not zero, a bool; affine where the text is."""
        node, number = bare(node), constant(node)
        if number is not None:
            return Const(bool(number), boolean)
        op, below = operator(node), operands(node)
        if op in ("&&", "||"):
            left = self.condition(below[0])
            with self.given(left if op == "&&" else Unary("!", left)):
                return Binary(op, left, self.condition(below[1]))
        if unary_operator(node) == "!":
            return Unary("!", self.condition(below[0]))
        if op in COMPARISONS:
            if (sides := self.exact_or_none(*below)) is not None:
                return Binary(op, *sides)
            return Binary(op, self.value(below[0]), self.value(below[1]))
        if node.kind in CASTS and len(below) == 1 and all(map(is_integer, (node, *below))):
            source, target = self.dtype(below[0]), self.dtype(node)
            if target == boolean or holds(target, source):
                return self.condition(below[0])
        if (whole := self.exact_or_none(node)) is not None:
            return Binary("!=", whole[0], Const(0))
        return converted(self.value(node), boolean)


_REFUSED: dict[CursorKind, tuple[str, str]] = {
    CursorKind.MEMBER_REF_EXPR: ("a member of a structure", "copy it to a variable, or keep it in an array"),
    CursorKind.STRING_LITERAL: ("a string", "a nest computes with numbers"),
    CursorKind.COMPOUND_LITERAL_EXPR: ("a compound literal", "declare an array"),
    CursorKind.StmtExpr: ("a statement inside of an expression", "write it before"),
}
