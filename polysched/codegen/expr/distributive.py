"""The distributive law, where it frees what does not change in a loop: multiples of the same are collected.

    k * (j + i) + (n + i) * 4           ->          k * j + n * 4 + (k + 4) * i             for an inner loop i

of which two operations are left in the loop, instead of five. Two's complement arithmetic distributes for every
operand, wrapped or not. Not in kernels of GPUs: there, names are registers, and small loops are unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.codegen.expr.rank import Scope
from polysched.codegen.expr.sums import Term, chain, sum_of, terms_of
from polysched.ir.node import flattened, walk
from polysched.ir.nodes import Binary, Const, Expr, Unary, Var

_Multiple = tuple[bool, Expr | None, Expr]  # whether it is subtracted, what changes, if anything, and how often


def distributed(terms: list[Term], scope: Scope) -> list[Term]:
    """The terms of a sum of integers, multiplied out and collected where fewer products change with the innermost loop
    then, and no more operations; the same for what does not change with it."""
    rank = max(scope.rank(term) for _, term in terms)
    if rank == 0:
        return terms
    before, collected = _changing(terms, scope, rank), _collected(terms, scope, rank)
    after = _changing(collected, scope, rank)
    if after.count("*") < before.count("*") and len(after) <= len(before):
        terms = collected
    fixed = [term for term in terms if scope.rank(term[1]) < rank]
    changing = [term for term in terms if scope.rank(term[1]) == rank]
    return [*distributed(fixed, scope), *changing] if fixed else terms


def _changing(terms: list[Term], scope: Scope, rank: int) -> list[str]:
    """The operators of their sum whose values change with the loop, "" for what else is computed."""
    nodes = walk(sum_of(terms, scope))
    changing = (node for node in nodes if not isinstance(node, Const | Var) and scope.rank(node) == rank)
    return [getattr(node, "op", "") for node in changing]


def _collected(terms: list[Term], scope: Scope, rank: int) -> list[Term]:
    """The terms multiplied out, with one for the multiples of each factor that changes."""
    found: dict[Expr | None, list[Term]] = {}
    for minus, term in terms:
        for is_subtracted, factor, times in _multiples(term, minus, scope, rank):
            found.setdefault(factor, []).append((is_subtracted, times))
    collected: list[Term] = []
    for factor, multiples in found.items():
        if factor is None:
            collected += (part for minus, term in multiples for part in terms_of(term, minus))
        else:
            minus, times = multiples[0] if len(multiples) == 1 else (False, sum_of(multiples, scope))
            collected.append((minus, _product([factor, times], scope)))
    return collected


def _multiples(term: Expr, minus: bool, scope: Scope, rank: int) -> Iterator[_Multiple]:
    """The term as a sum of multiples of what changes with the loop, and of what does not."""
    if scope.rank(term) < rank:
        yield minus, None, term
        return
    factors = list(flattened(term, "*"))
    fixed, changing = ([f for f in factors if (scope.rank(f) == rank) is changes] for changes in (False, True))
    match changing:
        case [Binary("+" | "-") | Unary("-") as total]:
            for is_subtracted, part in terms_of(total, minus):
                for below, factor, times in _multiples(part, is_subtracted, scope, rank):
                    yield below, factor, _product([*fixed, times], scope)
        case _:
            yield minus, _product(changing, scope), _product(fixed or [Const(1, term.dtype)], scope)


def _product(factors: list[Expr], scope: Scope) -> Expr:
    """Without ones."""
    one = Const(1, factors[0].dtype)
    flat = [part for factor in factors for part in flattened(factor, "*") if part != one]
    return chain("*", flat or [one], scope)
