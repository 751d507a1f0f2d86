"""What would let a loop's iterations, or those of one near it, run at the same time: edits that a refusal tries.

    for i:                                  privatize("t", at="i") first
        t[0] = a[i]
        b[i] = t[0] + t[0]

    for i: for j: a[i, j] = a[i - 1, j] + a[i, j - 1]
                                            skew("j", by="i").interchange("i", "j").parallel("i"), a wavefront
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from polysched.deps.coincidence import carried
from polysched.deps.distance import MOST_SKEW, distances_of
from polysched.deps.reaching import Reaching, below, between
from polysched.errors import IllegalSchedule
from polysched.model.tree.nodes import Band, Tree, children, nest_of, own_marks
from polysched.transform.edits.base.edit import Alternative, Draft, Step, after, first, reaching, text_of
from polysched.transform.edits.base.loops import Loop, arrival, loop, loops
from polysched.transform.edits.order.distribute import distribute
from polysched.transform.edits.order.reorder import interchange, reorder
from polysched.transform.edits.order.skew import skew_step
from polysched.transform.edits.values.cache import privatize

FREE = "if sums may be in any order, schedule with Options(reorder_reductions=True)"

Mark = Callable[[Draft, str], Draft]  # parallel or vectorize
_MOST_INSIDE = 3


def lifts(draft: Draft, place: Loop, mark: Mark) -> Iterator[Alternative]:
    """What makes the mark legal for the loop, or for one in its place or near it."""
    carried_here = _carried(draft, place)
    arrays = sorted({d.array for d in carried_here})
    own = [Step.of(privatize, array, at=place.name) for array in arrays]
    for steps in (own, [Step.of(distribute, place.name)]):
        yield first(draft, steps, lambda now: mark(now, place.name))
    if any(d.reduction for d in carried_here):
        yield FREE, lambda: mark(reductions_freed(draft), place.name)
    yield from _outside(draft, place, mark)
    yield from _inside(draft, place, mark)
    yield from _wavefronts(draft, place, mark)


def _carried(draft: Draft, place: Loop) -> Reaching:
    node: Tree = draft.nested
    found = draft.dependences.of("flow", "anti", "output")
    for k in place.path:
        node, found = children(node)[k], below(node, found)
    return between(found, place.member)


def reductions_freed(draft: Draft) -> Draft:
    """The draft with the order of reductions free, which changes how floats are rounded."""
    return replace(draft, dependences=replace(draft.dependences, reorder_reductions=True))


def _outside(draft: Draft, place: Loop, mark: Mark) -> Iterator[Alternative]:
    """A loop inside in its place."""
    members, _ = nest_of(place.band)
    names = [member.name for member in members]
    apart = distances_of(members, reaching(draft.nested, place.path, draft.dependences.coincidence))
    for k in range(1, len(names)):
        others = [j for j in range(len(names)) if j != k]
        if apart.reordered([k, *others]).is_parallel(0):
            steps = Step.of(reorder, names[k], *names[:k])
            yield _marked(draft, (steps,), names[k], mark)


def _inside(draft: Draft, place: Loop, mark: Mark) -> Iterator[Alternative]:
    """A loop inside where it is."""
    tree, pairs = draft.nested, draft.dependences.coincidence
    inside = (each for each in loops(tree) if place.band in each.around)
    free = (each for each in inside if carried(each.member, reaching(tree, each.path, pairs)).is_empty())
    for each in islice(free, _MOST_INSIDE):
        yield _marked(draft, (), each.name, mark)


def _wavefronts(draft: Draft, place: Loop, mark: Mark) -> Iterator[Alternative]:
    """It, or the loop around it, inside of what one of them, skewed by the other, counts."""
    tree, pairs = draft.nested, draft.dependences.coincidence
    around = place.around[-1] if place.around and place.around[-1].child is place.band else None
    for outer, inner in ((place.band, place.band.child), (around, place.band)):
        if not (isinstance(outer, Band) and isinstance(inner, Band)) or own_marks(inner):
            continue
        (one,), (other,) = outer.members, inner.members
        apart = distances_of((one, other), reaching(tree, loop(tree, one.name).path, pairs))
        for factor in range(MOST_SKEW + 1):
            there = apart.skewed(1, 0, factor).reordered([1, 0])
            if there.in_order and there.is_parallel(1):
                skewed = [skew_step(other.name, one.name, factor)] if factor else []
                text, edit = _marked(draft, (*skewed, Step.of(interchange, one.name, other.name)), one.name, mark)
                yield text + (", a wavefront" if factor else ""), edit
                break


def _marked(draft: Draft, steps: tuple[Step, ...], name: str, mark: Mark) -> Alternative:
    """The mark of the loop after the steps, if that has several iterations then."""

    def edit() -> Draft:
        now = after(draft, steps)
        place = loop(now.nested, name)
        values = arrival(place).intersect_domain(place.instances).reverse().apply_range(place.member.schedule)
        if values.is_single_valued():
            raise IllegalSchedule(f"loop '{name}' has one iteration")
        return mark(now, name)

    return text_of((*steps, Step.of(mark, name))), edit
