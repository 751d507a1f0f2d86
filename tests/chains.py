"""Random nests of producers and consumers, for edits that compute values again, or elsewhere.

    b: private i64[n + 16]
    for t in 0..2:                                          sometimes around all
        for i in 0..n + 8: b[i] = a[i + 1] * 3              sometimes a sum over k in an element
        for i in 0..n + 4: c[i] = b[i] + b[i + 2]
        for i in 2..n: a[i] = c[i + 1] + b[i]               sometimes
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from nests import arguments_for, assert_same_outcome, loop, nest

from polysched import IllegalSchedule, InputError, Options, Schedule
from polysched.codegen.lower import lower
from polysched.ir.build import add, binary, load, mul, store, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.nodes import Alloc, Array, Expr, Function, Stmt


def random_chain(rng: random.Random) -> Function:
    """An affine nest over one size `n` (any n >= 0 stays inside of the arrays); b is its temporary, or a parameter.

    Most of what a stage reads has been computed by the one before.
    """
    dtype, rank = rng.choice((i64, i64, f64)), rng.choice((1, 1, 2))
    is_local = rng.random() < 0.6
    shape = (add(var("n"), 16),) * rank
    a, b, c, d = (Array(name, dtype, shape, "private" if is_local and name == "b" else "global") for name in "abcd")
    stages = [_stage(rng, b, [a], 8), _stage(rng, c, [b, a], 4)]
    if rng.random() < 0.5:
        stages.append(_stage(rng, rng.choice((a, a, d)), [c, b], 0))
    body: tuple[Stmt, ...] = tuple(stages)
    if rng.random() < 0.3:
        body = (loop("t", 0, 2, *body),)
    return nest("chain", "n", [a, c, d] if is_local else [a, b, c, d], *([Alloc(b)] if is_local else []), *body)


def _stage(rng: random.Random, target: Array, sources: list[Array], more: int) -> Stmt:
    """Loops over n + more elements of the target, which are computed from elements of the sources near by."""
    names = ("i", "j")[: len(target.shape)]
    element = tuple(map(var, names))
    operands = [_near(rng, sources[0], element), *(_near(rng, rng.choice(sources), element) for _ in range(2))]
    value = binary(rng.choice(("+", "-", "*")), *operands[: rng.choice((1, 2, 2, 3))])
    body: tuple[Stmt, ...] = (store(target, element, value),)
    if rng.random() < 0.3:
        update = add(load(target, *element), mul(_near(rng, sources[0], element, var("k")), 3))
        body += (loop("k", 0, rng.choice((2, 3)), store(target, element, update)),)
    for name in reversed(names):
        body = (loop(name, rng.choice((0, 0, 0, 1)) if more < 8 else 0, add(var("n"), more), *body),)
    return body[0]


def _near(rng: random.Random, array: Array, element: Iterable[Expr], by: Expr | int = 0) -> Expr:
    first, *rest = element
    if rng.random() < 0.1:
        first = sub(add(var("n"), 8), first)
    return load(array, add(first, rng.choice((0, 0, 1, 2)), by), *(add(x, rng.choice((0, 1))) for x in rest))


def with_temporary(fn: Function, name: str) -> Function:
    """The nest where an array is not a parameter: nothing outside sees what is left in it."""
    array = fn.array(name)
    return replace(
        fn,
        arrays=tuple(each for each in fn.arrays if each != array),
        params=tuple(each for each in fn.params if each != name),
        body=(Alloc(replace(array, space="private")), *fn.body),
    )


def check_on_chains(edit: Callable[[random.Random, Schedule], Schedule], seeds: Iterable[int]) -> Counter[str]:
    """Random chains, some with a loop in blocks, compute the same after the edit, unless it is refused.

    How often it was "made", "illegal" or "wrong".
    """
    tally: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        schedule = Schedule(random_chain(rng), options=Options(reorder_reductions=False))
        for _ in range(3):
            try:
                if rng.random() < 0.4:
                    schedule = schedule.tile(rng.choice(schedule.loops), sizes=(rng.choice((2, 3)),))
                schedule = edit(rng, schedule)
            except IllegalSchedule:
                tally["illegal"] += 1
            except InputError:
                tally["wrong"] += 1
            else:
                tally["made"] += 1
                assert_same_results(schedule, rng)
    return tally


def assert_same_results(schedule: Schedule, rng: random.Random, sizes: Iterable[int] = (0, 1, 5)) -> None:
    """The nest and what the schedule lowers to leave the same bits in all arrays."""
    lowered = lower(schedule.tree, schedule.draft.scop)
    for n in sizes:
        assert_same_outcome(schedule.nest, lowered, arguments_for(schedule.nest, rng, n))
