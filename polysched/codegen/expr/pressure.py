"""Takes back temporaries where a loop has more of them than registers: those that one addition recomputes.

    t0 = i * m                              t0 = i * m
    t1 = t0 + k                 ->          for j in 0..n:
    for j in 0..n:                              A[t0 + k + j] = B[t0 + j]
        A[t1 + j] = B[t0 + j]

A name lives across a loop if it is bound outside of it and used in it; then it takes a register in all loops inside,
too. What is taken back is a sum or a difference of constants and names that live there anyway. It costs an addition
where it is used, so it is done only where `budget` is exceeded, the least used first.

Needs: no name is bound again inside the scope of its binding.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

from polysched.codegen.lowered import own_expressions
from polysched.ir.node import rewrite, statements, substitute, walk
from polysched.ir.nodes import Binary, Const, Expr, For, Function, If, Let, Stmt, Var
from polysched.ir.rename import bound_names

Path = tuple[int, ...]  # numbers of the loops around, outermost first


def relieve(fn: Function, *, budget: int) -> Function:
    """`fn` with temporaries taken back where more than `budget` integer ones live across a loop."""
    while (name := _spare(fn, budget)) is not None:
        fn = _taken_back(fn, name)
    return fn


@dataclass
class _Lives:
    """Where names are bound and used."""

    fn: Function
    loops: list[Path] = field(default_factory=list)  # each with its own number last
    lets: dict[str, tuple[Let, Path]] = field(default_factory=dict)  # integers bound by Let, and the loops around
    variables: dict[str, Path] = field(default_factory=dict)  # of loops, with the loop itself
    uses: dict[str, list[Path]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.visit(self.fn.body, ())

    def visit(self, body: tuple[Stmt, ...], around: Path) -> None:
        for stmt in body:
            for node in walk(tuple(own_expressions(stmt))):
                if isinstance(node, Var):
                    self.uses[node.name].append(around)
            match stmt:
                case Let(name, value) if not value.dtype.is_float:
                    self.lets[name] = stmt, around
                case For(var, body=inner):
                    path = (*around, len(self.loops))
                    self.loops.append(path)
                    self.variables[var] = path
                    self.visit(inner, path)
                case If(then=then, other=other):
                    self.visit(then, around)
                    self.visit(other, around)

    def across(self, name: str) -> set[int]:
        """The outermost loops that the name lives across."""
        bound = self.lets[name][1] if name in self.lets else self.variables.get(name, ())
        return {use[len(bound)] for use in self.uses[name] if len(use) > len(bound)}

    def temporaries(self) -> dict[Path, set[str]]:
        """The integer temporaries that live across each loop."""
        here: dict[int, set[str]] = defaultdict(set)
        for name in self.lets:
            for loop in self.across(name):
                here[loop].add(name)
        return {path: set().union(*(here[loop] for loop in path)) for path in self.loops}

    def is_spare(self, name: str) -> bool:
        """Is it a sum of what lives across all loops that it lives across?"""
        let, _ = self.lets[name]
        match let.value:
            case Binary("+" | "-", left, right):
                return all(self.lives_across(operand, name) for operand in (left, right))
        return False

    def lives_across(self, operand: Expr, name: str) -> bool:
        if isinstance(operand, Const):
            return True
        if not isinstance(operand, Var):
            return False
        if operand.name in self.variables:  # it counts the iterations, until the last one
            return True
        others = self.across(operand.name)
        return all(any(loop in others for loop in path) for path in self.loops if path[-1] in self.across(name))


def _spare(fn: Function, budget: int) -> str | None:
    """The temporary to take back next."""
    if sum(isinstance(stmt, Let) for stmt in statements(fn.body)) <= budget:
        return None
    lives = _Lives(fn)
    crowded = [names for names in lives.temporaries().values() if len(names) > budget]
    if not crowded:
        return None
    times = Counter(bound_names(fn.body))
    spare = {name for name in set().union(*crowded) if times[name] == 1 and lives.is_spare(name)}

    def price(name: str) -> tuple[int, int, int]:
        deepest = max(map(len, lives.uses[name]))
        return deepest, len(lives.uses[name]), order[name]

    order = {name: k for k, name in enumerate(lives.lets)}
    return min(spare, key=price, default=None)


def _taken_back(fn: Function, name: str) -> Function:
    (let,) = (stmt for stmt in statements(fn.body) if isinstance(stmt, Let) and stmt.name == name)
    body = rewrite(fn.body, lambda node: () if node is let else None)
    return replace(fn, body=substitute(body, {name: let.value}))
