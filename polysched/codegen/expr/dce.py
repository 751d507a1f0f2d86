"""Dead code elimination: what no one uses is not computed.

    def f(n: size, A: f64[n]):                  def f(n: size, A: f64[n]):
        alloc s: private f64[8]                     for i in 0..n:
        t = n * 2                                       A[i] = 0.0
        for i in 0..n:                  ->
            s[0] = s[0] + A[t]
            A[i] = 0.0
        for j in 0..t: pass

Used are the arrays that the caller passed, conditions and bounds around what is used, and what those are computed
from. Allocated arrays that only updates of themselves read are not.

Keeps: every trap and effect, but for loads that nobody needs, which are in bounds. Barriers stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from polysched.codegen.lowered import changed, if_changed, names_in
from polysched.ir.effects import may_be_dropped
from polysched.ir.node import map_list
from polysched.ir.nodes import Alloc, Barrier, Const, Expr, For, Function, If, Let, Prefetch, Stmt, Store
from polysched.ir.rename import bound_names


def dce(fn: Function) -> Function:
    """`fn` without what nobody uses, the same object if there is nothing of the kind."""
    live = {array.name for array in fn.arrays}
    bindings = Counter(bound_names(fn.body))
    while True:
        known = len(live)
        body = _Sweeper(live, bindings).block(fn.body)
        if len(live) == known:  # else once more: a loop may read what a later statement of it stores
            return changed(fn, body=body)


class _Sweeper:
    """Walks from the end to the start; what a statement that stays uses is live from there on."""

    def __init__(self, live: set[str], bindings: Mapping[str, int]):
        self.live = live  # names; grows
        self.bindings = bindings  # how often each name is bound

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return if_changed(body, map_list(body[::-1], self.stmt)[::-1])

    def stmt(self, stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        """The statement without what is dead in it; nothing if all of it is."""
        match stmt:
            case Let(name, value):
                return self.kept(stmt, name in self.live, value)
            case Store(array, index, value):
                kept = self.kept(stmt, array in self.live, *index, value)
                if kept is stmt:
                    self.live.add(array)
                return kept
            case Alloc(array):
                return self.kept(stmt, array.name in self.live, *array.shape)
            case For(_, lo, hi, body=body, when=when, reduces=arrays):
                body = self.block(body)
                reduces = tuple(name for name in arrays if name in self.live)
                stmt = changed(stmt, body=body, reduces=arrays if reduces == arrays else reduces)
                return self.kept(stmt, bool(body), lo, hi, *when)
            case If(Const(value=True), then) if all(self.bindings[name] == 1 for name in bound_names(then)):
                return self.block(then)[::-1]  # no name clashes with those around
            case If(cond, then, other):
                other, then = self.block(other), self.block(then)
                return self.kept(changed(stmt, then=then, other=other), bool(then or other), cond)
            case Prefetch(array, index):
                return self.kept(stmt, array in self.live, *index)
            case Barrier():
                return stmt
        raise TypeError(f"unknown statement {type(stmt).__name__}")

    def kept(self, stmt: Stmt, needed: bool, *exprs: Expr) -> Stmt | tuple[Stmt, ...]:
        """`stmt` if it is needed, or an expression of it has to be evaluated anyway; and what they use is live."""
        if not needed and all(map(may_be_dropped, exprs)):
            return ()
        self.live.update(*map(names_in, exprs))
        return stmt
