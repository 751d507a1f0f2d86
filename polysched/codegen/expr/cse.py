"""Elimination of common subexpressions: compute once what is the same where it has been computed for certain.

    A[x * y + z * w] = B[x * y + z * w + 1]                 t0 = x * y + z * w
    if c:                                       ->          A[t0] = B[t0 + 1]
        A[0] = floordiv(x * y + z * w, w)                   if c:
    s = floordiv(x * y + z * w, w)                              A[0] = floordiv(t0, w)
                                                            s = floordiv(t0, w)

Values are compared by their numbers (`value_numbers`). A repeated one takes the first name that it is given; if it has
none, it gets one directly before the statement that computes it first, which evaluates it whatever happens: so nothing
is evaluated that was not, and nothing traps earlier than in that statement. A value of one branch is not used in the
other.

A name costs a register, so it has to be worth it. What costs less than `threshold` is computed again; and so is what
was last used too long ago: more than `reach` statements for each operation that it saves. The constant that ends a
subscript stays in it, as the immediate offset of an address.

Needs: no name is bound again inside the scope of its binding.
Keeps: which elements are stored, in which order; every trap and effect. What is made of loads stays the same up to a
store to one of the arrays, in one block; different arrays share no memory. Bounds of the block and thread loops of a
GPU stay as they are, and so does all outside of them: a name would be a value of the host there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from polysched.codegen.expr.cost import COSTS, cost
from polysched.codegen.expr.value_numbers import HasEffects, ValueNumbers
from polysched.codegen.lowered import changed, if_changed, in_subscripts, is_mapped, own_expressions
from polysched.config.heuristics.code import SHARED_REACH
from polysched.ir.available import Available
from polysched.ir.effects import evaluated
from polysched.ir.node import map_children, substitute
from polysched.ir.nodes import Barrier, Binary, Const, Expr, For, Function, If, Let, Load, Stmt, Store, Var
from polysched.ir.rename import bound_names, fresh_names, numbered_in_order, used_names


def cse(
    fn: Function, *, threshold: int = 3, costs: Mapping[str, int] = COSTS, reach: int = SHARED_REACH, gpu: bool = False
) -> Function:
    """`fn` with repeated expressions that cost `threshold` or more computed once, the same object if there are none.

    Elements of arrays that are loaded again are left to compilers: kernels' arrays are restrict. `gpu`: `fn` is for a
    GPU, even if it has no block and thread loops.
    """
    merger = _Merger(fn, threshold, costs, reach, gpu)
    body = merger.block(fn.body)
    return fn if body is fn.body else replace(fn, body=numbered_in_order(body, merger.temporaries)[0])


@dataclass
class _Home:
    """A value in the statement that computes it first."""

    value: Expr
    last: int  # the statement that used it last
    name: str = ""  # none as long as nothing else uses it
    price: int | None = None  # None if not known yet


class _Merger:
    """Walks down once. What is computed first stays as it is until the end of its block; by then, it is known whether
    it needs a name."""

    def __init__(self, fn: Function, threshold: int, costs: Mapping[str, int], reach: int, gpu: bool):
        self.fn = fn
        self.threshold, self.costs, self.reach = threshold, costs, reach
        self.available: Available[_Home] = Available()
        self.numbers = ValueNumbers(self.available)
        self.passed: set[int] = set()  # what this statement may evaluate, up to here
        self.homes: list[_Home] = []  # of the statement under way
        self.named: dict[str, _Home] = {}
        self.replaced: dict[str, Expr] = {}  # names that went
        self.position = 0  # statements so far, but for Lets
        self.is_host = gpu  # outside of all kernels of a GPU
        self.temporaries: list[str] = []

    @cached_property
    def fresh(self) -> Iterator[str]:
        return fresh_names("t", used_names(self.fn))

    @cached_property
    def bindings(self) -> Counter[str]:
        return Counter(bound_names(self.fn.body))

    # --- statements

    def block(self, old: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        with self.available.block():
            done = []
            for stmt in old:
                self.position += 1
                done.append(self.statement(stmt))
                self.position -= isinstance(stmt, Let)  # so that new Lets change no distance
        for stmt in old:
            if isinstance(stmt, Let):  # another block may bind the name to something else
                self.numbers.bound.pop(stmt.name, None)
                self.replaced.pop(stmt.name, None)
        new = tuple(part for stmt, homes in done if stmt is not None for part in _with_names(stmt, homes))
        return if_changed(old, new)

    def statement(self, stmt: Stmt) -> tuple[Stmt | None, list[_Home]]:
        """The statement, or None if it goes, and the values that its own expressions compute first."""
        if self.replaced:
            stmt = map_children(stmt, lambda node: node if isinstance(node, Stmt) else substitute(node, self.replaced))
        own = () if self.is_host or is_mapped(stmt) else tuple(own_expressions(stmt))
        homes: list[_Home] = []
        self.homes = homes
        self.passed.clear()
        try:
            self.numbers.begin(own)
        except HasEffects:
            self.available.write_all()
            return self.inner(stmt), []
        match stmt:
            case Let() if own:
                return self.let(stmt), homes
            case Store(array, index, value) if own:
                new = self.expr(value)
                match value, new:
                    case (Binary("+" | "-" | "*" | "/", Load(name, old) as load), Binary(left=Load(_, place))) if (
                        name == array and old == index and not self.has_name(load)
                    ):
                        index = index if place is old else place  # as in A[i] += 1, which computes it once
                    case _:
                        index = in_subscripts(index, self.expr)
                stmt = changed(stmt, index=index, value=new)
                self.available.write(array)
            case For(lo=lo, hi=hi) if own:
                stmt = changed(stmt, lo=self.expr(lo), hi=self.expr(hi))
            case If(cond=cond) if own:
                stmt = changed(stmt, cond=self.expr(cond))
            case Barrier():
                self.available.write_all()
        return self.inner(stmt), homes

    def inner(self, stmt: Stmt) -> Stmt:
        """`stmt` with what is equal in its blocks merged."""
        match stmt:
            case For(body=body):
                is_host, self.is_host = self.is_host, self.is_host and not is_mapped(stmt)
                stmt = changed(stmt, body=self.block(body))
                self.is_host = is_host
            case If(then=then, other=other):
                stmt = changed(stmt, then=self.block(then), other=self.block(other))
        return stmt

    def let(self, stmt: Let) -> Stmt | None:
        """The Let, or None if what it computes has been computed before."""
        name, value, number = stmt.name, stmt.value, self.numbers[stmt.value]
        self.numbers.bound[name] = number
        home = None if isinstance(value, Const | Var) else self.home(number)
        if home and not home.name and self.bindings[name] == 1:  # the Let moves up
            home.name, self.named[name] = name, home
            self.use(home, value)
            return None
        same = value if isinstance(value, Var) else home and self.use(home, value)
        if isinstance(same, Var):
            self.replaced[name] = same
            return None
        stmt = changed(stmt, value=self.operands(value, True))
        if not isinstance(value, Const | Var):
            self.named[name] = home = _Home(stmt.value, self.position, name)
            self.available.add(number, home)
        return stmt

    # --- expressions

    def expr(self, expr: Expr, certain: bool = True) -> Expr:
        """`expr` with what is available replaced by its name; `certain`: the statement evaluates it in any case."""
        match expr:
            case Const():
                return expr
            case Var(name):
                if name in self.named:
                    self.named[name].last = self.position
                return expr
        number = self.numbers[expr]
        if home := self.home(number):
            return self.use(home, expr)
        new = self.operands(expr, certain)
        if isinstance(expr, Load):
            return new
        if not certain:
            self.passed.add(number)
            return new
        self.homes.append(_Home(new, self.position))
        self.available.add(number, self.homes[-1])
        if number in self.passed and (home := self.home(number)):
            self.use(home, expr)
        return new

    def operands(self, expr: Expr, certain: bool) -> Expr:
        """`expr` with what is available replaced in its operands."""
        match expr:
            case Load(_, index):
                return changed(expr, index=in_subscripts(index, lambda part: self.expr(part, certain)))
            case Const() | Var():
                return self.expr(expr, certain)
        sure = evaluated(expr) if certain else ()
        return map_children(expr, lambda child: self.expr(child, any(child is each for each in sure)))

    def has_name(self, expr: Expr) -> bool:
        home = self.available.find(self.numbers[expr])
        return home is not None and bool(home.name)

    def home(self, number: int) -> _Home | None:
        """Where the value has been computed, if it has a name or deserves one, and was used not too long ago."""
        home = self.available.find(number)
        if home is None:
            return None
        if home.price is None:
            home.price = self.price(home.value)
        is_worth_it = home.name or home.price >= self.threshold
        return home if is_worth_it and self.position - home.last <= self.reach * home.price else None

    def price(self, value: Expr) -> int:
        """What a name for it saves."""
        price = cost(value, self.costs)
        return max(price, self.threshold) if isinstance(value, Load) else price

    def use(self, home: _Home, expr: Expr) -> Var:
        """The name of a value that is available, in place of `expr`."""
        if not home.name:
            home.name = next(self.fresh)
            self.temporaries.append(home.name)
            self.named[home.name] = home
        self.numbers.bound[home.name] = self.numbers[expr]
        home.last = self.position
        return Var(home.name, expr.dtype)


def _with_names(stmt: Stmt, homes: list[_Home]) -> Iterator[Stmt]:
    """The statement after Lets for those of its values that have got a name."""
    names: dict[Expr, Var] = {}
    for home in homes:  # operands come before what is made of them
        if home.name:
            value = _in_names(home.value, names)
            yield Let(home.name, value, stmt.loc)
            names[home.value] = names[value] = Var(home.name, value.dtype)
    if not names:
        yield stmt
        return
    for value, name in tuple(names.items()):  # what may be evaluated before may have operands that got a name after
        names[map_children(value, lambda operand: _in_names(operand, names))] = name
    match stmt:
        case For(lo=lo, hi=hi):
            yield replace(stmt, lo=_in_names(lo, names), hi=_in_names(hi, names))
        case If(cond=cond):
            yield replace(stmt, cond=_in_names(cond, names))
        case Let() | Store():
            yield map_children(stmt, lambda expr: _in_names(expr, names))


def _in_names(expr: Expr, names: Mapping[Expr, Var]) -> Expr:
    """`expr` with what has a name replaced by it."""
    if not names or expr in names:
        return names.get(expr, expr)
    new: Expr = map_children(expr, lambda child: _in_names(child, names))
    return names.get(new, new)
