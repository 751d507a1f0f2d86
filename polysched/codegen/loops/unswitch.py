"""Moves conditions out of the loops in which they do not change, as far out as they can go: a loop for each outcome.

    for i in 0..n:                          for i in 0..n:
        for j in 0..m:                          if i < 2:
            if i < 2:               ->              for j in 0..m:
                A[j] = 1                                A[j] = 1
            else:                               else:
                A[j] = 2                            for u0 in 0..m:
                                                        A[u0] = 2

Of `a && b` the part that does not change moves; the condition of a Select moves as that of an If. Inside of each copy
the outcome is known, so all conditions that are equal or opposite to it are gone.

May: a condition leaves a loop if it can be evaluated where it would not be (`Scope.rank`: it loads nothing and cannot
trap). Loops that are spread over threads or blocks, and those around them, stay as they are: the launches of kernels,
their grids and OpenMP's regions depend on them.

Should: loops of few iterations are unrolled by compilers, which then resolve conditions: they count as statements.
If only the head of a loop would be copied, always. Else if
- the condition neither stands beside other loops nor around one: it is tested where the time is spent;
- what is copied is small, so that the test is a part of the work: at most `most_growth` operations;
- no statement gets more than four copies in all, so that a function grows to less than four times its size;
- all threads agree: those of a warp that do not would run through both copies, one after the other, and meet at
  different copies of a barrier.

Keeps: which elements are stored, in which order, and every trap; no element is loaded that was not. Names are bound
once if they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from polysched.codegen.expr.conditions import claim, merged
from polysched.codegen.expr.cost import cost
from polysched.codegen.expr.rank import Scope
from polysched.codegen.lowered import changed, if_changed, is_mapped, own_expressions
from polysched.config.heuristics.code import CANDIDATES, COPIED_OPERATIONS, DEAREST_LET, DEEPEST_COPIES, SHORT_LOOP
from polysched.ir.build import conjunction
from polysched.ir.dtypes import boolean
from polysched.ir.effects import may_be_dropped, may_change
from polysched.ir.node import flattened, rewrite, substitute, variables, walk
from polysched.ir.node import statements as every
from polysched.ir.nodes import PARALLEL, Alloc, Binary, Const, Expr, For, Function, If, Let, Select, Stmt, Unary
from polysched.ir.rename import bound_names, fresh_names, rename_bound, used_names
from polysched.ir.simplify import simplify
from polysched.model.loops import trip_count

Claim = tuple[Expr, bool]


def unswitch(fn: Function, *, most_growth: int = COPIED_OPERATIONS) -> Function:
    """`fn` with each invariant condition above the outermost loop that it can leave, if that copies no more than
    `most_growth` operations into both of its branches."""
    while True:
        body = _Unswitcher(fn, most_growth).block(fn.body, _Around(Scope(frozenset(fn.sizes))))
        if body is fn.body or body == fn.body:
            return fn
        fn = replace(fn, body=body)  # the outcome of one condition may let another one out


@dataclass(frozen=True)
class _Around:
    """What is known at a place."""

    scope: Scope
    in_threads: bool = False  # of a GPU
    differs: frozenset[str] = frozenset()  # names whose values the threads of a block may disagree on
    branches: int = 0  # ifs with an else around

    def entering(self, loop: For) -> _Around:
        in_threads = self.in_threads or loop.kind.startswith("thread")
        differs = loop.kind.startswith("thread") or self.disagree_on(loop.lo) or self.disagree_on(loop.hi)
        names = self.differs | {loop.var} if differs else self.differs
        return replace(self, scope=self.scope.inside(loop), in_threads=in_threads, differs=names)

    def after(self, let: Let) -> _Around:
        names = self.differs | {let.name} if self.disagree_on(let.value) else self.differs
        scope = self.scope.binding(let.name, self.scope.rank(let.value), let.value)
        return replace(self, scope=scope, differs=names)

    def branching(self, stmt: If) -> tuple[_Around, _Around]:
        """In the two branches."""
        here = replace(self, branches=self.branches + bool(stmt.then and stmt.other))
        return replace(here, scope=self.scope.under(stmt.cond)), here

    def disagree_on(self, expr: Expr) -> bool:
        """Whether the threads of a block may have different values for it."""
        return self.in_threads and (may_change(expr) or not self.differs.isdisjoint(variables(expr)))


class _Unswitcher:
    """Walks down once; conditions leave one loop after the other on the way back."""

    def __init__(self, fn: Function, most_growth: int):
        self.fn, self.most_growth = fn, most_growth

    @cached_property
    def bindings(self) -> Counter[str]:
        return Counter(bound_names(self.fn.body))

    @cached_property
    def fresh(self) -> Iterator[str]:
        return fresh_names("u", used_names(self.fn))

    def block(self, statements: tuple[Stmt, ...], around: _Around) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in statements:
            for new in self.stmt(stmt, around):
                both = merged(out[-1], new) if out else None
                out[-1:] = [both] if both else [*out[-1:], new]
            if isinstance(stmt, Let):
                around = around.after(stmt)
        return if_changed(statements, tuple(out))

    def stmt(self, stmt: Stmt, around: _Around) -> tuple[Stmt, ...]:
        match stmt:
            case For(body=body):
                return self.split(changed(stmt, body=self.block(body, around.entering(stmt))), around)
            case If(_, then, other):
                at_then, at_other = around.branching(stmt)
                return (changed(stmt, then=self.block(then, at_then), other=self.block(other, at_other)),)
        return (stmt,)

    def split(self, loop: For, around: _Around) -> tuple[Stmt, ...]:
        """A loop for each outcome of the first condition in its body that may and should leave `loop`, if there is."""
        if _is_spread(loop) or _is_short(loop) or not any(map(_has_test, _direct(loop.body))):
            return (loop,)
        values = self.values(loop)
        for operands in islice(self.candidates(loop, around, values), CANDIDATES):
            cond = conjunction(operands)
            outcomes = [_Known(dict(map(claim, operands)), holds, values) for holds in (True, False)]
            if self.is_worth_it(cond, loop, around, outcomes) and not any(map(_is_spread, every(loop.body))):
                then, other = (_given(loop, known, self.bindings) for known in outcomes)
                if (loop,) in (then, other):  # an outcome decides nothing, and would be asked for again inside
                    continue
                other = self.apart(other, set(bound_names(then)))
                at_then, at_other = around.branching(If(cond, then, other))
                then, other = self.again(then, at_then), self.again(other, at_other)
                return simplify((If(cond, then, other, loop.loc),))
        return (loop,)

    def apart(self, body: tuple[Stmt, ...], taken: set[str]) -> tuple[Stmt, ...]:
        return rename_bound(body, lambda name: next(self.fresh) if name in taken else name)

    def again(self, loops: tuple[Stmt, ...], around: _Around) -> tuple[Stmt, ...]:
        return tuple(new for loop in loops for new in (self.split(loop, around) if isinstance(loop, For) else (loop,)))

    def values(self, loop: For) -> dict[str, Expr]:
        """Those of the names that Lets in its body bind, if nothing else binds them; without each other."""
        values: dict[str, Expr] = {}
        for let in _direct(loop.body):
            if isinstance(let, Let) and self.bindings[let.name] <= 1:
                value = substitute(let.value, values)
                if cost(value) <= DEAREST_LET:
                    values[let.name] = value
        return values

    # --- may

    def candidates(self, loop: For, around: _Around, values: dict[str, Expr]) -> Iterator[tuple[Expr, ...]]:
        """The conditions in its body that can be evaluated before `loop`, each as operands of `&&`, in source order."""
        inside = {stmt.name for stmt in _direct(loop.body) if isinstance(stmt, Let)}
        found: dict[frozenset[Claim], tuple[Expr, ...]] = {}
        for cond, scope in _tests(loop.body, around.entering(loop)):
            movable = (each for each in flattened(cond, "&&") if scope.rank(each) <= around.scope.depth)
            plain = (substitute(each, values) for each in movable)
            free = tuple(each for each in plain if inside.isdisjoint(variables(each)))
            if free and not any(isinstance(each, Const) for each in free):
                claims = frozenset(map(claim, free))
                if len(claims) == 1:  # the opposite is as good
                    claims = frozenset((expr, True) for expr, _ in claims)
                found.setdefault(claims, free)
        return iter(found.values())

    # --- should

    def is_worth_it(self, cond: Expr, loop: For, around: _Around, outcomes: list[_Known]) -> bool:
        """Whether nothing is copied, or little."""
        may_copy = around.branches < DEEPEST_COPIES and not around.disagree_on(cond)
        may_copy = may_copy and not _guards_loop(loop.body, outcomes)
        operations = 0
        for stmt in _copied(loop.body, outcomes):
            operations += 1 + sum(map(cost, own_expressions(stmt)))
            is_large = isinstance(stmt, For) or (isinstance(stmt, Alloc) and stmt.array.space == "shared")
            if not may_copy or is_large or operations > self.most_growth:
                return False
        return True


@dataclass(frozen=True)
class _Known:
    """What follows if a condition, a conjunction of claims, has this outcome."""

    claims: dict[Expr, bool]
    holds: bool
    values: dict[str, Expr]  # of names

    def outcome(self, cond: Expr) -> bool | None:
        """That of `cond`; None if it is open, or what decides it comes after what must be evaluated."""
        expr, holds = claim(substitute(cond, self.values))
        if expr in self.claims and (self.holds or len(self.claims) == 1):
            return (self.claims[expr] == holds) == self.holds
        match cond:
            case Const(value=value):
                return bool(value)
            case Unary("!", arg):
                outcome = self.outcome(arg)
                return None if outcome is None else not outcome
            case Binary("&&" | "||" as op, left, right):
                decides = op == "||"
                one, two = self.outcome(left), self.outcome(right)
                if one is decides or ((two is decides or self.is_refuted(cond)) and may_be_dropped(left)):
                    return decides
                return None if one is None or two is None else not decides
        return None

    def is_refuted(self, cond: Expr) -> bool:
        """Whether it is a conjunction that claims all of what does not hold together."""
        if self.holds or not isinstance(cond, Binary) or cond.op != "&&":
            return False
        claims = {claim(substitute(each, self.values)) for each in flattened(cond, "&&")}
        return claims.issuperset(self.claims.items())


def _copied(body: tuple[Stmt, ...], outcomes: list[_Known]) -> Iterator[Stmt]:
    """What every outcome leaves of the statements and loops directly in `body`."""
    for stmt in body:
        match stmt:
            case For(body=inner) if _is_short(stmt):
                yield from _copied(inner, outcomes)
            case If(cond, then, other):
                found = {known.outcome(cond) for known in outcomes}
                if False not in found:
                    yield from _copied(then, outcomes)
                if True not in found:
                    yield from _copied(other, outcomes)
            case Let(_, value) if value.dtype == boolean and None not in {known.outcome(value) for known in outcomes}:
                pass
            case _:
                yield stmt


def _guards_loop(body: tuple[Stmt, ...], outcomes: list[_Known]) -> bool:
    """Whether a loop runs or not depending on the outcome."""
    ifs = (stmt for stmt in _direct(body) if isinstance(stmt, If) and outcomes[0].outcome(stmt.cond) is not None)
    return any(isinstance(node, For) and not _is_short(node) for stmt in ifs for node in every((stmt,)))


def _given(loop: For, known: _Known, bindings: Counter[str]) -> tuple[Stmt, ...]:
    """What is left of `loop` with that outcome."""

    def rule(node: Expr | Stmt) -> Any:
        match node:
            case If(cond, then, other) if (outcome := known.outcome(cond)) is not None:
                taken = then if outcome else other
                names = (n.name if isinstance(n, Let) else n.array.name for n in taken if isinstance(n, Let | Alloc))
                # Names that other blocks bind, too, must not come into the scope around.
                return taken if all(bindings[name] <= 1 for name in names) else None
            case Expr() if node.dtype == boolean and (outcome := known.outcome(node)) is not None:
                return Const(outcome, boolean)
        return None

    return simplify(rewrite((loop,), rule))


def _is_spread(node: Any) -> bool:
    """Is it a loop over threads or blocks?"""
    return is_mapped(node) or (isinstance(node, For) and node.kind in PARALLEL)


def _is_short(loop: For) -> bool:
    """Do compilers unroll it?"""
    trips = trip_count(loop)
    return loop.kind == "unrolled" or (trips is not None and trips <= SHORT_LOOP)


def _tests(body: tuple[Stmt, ...], around: _Around) -> Iterator[tuple[Expr, Scope]]:
    """The conditions directly in `body`, each with its scope."""
    for stmt in body:
        for node in walk(tuple(own_expressions(stmt))):
            if isinstance(node, Select):
                yield node.cond, around.scope
        match stmt:
            case Let():
                around = around.after(stmt)
            case For(body=inner) if _is_short(stmt):
                yield from _tests(inner, around.entering(stmt))
            case If(cond, then, other):
                yield cond, around.scope
                for branch, at_branch in zip((then, other), around.branching(stmt), strict=True):
                    yield from _tests(branch, at_branch)


def _has_test(stmt: Stmt) -> bool:
    return isinstance(stmt, If) or any(isinstance(node, Select) for node in walk(tuple(own_expressions(stmt))))


def _direct(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """The statements in `body`, those under conditions and in short loops included."""
    for stmt in body:
        yield stmt
        match stmt:
            case For(body=inner) if _is_short(stmt):
                yield from _direct(inner)
            case If(_, then, other):
                yield from _direct(then + other)
