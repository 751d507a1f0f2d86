"""Do the loops that isl built run the instances that they were built for, all of them and no others?

    for (c0 = 5; c0 < n; c0 += 2)
      S(c0, n);                       [n] -> { [c0] -> S[c0, n] : c0 >= 5 and c0 < n and (c0 - 5) mod 2 = 0 }

The loops are read back as sets, so that what isl knew when it built them counts for nothing: of a few domains with
strides it runs one iteration instead of several. In which order instances run, and whether once, is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from polysched.support import isl


def has_strides(domain: isl.UnionSet) -> bool:
    """Does a division stand in the domain, as in { S[i] : i mod 2 = 0 }?"""
    return any(piece.dim(isl.dim_type.div) for part in isl.sets_of(domain) for piece in part.get_basic_sets())


def leaves_out_by_remainder(loops: isl.AstNode) -> bool:
    """Does a loop step over values, or a condition ask for a remainder?"""
    return any(" mod " in condition for call in _calls(loops, (), ()) for condition in call.where)


def runs_exactly(loops: isl.AstNode, domain: isl.UnionSet, context: isl.Set) -> bool:
    """Are the calls in `loops` the elements of `domain`, for all sizes in the context { : ... }?

    isl.Error where a value is computed with a choice between two, for which its sets have no words.
    """
    wanted = {part.get_tuple_name() or "": part for part in isl.sets_of(domain.intersect_params(context))}
    run = {name: isl.Set.empty(part.get_space()) for name, part in wanted.items()}
    for call in _calls(loops, (), ()):
        instances = call.instances(context)
        if instances.is_empty():
            continue
        if call.name not in wanted or not isl.covers(wanted[call.name], instances):
            return False
        run[call.name] = run[call.name].union(instances)
    return all(isl.covers(run[name], part) for name, part in wanted.items())


@dataclass(frozen=True)
class _Call:
    """A call in the loops, as text for isl."""

    name: str
    arguments: tuple[str, ...]
    iterators: tuple[str, ...]  # of the loops around
    where: tuple[str, ...]  # what holds in these and the conditions around

    def instances(self, context: isl.Set) -> isl.Set:
        """What it is called with: { S[i, j] : ... }"""
        calls = f"[{', '.join(self.iterators)}] -> {self.name}[{', '.join(self.arguments)}]"
        where, sizes = " and ".join(self.where) or "true", ", ".join(isl.sizes_of(context))
        relation = isl.Map(f"[{sizes}] -> {{ {calls} : {where} }}")
        return relation.range().intersect_params(context)


def _calls(node: isl.AstNode, iterators: tuple[str, ...], where: tuple[str, ...]) -> Iterator[_Call]:
    match isl.ast_node_type(node.get_type()):
        case isl.ast_node_type.block:
            below = node.block_get_children()
            for k in range(below.n_ast_node()):
                yield from _calls(below.get_at(k), iterators, where)
        case isl.ast_node_type.mark:
            yield from _calls(node.mark_get_node(), iterators, where)
        case isl.ast_node_type.if_:  # type: ignore[attr-defined]  # missing in the stubs
            condition = _text(node.if_get_cond())
            yield from _calls(node.if_get_then_node(), iterators, (*where, condition))
            if node.if_has_else_node():
                yield from _calls(node.if_get_else_node(), iterators, (*where, f"not {condition}"))
        case isl.ast_node_type.for_:  # type: ignore[attr-defined]
            iterator = node.for_get_iterator().get_id().get_name() or ""
            yield from _calls(node.for_get_body(), (*iterators, iterator), (*where, *_range(node, iterator)))
        case isl.ast_node_type.user:
            call = node.user_get_expr()
            arguments = (_text(call.get_op_arg(k)) for k in range(1, call.get_op_n_arg()))
            yield _Call(call.get_op_arg(0).get_id().get_name() or "", tuple(arguments), iterators, where)
        case kind:
            raise AssertionError(f"unknown AST node: {kind}")


def _range(loop: isl.AstNode, iterator: str) -> Iterator[str]:
    """What holds for the values of a loop's variable."""
    first = loop.for_get_init()
    if loop.for_is_degenerate():
        yield _by_case(first, lambda value: f"{iterator} = {value}")
        return
    yield from (_by_case(bound, lambda value: f"{iterator} >= {value}") for bound in _operands(first, _OP.max))
    yield _text(loop.for_get_cond())
    step = _text(loop.for_get_inc())
    if step != "1":
        yield _by_case(first, lambda value: f"({iterator} - {value}) mod {step} = 0")


def _by_case(value: isl.AstExpr, condition: Callable[[str], str]) -> str:
    """What the condition says of a value, which may be a choice between two."""
    if value.get_type() == isl.ast_expr_type.op and value.get_op_type() in (_OP.cond, _OP.select):
        case = _text(value.get_op_arg(0))
        then, other = (_by_case(value.get_op_arg(k), condition) for k in (1, 2))
        return f"(({case} and {then}) or (not {case} and {other}))"
    return condition(_text(value))


def _operands(value: isl.AstExpr, op: isl.ast_expr_op_type) -> list[isl.AstExpr]:
    """Those of a minimum or maximum; of other values, the value alone."""
    if value.get_type() == isl.ast_expr_type.op and value.get_op_type() == op:
        return [part for k in range(value.get_op_n_arg()) for part in _operands(value.get_op_arg(k), op)]
    return [value]


def _compared(one: isl.AstExpr, sign: str, other: isl.AstExpr) -> str:
    return _by_case(one, lambda left: _by_case(other, lambda right: f"{left} {sign} {right}"))


def _text(value: isl.AstExpr) -> str:
    """An expression of isl's loops as its sets have it."""
    if value.get_type() == isl.ast_expr_type.int:
        return str(value.get_val())
    if value.get_type() == isl.ast_expr_type.id:
        return value.get_id().get_name() or ""
    op = isl.ast_expr_op_type(value.get_op_type())
    operands = [value.get_op_arg(k) for k in range(value.get_op_n_arg())]
    if op in (_OP.le, _OP.lt):  # a comparison with each keeps the set in one piece
        small, great = _operands(operands[0], _OP.max), _operands(operands[1], _OP.min)
        return f"({' and '.join(_compared(one, _SIGN[op], other) for one in small for other in great)})"
    texts = [_text(operand) for operand in operands]
    match op:
        case _OP.min | _OP.max:
            return f"{op.name}({', '.join(texts)})"
        case _OP.minus:
            return f"(-{texts[0]})"
        case _OP.div | _OP.fdiv_q | _OP.pdiv_q:  # exact, down, and of what is not negative: the same
            return f"floor(({texts[0]})/{texts[1]})"
        case _OP.pdiv_r | _OP.zdiv_r:  # that of zdiv is only compared with zero
            return f"(({texts[0]}) mod {texts[1]})"
        case _ if op in _SIGN:
            return f"({f' {_SIGN[op]} '.join(texts)})"
    raise isl.Error(f"sets have no {op.name}")


_OP = isl.ast_expr_op_type
_SIGN = {
    _OP.and_: "and", _OP.and_then: "and", _OP.or_: "or", _OP.or_else: "or",  # type: ignore[attr-defined]
    _OP.add: "+", _OP.sub: "-", _OP.mul: "*",
    _OP.eq: "=", _OP.le: "<=", _OP.lt: "<", _OP.ge: ">=", _OP.gt: ">",
}  # fmt: skip
