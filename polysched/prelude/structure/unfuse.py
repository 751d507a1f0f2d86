"""Fused loops taken apart: a loop for each of the digits that its body takes from the variable.

    for p in 0..n * h * w:                                   for b in 0..n:
        out[p] = a[p // (h * w), p // w % h, p % w]    ->        for y in 0..h:
                                                                     for x in 0..w:
                                                                         out[(b * h + y) * w + x] = a[b, y, x]

Digits are quotients and remainders by products that divide the bound, also those that temporaries name. A bound that
is a product of sizes is taken apart to its factors even so: it is not affine. Digits of two systems in one body, one of
which is no refinement of the other, cannot both become loops; the more frequent ones do.

Needs: a source nest, and bounds whose factors above zero have a product below 2^63: where it wraps, the fused loop
would end before its digits do. Calls of compiled nests are checked for that.
Keeps: the order of all iterations, every load and store but those of temporaries that name indices, and every trap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial, reduce
from itertools import chain, pairwise
from typing import Any

from polysched.ir.build import add, mul, sub
from polysched.ir.node import children, map_blocks, map_children, map_list, rewrite, walk
from polysched.ir.nodes import DIVISIONS, PARALLEL, Binary, Const, Expr, For, Function, Load, Stmt, Store, Var
from polysched.ir.rename import bound_names, fresh_names, used_names
from polysched.model.affine import AffineSpace, is_name
from polysched.prelude.structure.forward import forward_indices
from polysched.prelude.structure.radix import ONE, Digits, Number, Product, factors_of, product_of, products_in
from polysched.prelude.structure.rejoin import rejoined
from polysched.support import isl


def unfuse(fn: Function) -> Function:
    """`fn` with loops over products taken apart; the same object if there are none."""
    prepared, names = _with_digits_in_sight(fn)
    unfuser = _Unfuser(prepared, names, set(products_in(fn)))
    apart = unfuser.block(prepared.body)
    return replace(fn, body=apart) if unfuser.found else fn


def _with_digits_in_sight(fn: Function) -> tuple[Function, dict[Expr, str]]:
    """`fn` with index scalars put in, and blocks of iterations rejoined; and how the values of scalars were called."""
    body, names = forward_indices(fn)
    used = used_names(fn)
    whole, variables = rejoined(replace(fn, body=body), chain({"p"} - used, fresh_names("p", used)))
    if not variables:
        return whole, names
    body, more = forward_indices(whole)  # in one loop, quotients cannot trap
    return replace(whole, body=body), {rewrite(value, variables.get): name for value, name in names.items()} | more


class _Unfuser:
    """Takes loops apart, inner ones first. `checked` are the products that do not wrap: what was put together from
    scalars is not among them."""

    def __init__(self, fn: Function, names: dict[Expr, str], checked: set[Expr]):
        self.fn, self.names, self.checked = fn, names, checked
        self.used = used_names(fn)
        self.fresh = partial(fresh_names, taken=set(self.used))
        self.found = False

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(self.statement(stmt) for stmt in body)

    def statement(self, stmt: Stmt) -> Stmt:
        stmt = map_blocks(stmt, self.block)
        number = self.number(stmt) if isinstance(stmt, For) else None
        return self.apart(stmt, number) if isinstance(stmt, For) and number is not None else stmt

    def number(self, loop: For) -> Number | None:
        """What the loop counts, if that is from zero up to a product, or down to zero."""
        until = _end(loop)
        if until is None or loop.kind not in ("serial", *PARALLEL):
            return None
        end = product_of(until, self.fn.sizes)
        if isinstance(until, Binary) and until not in self.checked:
            return None
        # One factor may be negative: then the fused loop does not run, and that of the factor neither.
        if end is None or sum(not self.is_never_negative(atom) for atom in end.atoms) > 1:
            return None
        return Number(loop.var, end, self.fn.sizes)

    def is_never_negative(self, extent: Expr) -> bool:
        """... for sizes at which the arrays exist?"""
        condition = Binary(">=", extent, Const(0))
        return self.space.has(condition) and bool(self.sizes.is_subset(self.space.where(condition)))

    @cached_property
    def strides(self) -> Counter[Expr]:
        """How often subscripts step by what: where nothing else tells, rows of so many elements are the inner loops."""
        subscripts = [node.index for node in walk(self.fn.body) if isinstance(node, Load | Store)]
        steps = (node for node in walk(tuple(subscripts)) if isinstance(node, Binary) and node.op in ("*", *DIVISIONS))
        return Counter(factor for step in steps for factor in (*factors_of(step), *factors_of(step.right)))

    @cached_property
    def space(self) -> AffineSpace:
        return AffineSpace("", (), self.fn.sizes)

    @cached_property
    def sizes(self) -> isl.Set:
        """Sizes are never negative, nor are the extents of arrays."""
        extents = (*map(Var, self.fn.sizes), *(extent for array in self.fn.arrays for extent in array.shape))
        conditions = filter(self.space.has, (Binary(">=", extent, Const(0)) for extent in extents))
        return reduce(isl.Set.intersect, map(self.space.where, conditions), self.space.universe)

    def apart(self, loop: For, number: Number) -> For:
        """A loop for each place of the number; the same loop if there is only one."""
        if len(number.end.atoms) <= 1 and not _divides(loop.body):
            return loop
        until = _end(loop)
        assert until is not None
        factors = sorted(factors_of(until), key=lambda factor: self.strides[factor])
        places = _places(list(_digits(loop.body, number)), number, factors)
        if len(places) <= 1:
            return loop
        self.found = True
        variables = self.variables(loop, number, places)
        body = _in_places(loop.body, number, variables)
        for place, name in reversed(variables.items()):
            extent = place.extent.expression()
            lo, hi = (loop.lo, extent) if loop.step > 0 else (sub(extent, 1), loop.hi)
            body = (replace(loop, var=name, lo=lo, hi=hi, body=body),)
        (outermost,) = body
        assert isinstance(outermost, For)
        return outermost

    def variables(self, loop: For, number: Number, places: list[Digits]) -> dict[Digits, str]:
        """A name for each place, as temporaries of the nest call it if they do."""
        called = {number.digits(value): name for value, name in self.names.items()}
        used = self.used | set(bound_names(loop.body))
        fresh = self.fresh(loop.var)
        names: dict[Digits, str] = {}
        for place in places:
            name = called.get(place)
            is_free = name is not None and name not in used and is_name(name)
            names[place] = name if name is not None and is_free else next(fresh)
            used.add(names[place])
        return names


def _end(loop: For) -> Expr | None:
    """What the loop counts up to from zero, or down from to zero, each number below it."""
    match loop:
        case For(lo=Const(0), hi=end, step=1) | For(lo=Binary("-", end, Const(1)), hi=Const(-1), step=-1):
            return end
    return None


def _divides(body: tuple[Stmt, ...]) -> bool:
    return any(isinstance(node, Binary) and node.op in DIVISIONS for node in walk(body))


def _digits(node: Any, number: Number) -> Iterator[Digits]:
    """The digits of the number that occur in `node`, those in others left out."""
    nodes = node if isinstance(node, tuple) else children(node)
    for child in nodes:
        digits = number.digits(child) if isinstance(child, Expr) else None
        if digits is not None:
            yield digits
        else:
            yield from _digits(child, number)


def _places(used: list[Digits], number: Number, factors: list[Expr]) -> list[Digits]:
    """The finest digits that those `used` are made of, the highest first; one for each factor that is no constant."""
    counts = Counter(cut for digits in used for cut in (digits.low, digits.high))
    cuts = [ONE, number.end] if used else []
    for cut, _ in counts.most_common():
        if cut not in cuts and all(cut.divides(other) or other.divides(cut) for other in cuts):
            cuts.append(cut)
    if len(number.end.atoms) <= 1 and not any(cut.atoms for cut in cuts[2:]):  # it is affine as it is
        lows, highs = {digits.low for digits in used}, {digits.high for digits in used}
        cuts[2:] = [cut for cut in cuts[2:] if cut in lows & highs]
    cuts.sort(key=lambda cut: (len(cut.atoms), cut.factor))
    return [place for low, high in pairwise(cuts) for place in _single(Digits(low, high), factors)][::-1]


def _single(digits: Digits, factors: list[Expr]) -> Iterator[Digits]:
    """The digits in parts whose extents have one factor in sizes at most, the lowest first."""
    extent = digits.extent
    low, times = digits.low, Product(extent.factor)
    for atom in sorted(extent.atoms, key=factors.index, reverse=True):
        high = low * times * Product(1, (atom,))
        yield Digits(low, high)
        low, times = high, ONE
    if not extent.atoms:
        yield digits


def _in_places(body: Any, number: Number, variables: dict[Digits, str]) -> Any:
    """`body` with the variables of the places for what it takes of the number."""

    def replaced(node: Any) -> Any:
        digits = number.digits(node) if isinstance(node, Expr) else None
        value = None if digits is None else _value(digits, variables)
        return map_children(node, replaced) if value is None else value

    return map_list(body, replaced)


def _value(digits: Digits, variables: dict[Digits, str]) -> Expr | None:
    """What the digits are worth, of the highest place first; None if places do not make them up."""
    if digits.low == digits.high:
        return Const(0)
    within = [place for place in variables if digits.low.divides(place.low) and place.high.divides(digits.high)]
    if not within or within[0].high != digits.high or within[-1].low != digits.low:
        return None
    first, *rest = within
    value = _of_place(first, variables, digits.mirrored)
    for place in rest:
        value = add(mul(value, place.extent.expression()), _of_place(place, variables, digits.mirrored))
    return value


def _of_place(place: Digits, variables: dict[Digits, str], mirrored: bool) -> Expr:
    value = Var(variables[place])
    return sub(sub(place.extent.expression(), 1), value) if mirrored else value
