"""Splitting: a loop as two, the outer one over blocks of so many of its iterations.

    band: i          band: xo     floor(i/32)
               ->      mark: full:32                        split("i", 32, tail="guard", names=("xo", "xi"))
                         band: xi     i mod 32

The order of instances stays as it is, so it is always legal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from polysched.errors import InputError
from polysched.model.tree.nodes import Full, Member
from polysched.model.witness import smallest
from polysched.support import isl
from polysched.transform.edits.base.edit import Draft, checked
from polysched.transform.edits.base.loops import Loop, all_given, arrival, changed_at, fresh, nest, unmarked
from polysched.transform.edits.base.registry import edit
from polysched.transform.trees.tile import block_of

Tail = Literal["cut", "guard", "exact"]
TAILS: tuple[Tail, ...] = get_args(Tail)


@edit("order", "i -> i_o, i")
def split(draft: Draft, name: str, size: int, tail: Tail = "cut", names: Sequence[str] = ()) -> Draft:
    """The loop as one over blocks of `size` iterations and one inside of a block; always legal.

    They are called `names`, or i_o and i. Where a block is not full, `tail` says what happens: "cut", the inner loop
    ends early; "guard", it runs in full with a condition inside; "exact", there is no such block. With "cut", blocks
    are those of `tile`, whole multiples of what the loop counts; else they begin with its first iteration, and the
    inner loop counts from 0 to size - 1. InputError for "exact" if a block may not be full.

        for i in 0..n: S    ->    for xo in 0..(n + 31) / 32:
                                      for xi in 0..32:
                                          if 32 * xo + xi < n: S     split("i", 32, tail="guard", names=("xo", "xi"))
    """
    tree = draft.nested
    place = unmarked(tree, name)
    if tail not in TAILS:
        raise InputError(f"there is no tail '{tail}'", hint=f"the tails are {', '.join(TAILS)}")
    if size < 1:
        raise InputError(f"a block needs a positive number of iterations, not {size}")
    if len(names) not in (0, 2):
        raise InputError(f"split makes two loops, and they cannot be called {tuple(names)}")
    if place.instances.intersect_params(draft.scop.context).is_empty():
        raise InputError(f"loop '{place.name}' never runs")
    blocks, points = _cut(place, size) if tail == "cut" else _counted(draft, place, size, tail)
    others = changed_at(tree, place.path, lambda _: place.band.child)
    outer, inner = all_given(others, names) or (fresh(others, f"{place.name}_o"), place.name)
    blocks, points = replace(blocks, name=outer), replace(points, name=inner)
    if tail == "guard":
        points = replace(points, marks=(Full(size),))
    both = nest([blocks, points], place.band.child)
    return checked(draft, changed_at(tree, place.path, lambda _: both), f"split({name}, {size}, tail={tail})")


def _cut(place: Loop, size: int) -> tuple[Member, Member]:
    values = place.member.schedule.intersect_domain(place.instances).range()
    return block_of(place.member, size * _step(values)), place.member


def _counted(draft: Draft, place: Loop, size: int, tail: str) -> tuple[Member, Member]:
    """The number of the iteration, counted from the first of each arrival at the loop, divided by the size."""
    instances = place.instances.intersect_params(draft.scop.context)
    around = arrival(place)
    first = isl.Map.from_union_map(around.reverse().apply_range(place.member.schedule.intersect_domain(instances)))
    begins = isl.PwMultiAff.from_map(first.lexmin().coalesce()).get_at(0).get_pieces()
    if len(begins) > 1:
        message = f"loop '{place.name}' begins at the larger of several bounds: its iterations cannot be counted"
        raise InputError(message, hint="split it with tail='cut'")
    start = around.apply_range(isl.UnionMap.from_map(isl.Map.from_aff(begins[0][1])))
    distance = isl.UnionMap.from_union_pw_aff(place.member.function.sub(Member(start).function))
    step = _step(distance.intersect_domain(instances).range())
    number = distance.apply_range(isl.UnionMap(f"{{ [x] -> [floor(x / {step})] }}"))
    if tail == "exact":
        _require_full_blocks(place, around.reverse().apply_range(number.intersect_domain(instances)), size)
    member = replace(place.member, schedule=number)
    within = number.apply_range(isl.UnionMap(f"{{ [x] -> [x mod {size}] }}"))
    return block_of(member, size), replace(member, schedule=within)


def _step(values: isl.UnionSet) -> int:
    """The distance between values; 1 if there is only one."""
    return isl.Set.from_union_set(values).get_stride(0).to_python() or 1


def _require_full_blocks(place: Loop, numbers: isl.UnionMap, size: int) -> None:
    last = isl.Set.from_union_set(numbers.lexmax().range())
    short = last.subtract(isl.Set(f"{{ [x] : (x + 1) mod {size} = 0 }}"))
    if not short.is_empty():
        sizes, (number,) = smallest(short)
        where = " and ".join(f"{name} = {value}" for name, value in sizes.items())
        when = f" when {where}" if where else ""
        message = f"loop '{place.name}' runs {number + 1} times{when}, which is no multiple of {size}"
        raise InputError(message, hint="assume what makes it one, or give tail='guard' or tail='cut'")
