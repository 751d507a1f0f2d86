"""What the statements of one instance do: operations by kind, reads and writes of arrays.

    C[i, j] = C[i, j] + A[i, k] * B[k, j]        f64 *: 1, f64 +: 1; read C, A, B: 1 each; write C: 1
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from polysched.ir.node import walk
from polysched.ir.nodes import LOGICAL, Binary, Call, Cast, Expr, For, If, Let, Load, Select, Stmt, Store, Unary

Event = tuple[str, str]  # ("operation", "f64 +"), ("read", "A") or ("write", "A")


@dataclass(frozen=True)
class Tally:
    """What the statements of one instance do."""

    times: Counter[Event] = field(default_factory=Counter)
    maybe: set[Event] = field(default_factory=set)  # those of which data decides whether all of them happen
    is_certain: bool = True  # does what is added now happen whatever the data?
    updated: tuple[str, tuple[Expr, ...]] | None = None  # the element that the statement stores to

    def add(self, what: str, name: str) -> None:
        self.times[what, name] += 1
        if not self.is_certain:
            self.maybe.add((what, name))

    @property
    def perhaps(self) -> Tally:
        """The same, to which is added what happens only where data says so."""
        return replace(self, is_certain=False)

    def statements(self, body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            match stmt:
                case Store(array=array, index=index, value=value):
                    self.add("write", array)
                    self.subscripts(index)
                    replace(self, updated=(array, index)).expression(value)
                case Let(value=value):
                    self.expression(value)
                case If(cond=cond, then=then, other=other):
                    self.expression(cond)
                    self.perhaps.statements((*then, *other))
                case For(body=inner):
                    self.perhaps.statements(inner)

    def expression(self, expr: Expr) -> None:
        match expr:
            case Load(array=array, index=index):
                self.add("read", array)
                if (array, index) != self.updated:
                    self.subscripts(index)
            case Binary(op=op, left=left, right=right):
                self.add("operation", f"{left.dtype} {op}")
                self.expression(left)
                (self.perhaps if op in LOGICAL else self).expression(right)
            case Unary(op=op, arg=arg):
                self.add("operation", f"{arg.dtype} {op}")
                self.expression(arg)
            case Select(cond=cond, then=then, other=other):
                self.add("operation", f"{then.dtype} select")
                self.expression(cond)
                self.perhaps.expression(then)
                self.perhaps.expression(other)
            case Call(fn=fn, args=args, dtype=dtype):
                self.add("operation", f"{dtype} {fn}")
                for arg in args:
                    self.expression(arg)
            case Cast(arg=arg):
                self.expression(arg)

    def subscripts(self, index: tuple[Expr, ...]) -> None:
        """What they load; their arithmetic costs nothing here."""
        for node in walk(index):
            if isinstance(node, Load):
                self.add("read", node.array)
