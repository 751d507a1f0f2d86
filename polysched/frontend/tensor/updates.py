"""Updates that change an array in its place, instead of a copy of it.

    c_1 = c_0; c_1[0] = x                       c[0] = x
    v[i] = exp(c_1[i])                  ->      v[i] = exp(c[i])
    c_2 = c_1; c_2[1] = c_1[0] + v[1]           c[1] = c[0] + v[1]

May: what else reads the array comes before the update, and of the update's own reads none is of an element that an
earlier iteration has stored (nor its own iteration, if it is in a reduction, which is summed up in the element).
Needs: subscripts that are affine, where the update reads the array.
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
