"""Which subscripts never meet, as the bounds of loops and the conditions around them show.

    for i in 0..n:                          table[i, j] and table[i, k] are apart: j - k >= 1
        for j in i + 1..n:                  table[i, j] and table[k + 1, j] are: k + 1 - i >= 2
            for k in i + 1..j:
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from polysched.ir.build import sub
from polysched.ir.dtypes import i64
from polysched.ir.effects import may_change
from polysched.ir.integers.linear import Linear, added, constant_of, forms
from polysched.ir.nodes import Binary, Expr, For, Var


def are_apart(one: tuple[Expr, ...], other: tuple[Expr, ...], loops: dict[str, For], facts: Sequence[Linear]) -> bool:
    """Do the subscripts differ in every iteration of `loops`, of which inner ones come last?

    `facts` are forms that are zero or more there.
    """
    for left, right in zip(one, other, strict=True):
        if may_change(left, right):
            continue
        for above, below in ((left, right), (right, left)):
            for high, low in product(forms(above, upper=False), forms(below, upper=True)):
                least = least_value(added(high, low, -1), loops, facts)
                if least is not None and least > 0:
                    return True
    return False


def least_value(form: Linear, loops: dict[str, For], facts: Sequence[Linear]) -> int | None:
    """A constant that the form is never below; None if none is found. Inner loops come last in `loops`."""
    return _least(form, list(loops), loops, facts, {})


_Known = dict[frozenset[tuple[Expr | None, int]], int | None]  # by what is left of the form


def _least(form: Linear, names: list[str], loops: dict[str, For], facts: Sequence[Linear], known: _Known) -> int | None:
    key = frozenset((atom, factor) for atom, factor in form.items() if factor)
    if key not in known:
        known[key] = _found(form, names, loops, facts, known)
    return known[key]


def _found(form: Linear, names: list[str], loops: dict[str, For], facts: Sequence[Linear], known: _Known) -> int | None:
    # What an element was where a bound or a condition was evaluated need not be what it is now.
    if may_change(*(atom for atom, factor in form.items() if atom is not None and factor)):
        return None
    for k in reversed(range(len(names))):
        name = names[k]
        var = Var(name)
        factor = form.get(var, 0)
        if factor:
            ends = forms(loops[name].lo, upper=False) if factor > 0 else forms(sub(loops[name].hi, 1), upper=True)
            smaller = [added(added(form, {var: factor}, -1), end, factor) for end in ends]
            inner = names[k + 1 :]  # gone from the form: a fact about them would bring them back
            usable = (fact for fact in facts if fact.get(var, 0) * factor > 0 and factor % fact[var] == 0)
            smaller += [
                added(form, fact, -(factor // fact[var])) for fact in usable if not any(fact.get(Var(n)) for n in inner)
            ]
            found = [_least(rest, names, loops, facts, known) for rest in smaller]
            return max((least for least in found if least is not None), default=None)
    return constant_of(form)


def facts_of(cond: Expr) -> Iterator[Linear]:
    """Forms that are zero or more where the condition holds."""
    match cond:
        case Binary("&&", left, right):
            yield from facts_of(left)
            yield from facts_of(right)
        case Binary(">=", above, below) | Binary("<=", below, above) if above.dtype == i64:
            for high, low in product(forms(above, upper=True), forms(below, upper=False)):
                yield added(high, low, -1)
