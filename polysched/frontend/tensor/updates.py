"""Stores that are not needed: copies for updates that can change an array in its place, and what nobody sees.

    c_1 = c_0; c_1[0] = x                       c[0] = x
    v[i] = exp(c_1[i])                  ->      v[i] = exp(c[i])
    c_2 = c_1; c_2[1] = c_1[0] + v[1]           c[1] = c[0] + v[1]

May: what else reads the array comes before the update, and of the update's own reads none is of an element that an
earlier iteration has stored (nor its own iteration, if it is in a reduction, which is summed up in the element).
Needs: subscripts that are affine, where the update reads the array.

    for i in 0..4 * n: out[i] = 0.0                    (dead)
    for i in 0..2 * n: out[2 * i] = a[i]         ->    for i in 0..2 * n: out[2 * i] = a[i]
    for i in 0..2 * n: out[2 * i + 1] = b[i]           for i in 0..2 * n: out[2 * i + 1] = b[i]

Dead is what one body stores and later ones store again before anything reads it. Needs: subscripts that are affine;
others are left alone, and cover nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polysched.frontend.tensor import accesses
from polysched.frontend.tensor.inline import Bodies, loads_of, renamed
from polysched.frontend.tensor.tensor import Body, Tensor
from polysched.ir.nodes import Load
from polysched.model.affine import NotAffine
from polysched.support import isl

Parts = tuple[tuple[Tensor, Bodies], ...]  # in order; a tensor may have several


def without_copies(parts: Iterable[tuple[Tensor, Bodies]], outputs: Sequence[Tensor], sizes: Sequence[str]) -> Parts:
    """The parts with updates in place of what they copy, where that may be."""
    found = list(parts)
    k = 0
    while k < len(found):
        tensor, bodies = found[k]
        base = _copied(bodies)
        own = [i for i, (other, _) in enumerate(found) if other.name == base]
        if own and _is_ours(found[own[0]][0], outputs) and _may(found, k, base, tuple(sizes)):
            found[k] = (tensor, bodies[1:])
            found = [_in_place_of(part, base, tensor) for part in found]
            k -= _merge(found, own[-1], k)
        k += 1
    return tuple(found)


def _copied(bodies: Bodies) -> str:
    """The array that an update starts as a copy of."""
    match bodies:
        case (Body(value=Load(array, index)) as first, _, *more) if first.is_plain and index == first.at:
            return "" if loads_of(tuple(more), array) else array
    return ""


def _is_ours(tensor: Tensor, outputs: Sequence[Tensor]) -> bool:
    """Does nobody ask for its array?"""
    return tensor not in outputs and tensor.inline is not False


def _may(parts: Sequence[tuple[Tensor, Bodies]], k: int, base: str, sizes: tuple[str, ...]) -> bool:
    """Would it be right that the update of part k changes `base`?"""
    is_read_later = any(loads_of(bodies, base) for _, bodies in parts[k + 1 :])
    return not is_read_later and _reads_what_was(parts[k][1][1], base, sizes)


def _reads_what_was(body: Body, base: str, sizes: tuple[str, ...]) -> bool:
    """Does each iteration read elements that none before it has stored?"""
    if not loads_of((body,), base):
        return True
    try:
        stored, reads = accesses.stored(body, sizes), list(accesses.read(body, base, sizes))
    except NotAffine:
        return False
    domain = stored.domain()
    before = domain.lex_gt_set(domain)
    not_after = domain.lex_ge_set(domain)
    return not any(_meet(read, stored, not_after if is_summed else before) for read, is_summed in reads)


def _meet(read: isl.Map, stored: isl.Map, before: isl.Map) -> bool:
    """Is an element read that an iteration `before` has stored?"""
    return not read.apply_range(stored.reverse()).is_disjoint(before)


def _in_place_of(part: tuple[Tensor, Bodies], base: str, tensor: Tensor) -> tuple[Tensor, Bodies]:
    """The part with the tensor in place of its base."""
    owner, bodies = part
    return tensor if owner.name == base else owner, tuple(renamed(body, base, tensor.name) for body in bodies)


def _merge(parts: list[tuple[Tensor, Bodies]], first: int, last: int) -> int:
    """Makes two parts of a tensor one, if nothing between them reads it; how many parts that are fewer."""
    tensor, bodies = parts[last]
    if any(loads_of(between, tensor.name) for _, between in parts[first + 1 : last]):
        return 0
    parts[last] = (tensor, (*parts[first][1], *bodies))
    del parts[first]
    return 1


def without_dead_stores(name: str, bodies: Bodies, sizes: Sequence[str]) -> Bodies:
    """The bodies of an array without those whose elements later ones all store anew, unread."""
    for k, body in enumerate(bodies):
        later = bodies[k + 1 :]
        if later and _is_dead(body, later, name, tuple(sizes)):
            return without_dead_stores(name, (*bodies[:k], *later), sizes)
    return bodies


def stored(body: Body, sizes: tuple[str, ...]) -> isl.Set | None:
    """{ [x, y] }: the elements that are stored; None if that depends on more than sizes."""
    try:
        return accesses.stored(body, sizes).range()
    except NotAffine:
        return None


def _is_dead(body: Body, later: Bodies, name: str, sizes: tuple[str, ...]) -> bool:
    seen = stored(body, sizes)
    if seen is None:
        return False
    for other in later:
        if _may_read(other, name, seen, sizes):
            return False
        over = stored(other, sizes)
        seen = seen if over is None else seen.subtract(over)
    return bool(seen.is_empty())


def _may_read(body: Body, name: str, elements: isl.Set, sizes: tuple[str, ...]) -> bool:
    """Does the body read one of these elements of the array?"""
    if not loads_of((body,), name):
        return False
    try:
        return any(not read.range().is_disjoint(elements) for read, _ in accesses.read(body, name, sizes))
    except NotAffine:
        return True
