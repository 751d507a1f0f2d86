"""What to do where a sequence is between loops that must follow one another: edits that are tried.

    band: t                               band: t
      sequence                              band: i
        filter: S0   band: i        ->        sequence            fuse("i", "i_2") first
        filter: S1   band: i_2                  filter: S0        or, where that is legal, distribute("t")
                                                filter: S1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from polysched.errors import InputError
from polysched.model.tree.nodes import Band
from polysched.transform.edits.base.edit import Alternative, Draft, Step, attempt, first_legal, text_of
from polysched.transform.edits.base.loops import Imperfect, chain, loop, loops
from polysched.transform.edits.order.distribute import distribute
from polysched.transform.edits.order.fuse import fuse
from polysched.transform.edits.order.skew import skewings

_MOST_STEPS = 2

Then = Callable[[Draft, Sequence[str]], Draft]  # the edit of loops of these names


def require_nested(draft: Draft, names: Sequence[str], then: Then) -> None:
    """InputError as by `chain`; its hint are edits after which `then`, of the loops as they are called by then, is
    legal."""
    names = [loop(draft.nested, name).name for name in names]
    try:
        chain(draft.nested, names)
    except Imperfect as error:
        raise InputError(error.message, hint=first_legal(_alternatives(draft, (), names, names, then))) from None


def _alternatives(
    draft: Draft, steps: tuple[Step, ...], asked: Sequence[str], names: Sequence[str], then: Then
) -> Iterator[Alternative]:
    """The edit of the loops `asked` for, as they are called in this draft, which the steps gave, after some more."""
    try:
        places = chain(draft.nested, names)
    except Imperfect as error:
        for step in _steps(error, names) if len(steps) < _MOST_STEPS else ():
            after = attempt(partial(step.edit, draft))
            if after is not None and (there := _names_after(draft, after, names)):
                yield from _alternatives(after, (*steps, step), asked, there, then)
        return
    others = [f"'{name}' for '{one}'" for one, name in zip(asked, names, strict=True) if one != name]
    renamed = f", then write {' and '.join(others)}" if others else ""
    yield f"{text_of(steps)} first{renamed}", partial(then, draft, names)
    for more, edit in skewings(draft, [place.name for place in places], lambda skewed: then(skewed, names)):
        yield f"{text_of(steps)}.{more}{renamed}", edit


def _steps(error: Imperfect, names: Sequence[str]) -> Iterator[Step]:
    """What may leave nothing between the loops: the other statements before or after them, or inside of them."""
    around = [band.members[0].name for band in error.inner.around]
    for name in dict.fromkeys((next(each for each in around if each in names), error.outer.name)):
        yield Step.of(distribute, name)
    inside = [branch.child for branch in error.node.children]
    bands = [band for band in inside if isinstance(band, Band)]
    if len(bands) == len(inside):
        yield Step.of(fuse, *(band.members[0].name for band in bands))


def _names_after(draft: Draft, after: Draft, names: Sequence[str]) -> list[str]:
    """What the loops are called that are as far out, around what the innermost of them runs; [] if some are gone."""
    before = {each.name: each for each in loops(draft.nested) if each.name in names}
    innermost = set(min(before.values(), key=lambda each: -len(each.around)).statements)
    there = {
        len(each.around): each.name for each in reversed(loops(after.nested)) if innermost <= set(each.statements)
    }
    depths = [len(before[name].around) for name in names]
    return [there[depth] for depth in depths] if there.keys() >= set(depths) else []
