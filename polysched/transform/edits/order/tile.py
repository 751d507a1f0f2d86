"""Loops over blocks by hand.

`tile`: nested loops in blocks (Irigoin and Triolet, POPL 1988).

`split`: one loop as two, the outer one over blocks of so many of its iterations. The order of instances stays as it is,
so it is always legal.

    band: i          band: xo     floor(i/32)
               ->      mark: full:32                        split("i", 32, tail="guard", names=("xo", "xi"))
                         band: xi     i mod 32

`cyclic`: threads take turns, some neighboring iterations at a time (Wolfe, 1996).

    band: i       band: i_t     floor(i/4) mod 16
            ->      band: i_g     floor(i/64)               cyclic("i", 16, vector=4)
                      band: i

Neighboring threads then use neighboring elements in each round, `vector` of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, get_args

from polysched.config.plain import called
from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Full, Member
from polysched.model.witness import smallest
from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, checked
from polysched.transform.edits.base.loops import (
    Loop,
    adjacent,
    all_given,
    arrival,
    changed_at,
    fresh,
    loop,
    nest,
    unmarked,
)
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.order.nesting import require_nested
from polysched.transform.edits.order.skew import skewings
from polysched.transform.trees.tile import block_of


@edit("order", "i, j -> i_o, j_o, i, j")
def tile(draft: Draft, *loops: str, sizes: Sequence[int], names: Sequence[str] = ()) -> Draft:
    """The loops in blocks, inside of loops over the blocks.

    The loops follow one another, and keep their names inside of a block; `sizes` is what each counts in a block, and
    `names` are those of the loops over blocks, or i_o for i. IllegalSchedule where a dependence leads from a block to
    one before it.

        for i:                   for i_o:                            floor(i / 32)
            for j: S        ->       for j_o:                        floor(j / 64)
                                         for i:
                                             for j: S                tile("i", "j", sizes=(32, 64))
    """
    tree = draft.nested
    named = [loop(tree, name).name for name in loops]
    require_nested(draft, named, lambda nested, there: tile(nested, *there, sizes=sizes, names=names))
    places = adjacent(tree, named)
    if len(sizes) != len(places) or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise InputError(f"tile needs a positive size for each of {', '.join(named)}, not {tuple(sizes)}")
    if names and len(names) != len(places):
        raise InputError(f"tile needs a name for each of the {len(places)} loops over blocks, not {tuple(names)}")
    order = {name: k for k, name in enumerate(named)}
    at = [order[place.name] for place in places]
    own = all_given(tree, names)
    blocks = [
        replace(block_of(place.member, sizes[k]), name=own[k] if own else fresh(tree, f"{place.name}_o"))
        for place, k in zip(places, at, strict=True)
    ]
    tiled = changed_at(tree, places[0].path, lambda points: nest(blocks, points))
    alternatives = _alternatives(draft, [place.name for place in places], [sizes[k] for k in at])
    what = f"tile({', '.join(named)}, sizes={tuple(sizes)})"
    return checked(draft, tiled, what, alternatives)


def _alternatives(draft: Draft, loops: Sequence[str], sizes: Sequence[int]) -> Iterator[Alternative]:
    """Skewed, or two of them or more alone; outermost first."""
    yield from skewings(draft, loops, lambda skewed: tile(skewed, *loops, sizes=sizes))
    for few in sorted(_parts(len(loops)), key=len, reverse=True):
        names = [loops[k] for k in few]
        own = [sizes[k] for k in few]
        yield f"{called('tile', *names, sizes=own)} alone", partial(tile, draft, *names, sizes=own)


def _parts(count: int) -> Iterator[range]:
    """Fewer loops, that follow one another, but more than one."""
    return (range(k, m) for k in range(count) for m in range(k + 2, count + 1) if m - k < count)


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


@edit("order", "i -> i_t, i_g, i")
def cyclic(draft: Draft, name: str, threads: int, vector: int = 1, names: Sequence[str] = ()) -> Draft:
    """The loop dealt to so many threads, `vector` iterations at a time, inside of a loop over the threads.

    The loop over threads and, for vectors, the one over a thread's turns are called `names`, or i_t and i_g; the loop
    itself, over the iterations of a turn, or over the turns, keeps its name. IllegalSchedule if an iteration needs one
    of a thread that runs later.

        for i in 0..n: S    ->    for i_t in 0..16:
                                      for i_g in 0..(n + 63) / 64:
                                          for i in 64 * i_g + 4 * i_t..+4: S     cyclic("i", 16, vector=4)
    """
    tree = draft.nested
    place = unmarked(tree, name)
    if threads < 1 or vector < 1:
        raise InputError(f"a loop is dealt to 1 thread or more, not to {threads}, by {vector} iterations")
    new = ("t", "g")[: 1 if vector == 1 else 2]
    if len(names) not in (0, len(new)):
        raise InputError(f"cyclic makes {len(new)} loops more, and they cannot be called {tuple(names)}")
    called = all_given(tree, names) or [fresh(tree, f"{place.name}_{each}") for each in new]
    turn = isl.UnionMap(f"{{ [x] -> [floor(x / {vector}) mod {threads}] }}")
    whose = replace(place.member, schedule=place.member.schedule.apply_range(turn), name=called[0])
    turns = replace(block_of(place.member, threads * vector), name=called[-1] if vector > 1 else place.name)
    inside = (turns, place.member) if vector > 1 else (turns,)
    dealt = Band((whose, *inside), child=place.band.child)
    what = f"cyclic({name}, {threads}{f', vector={vector}' if vector > 1 else ''})"
    return checked(draft, changed_at(tree, place.path, lambda _: dealt), what)
