"""Between IR expressions and isl's quasi-affine functions, dimensions by name.

    space = AffineSpace("S", ("i", "j"), ("n",))
    space.function(i + 2 * j)     { S[i, j] -> [i + 2j] }          raises NotAffine for i * j
    space.where(i < n)            { S[i, j] : i < n }
    expression(ast_expr, names)   the way back, from isl's AST
    condition({ : m <= n })       m <= n
    value({ [(n - 1)] })          n - 1
    value_at({ S[x] -> [(x + n)] }, ["i"])      i + n
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from polysched.ir.dtypes import boolean, i64
from polysched.ir.nodes import Binary, Const, Expr, Select, Unary, Var
from polysched.support import isl


class NotAffine(Exception):
    """`expr` has no quasi-affine form."""

    def __init__(self, expr: Expr):
        self.expr = expr
        super().__init__(f"not affine: {expr}")


@dataclass(frozen=True)
class AffineSpace:
    """The instances of one statement: its name, iterators (outermost first), and the size parameters."""

    name: str
    iterators: tuple[str, ...]
    sizes: tuple[str, ...]

    @cached_property
    def space(self) -> isl.Space:
        space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, len(self.sizes), len(self.iterators))
        for kind, names in ((isl.dim_type.param, self.sizes), (isl.dim_type.set, self.iterators)):
            for k, name in enumerate(names):
                space = space.set_dim_name(kind, k, name)
        return space.set_tuple_name(isl.dim_type.set, self.name)

    @cached_property
    def universe(self) -> isl.Set:
        return isl.Set.universe(self.space)

    def function(self, expr: Expr) -> isl.PwAff:
        """The value of an integer expression as a function of the instance; NotAffine if there is none."""
        match expr:
            case Const(value=value, dtype=t) if t == i64:
                return self._constant(int(value))
            case Var(name=name) if name in self.iterators:
                return self._variable(isl.dim_type.set, self.iterators.index(name))
            case Var(name=name) if name in self.sizes:
                return self._variable(isl.dim_type.param, self.sizes.index(name))
            case Unary(op="-", arg=arg):
                return self.function(arg).neg()
            case Binary() if expr.dtype == i64:
                return self._binary(expr)
            case Select(cond=cond, then=then, other=other) if expr.dtype == i64:
                where = self.where(cond)
                yes = self.function(then).intersect_domain(where)
                return yes.union_add(self.function(other).intersect_domain(where.complement()))
        raise NotAffine(expr)

    def where(self, cond: Expr) -> isl.Set:
        """The instances for which a boolean expression holds; NotAffine if that is no quasi-affine set."""
        match cond:
            case Const(value=value, dtype=t) if t == boolean:
                return self.universe if value else self.universe.complement()
            case Unary(op="!", arg=arg):
                return self.where(arg).complement()
            case Binary(op="&&", left=left, right=right):
                return self.where(left).intersect(self.where(right))
            case Binary(op="||", left=left, right=right):
                return self.where(left).union(self.where(right))
            case Binary(op=op, left=left, right=right) if op in _RELATIONS and left.dtype == i64:
                return getattr(self.function(left), _RELATIONS[op])(self.function(right))
        raise NotAffine(cond)

    def has(self, *exprs: Expr) -> bool:
        """Have all of these, integers and conditions, a quasi-affine form?"""
        try:
            for expr in exprs:
                self.where(expr) if expr.dtype == boolean else self.function(expr)
        except NotAffine:
            return False
        return True

    def _binary(self, expr: Binary) -> isl.PwAff:
        left, right = self.function(expr.left), self.function(expr.right)
        match expr.op:
            case "+" | "-" | "min" | "max":
                return getattr(left, {"+": "add", "-": "sub"}.get(expr.op, expr.op))(right)
            case "*" if left.is_cst() or right.is_cst():
                return left.mul(right)
            case "floordiv" if _nonzero(right):
                return left.div(right).floor()
            case "floormod" if _nonzero(right):
                return left.sub(right.mul(left.div(right).floor()))
            case "truncdiv" if _nonzero(right):
                return left.tdiv_q(right)
            case "truncmod" if _nonzero(right):
                return left.tdiv_r(right)
        raise NotAffine(expr)

    def _constant(self, value: int) -> isl.PwAff:
        local = isl.LocalSpace.from_space(self.space)
        return isl.PwAff.from_aff(isl.Aff.val_on_domain(local, isl.Val.int_from_si(isl.DEFAULT_CONTEXT, value)))

    def _variable(self, kind: isl.dim_type, position: int) -> isl.PwAff:
        return isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(self.space), kind, position))


_RELATIONS = {"==": "eq_set", "!=": "ne_set", "<": "lt_set", "<=": "le_set", ">": "gt_set", ">=": "ge_set"}


def _nonzero(function: isl.PwAff) -> bool:
    """Is it one constant, and not zero?"""
    return bool(function.is_cst()) and not function.is_equal(function.sub(function))


def sizes_where(condition: Expr, sizes: Sequence[str]) -> isl.Set:
    """{ : condition }; NotAffine if that is no quasi-affine set."""
    return AffineSpace("", (), tuple(sizes)).where(condition).params()


def is_name(word: str) -> bool:
    """May the word name a size or a loop? isl keeps some for itself, such as max and mod."""
    try:
        isl.Set(f"{{ [{word}] }}")
    except isl.Error:
        if isl.is_exhausted():
            raise
        return False
    return True


def condition(sizes: isl.Set) -> Expr:
    """The boolean expression that tells the sizes in { : ... } from others; the true constant if all are in it."""
    if sizes.plain_is_universe():
        return Const(True, boolean)
    return expression(_free_build(sizes).expr_from_set(sizes), _size_names(sizes))


def element_names(rank: int) -> tuple[str, ...]:
    """Names for the subscripts of an element; no size and no iterator has one of them."""
    return tuple(f"@{k}" for k in range(rank))


def value_at(function: isl.PwAff, iterators: Sequence[str]) -> Expr:
    """The integer expression of a function of sizes and iterators, { S[i, j] -> [f(n, i, j)] }, where it is defined."""
    for k, name in enumerate(iterators):
        function = function.set_dim_id(isl.dim_type.in_, k, isl.Id(name))
    sizes = function.dim(isl.dim_type.param)
    moved = function.move_dims(isl.dim_type.param, sizes, isl.dim_type.in_, 0, len(iterators))
    return value(moved.project_domain_on_params())


def everywhere(function: isl.PwAff) -> isl.PwAff:
    """The function beyond its domain, if it is one there: so that expressions of equal functions are equal."""
    pieces = function.coalesce().get_pieces()
    return isl.PwAff.from_aff(pieces[0][1]) if len(pieces) == 1 else function


def value(function: isl.PwAff) -> Expr:
    """The integer expression of a function of the sizes, { [f(n)] }, where it is defined."""
    return expression(_free_build(function.domain()).expr_from_pw_aff(function), _size_names(function.domain()))


def _free_build(sizes: isl.Set) -> isl.AstBuild:
    return isl.AstBuild.from_context(isl.Set.universe(sizes.get_space()))


def _size_names(sizes: isl.Set) -> dict[str, Expr]:
    return {name: Var(name) for name in isl.sizes_of(sizes)}


def expression(ast: isl.AstExpr, names: dict[str, Expr]) -> Expr:
    """An isl AST expression as IR; `names` gives the meaning of its identifiers."""
    kind = ast.get_type()
    if kind == isl.ast_expr_type.int:
        return Const(ast.get_val().get_num_si())
    if kind == isl.ast_expr_type.id:
        return names[ast.get_id().get_name()]
    args = [expression(ast.get_op_arg(k), names) for k in range(ast.get_op_n_arg())]
    op = isl.ast_expr_op_type(ast.get_op_type())
    if op in _FOLDED:  # isl's min, max and sums may have any number of operands
        first, *rest = args
        for arg in rest:
            first = Binary(_FOLDED[op], first, arg)
        return first
    if op in (isl.ast_expr_op_type.cond, isl.ast_expr_op_type.select):
        return Select(*args)
    if op == isl.ast_expr_op_type.minus:
        return Unary("-", args[0])
    raise AssertionError(f"isl AST operator {op.name} has no meaning in an index expression")


_OP = isl.ast_expr_op_type
_FOLDED = {
    _OP.and_: "&&", _OP.or_: "||",  # type: ignore[attr-defined]
    _OP.and_then: "&&", _OP.or_else: "||", _OP.max: "max", _OP.min: "min",
    _OP.add: "+", _OP.sub: "-", _OP.mul: "*",
    _OP.div: "truncdiv",  # exact
    _OP.fdiv_q: "floordiv",
    _OP.pdiv_q: "truncdiv", _OP.pdiv_r: "truncmod",  # the dividend is not negative
    _OP.zdiv_r: "truncmod",  # only compared with zero
    _OP.eq: "==", _OP.le: "<=", _OP.lt: "<", _OP.ge: ">=", _OP.gt: ">",
}  # fmt: skip
