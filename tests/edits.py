"""Random edits of random nests: each is refused with a true witness, or leaves the results as they are.

    check_random_edits(seed)

A witness is held against every access of every instance at its sizes, replayed one after the other, and against the
times at which the refused tree would run both instances.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import nests

from polysched import IllegalSchedule, InputError, Options, Schedule
from polysched.codegen.lower import lower
from polysched.deps.legality import Violation
from polysched.errors import CannotLower, LaunchError
from polysched.model.tree.nodes import Band, Concurrent, Tree, mark_of, walk
from polysched.model.tree.order import flatten
from polysched.support import clock, isl
from tests.deps.brute import brute_pairs, modelled, points

_SECONDS = 12.0  # of a processor, after which a chain ends: one edit may take ten

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Generator = Callable[[random.Random, Schedule], Arguments]


@dataclass
class Tally:
    """How many edits were made, refused for a dependence, and refused for what they were given, by name."""

    made: Counter[str] = field(default_factory=Counter)
    illegal: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        names = sorted({*self.made, *self.illegal, *self.wrong})
        rows = [f"{n:22}{self.made[n]:6}{self.illegal[n]:8}{self.wrong[n]:8}" for n in names]
        return "\n".join([f"{'edit':22}{'made':>6}{'illegal':>8}{'wrong':>8}", *rows])


def check_random_edits(seed: int, tally: Tally | None = None, *, most: int = 5) -> None:
    """A random nest under up to `most` random edits that are legal."""
    rng, tally = random.Random(seed), tally or Tally()
    fn = nests.random_nest(rng, statements=rng.choice([1, 2, 3]), depth=rng.choice([1, 2, 3]))
    options = Options(reorder_reductions=False)
    schedule = Schedule(fn, rng.choice(["source", "source", "ilp"]), options=options)
    until = time.process_time() + _SECONDS
    for _ in range(3 * most):
        if len(schedule.history.edits) >= most or time.process_time() > until:
            break
        name = rng.choice(sorted(EDITS))
        args, kwargs = EDITS[name](rng, schedule)
        before = schedule.draft
        try:
            schedule = getattr(schedule, name)(*args, **kwargs)
            tally.made[name] += 1
        except InputError:
            tally.wrong[name] += 1
        except IllegalSchedule as error:
            tally.illegal[name] += 1
            assert schedule.draft is before
            check_witness(schedule, error)
    check_results(fn, schedule, rng)


def check_results(fn: Any, schedule: Schedule, rng: random.Random) -> None:
    """The loops of the schedule compute what the nest does; BudgetExceeded where they are not found or run in time."""
    options = schedule.history.options
    try:
        with isl.within(options.lower_seconds, options.lower_operations):
            kernel = lower(schedule.tree, schedule.draft.scop)
    except CannotLower:  # which optimize says, too
        return
    with clock.running(_SECONDS):
        for n in (1, 2, 5):
            arguments = nests.arguments_for(fn, rng, n)
            try:
                nests.assert_same_outcome(fn, kernel, arguments)
            except LaunchError:  # a copy that is as large as what was assumed of sizes allows
                return


def check_witness(schedule: Schedule, error: IllegalSchedule) -> None:
    """The pair of instances that the refusal names depends on each other, and the refused tree breaks that."""
    violation, scop = error.violation, schedule.draft.scop
    if not isinstance(violation, Violation) or not isinstance(error.tree, Tree):
        assert str(error), "a refusal says why"
        return
    sizes = violation.sizes
    for instance in filter(None, (violation.source, violation.sink)):
        statement = {s.name: s for s in scop.statements}.get(instance.statement)
        assert statement is None or instance.iteration in points(statement.domain, sizes)
    if violation.dependence is None or violation.sink is None or any(a.space != "global" for a in scop.arrays):
        return
    d, source, sink = violation.dependence, violation.source, violation.sink
    if d.is_exact:
        pairs = brute_pairs(modelled(scop, sizes))
        assert (source.iteration, sink.iteration) in pairs[d.kind, source.statement, sink.statement, d.array]
    first, second = (_time(error.tree, i.statement, i.iteration, sizes) for i in (source, sink))
    assert first >= second or any(_is_apart(loop, source, sink, sizes) for loop in _at_once(error.tree)), str(error)


def _time(tree: Tree, name: str, iteration: tuple[int, ...], sizes: dict[str, int]) -> tuple[int, ...]:
    (when,) = points(isl.Set.from_union_set(_instance(name, iteration).apply(flatten(tree))), sizes)
    return when


def _instance(name: str, iteration: tuple[int, ...]) -> isl.UnionSet:
    return isl.UnionSet(f"{{ {name}[{', '.join(map(str, iteration))}] }}")


def _at_once(tree: Tree) -> Iterator[Band]:
    """The loops whose iterations may run at the same time."""
    for node in walk(tree):
        if isinstance(node, Band) and mark_of(node, Concurrent):
            yield node


def _is_apart(loop: Band, source: Any, sink: Any, sizes: dict[str, int]) -> bool:
    """Are both in the loop, in different iterations?"""
    values = []
    for instance in (source, sink):
        union = _instance(instance.statement, instance.iteration).apply(loop.members[0].schedule)
        values += [points(isl.Set.from_union_set(union), sizes)] if not union.is_empty() else []
    return len(values) < 2 or values[0] != values[1]


# --- what edits are given


def _loop(rng: random.Random, schedule: Schedule) -> str:
    return rng.choice(schedule.loops)


def _two(rng: random.Random, schedule: Schedule) -> tuple[str, ...]:
    return tuple(rng.sample(schedule.loops, min(2, len(schedule.loops))))


def _one_loop(rng: random.Random, schedule: Schedule) -> Arguments:
    return (_loop(rng, schedule),), {}


def _tile(rng: random.Random, schedule: Schedule) -> Arguments:
    start = rng.randrange(len(schedule.loops))
    loops = schedule.loops[start : start + rng.choice([1, 1, 2, 3])]
    return loops, {"sizes": tuple(rng.choice([1, 2, 3, 4]) for _ in loops)}


def _skew(rng: random.Random, schedule: Schedule) -> Arguments:
    one, *other = sorted(_two(rng, schedule), key=schedule.loops.index, reverse=True)
    return (one, other[0] if other else one), {"factor": rng.choice([-1, 1, 1, 2])}


def _interchange(rng: random.Random, schedule: Schedule) -> Arguments:
    loops = _two(rng, schedule)
    return (loops[0], loops[-1]), {}


def _reorder(rng: random.Random, schedule: Schedule) -> Arguments:
    return tuple(rng.sample(schedule.loops, min(3, len(schedule.loops)))), {}


def _assume(rng: random.Random, schedule: Schedule) -> Arguments:
    return (rng.choice(["n >= 0", "n <= 1000", "n >= 0 and n <= 5000"]),), {}


def _sized_loop(*sizes: int) -> Generator:
    """A loop, and one of these numbers."""
    return lambda rng, schedule: ((_loop(rng, schedule), rng.choice(sizes)), {})


def _neighbours(rng: random.Random, schedule: Schedule) -> Arguments:
    start = rng.randrange(len(schedule.loops))
    return schedule.loops[start : start + rng.choice([2, 2, 3])], {}


def _diamond(rng: random.Random, schedule: Schedule) -> Arguments:
    (one, *other), _ = _neighbours(rng, schedule)
    return (one, other[0] if other else one, rng.choice([2, 4])), {}


def _split(rng: random.Random, schedule: Schedule) -> Arguments:
    return (_loop(rng, schedule), rng.choice([1, 2, 3])), {"tail": rng.choice(["cut", "cut", "guard", "exact"])}


def _shift(rng: random.Random, schedule: Schedule) -> Arguments:
    return (_statement(rng, schedule), _loop(rng, schedule), rng.choice([-1, 1, 2])), {}


def _statement(rng: random.Random, schedule: Schedule) -> str:
    return rng.choice([statement.name for statement in schedule.draft.scop.statements])


def _peel(rng: random.Random, schedule: Schedule) -> Arguments:
    return (_loop(rng, schedule),), {rng.choice(["first", "last"]): rng.choice([1, 2])}


def _split_set(rng: random.Random, schedule: Schedule) -> Arguments:
    loop = _loop(rng, schedule)
    return (loop, rng.choice([f"{loop} < 2", f"{loop} < n // 2", f"{loop} % 2 == 0", "i < j", "2 * i <= n"])), {}


def _distribute(rng: random.Random, schedule: Schedule) -> Arguments:
    before = {"before": _statement(rng, schedule)} if rng.random() < 0.5 else {}
    return (_loop(rng, schedule),), before


def _array(rng: random.Random, schedule: Schedule) -> str:
    return rng.choice([array.name for array in schedule.draft.scop.arrays])


def _array_at(rng: random.Random, schedule: Schedule) -> Arguments:
    return (_array(rng, schedule), _loop(rng, schedule)), {}


def _collapse(rng: random.Random, schedule: Schedule) -> Arguments:
    at = rng.randrange(len(schedule.loops))
    return schedule.loops[at : at + rng.choice((2, 2, 3))], {}


def _vectorize(rng: random.Random, schedule: Schedule) -> Arguments:
    return (_loop(rng, schedule),), rng.choice(({}, {"width": 4}))


def _compute_at(rng: random.Random, schedule: Schedule) -> Arguments:
    kwargs = {"store_at": _loop(rng, schedule)} if rng.random() < 0.5 else {}
    return (_array(rng, schedule), _loop(rng, schedule)), kwargs


def _prefetch(rng: random.Random, schedule: Schedule) -> Arguments:
    return (_array(rng, schedule), _loop(rng, schedule), rng.choice((1, 2, 9))), {}


def _loop_of_array(rng: random.Random, schedule: Schedule) -> Arguments:
    return (_loop(rng, schedule), _array(rng, schedule)), {}


def _one_array(rng: random.Random, schedule: Schedule) -> Arguments:
    return (_array(rng, schedule),), {}


def _own_array(rng: random.Random, schedule: Schedule) -> str:
    """One that edits have made, if there is one."""
    users = {array.name for array in schedule.draft.scop.function.arrays}
    own = [array.name for array in schedule.draft.scop.arrays if array.name not in users]
    return rng.choice(own) if own else _array(rng, schedule)


def _fold(rng: random.Random, schedule: Schedule) -> Arguments:
    return (_own_array(rng, schedule), rng.choice([0, 0, 1]), rng.choice([0, 0, 2, 3])), {}


def _layout(rng: random.Random, schedule: Schedule) -> Arguments:
    layouts = ["i -> i // 2, i % 2", "i -> 2 * i", "i -> i % 4", "i, j -> j, i", "i, j -> i + j, j", "i, j -> j"]
    return (_own_array(rng, schedule), rng.choice(layouts)), {}


EDITS: dict[str, Generator] = {
    "assume": _assume,
    "cache_read": _array_at,
    "cache_write": _array_at,
    "collapse": _collapse,
    "compute_at": _compute_at,
    "cyclic": _sized_loop(2, 3),
    "diamond": _diamond,
    "distribute": _distribute,
    "fold_storage": _fold,
    "fuse": _neighbours,
    "inline": _one_array,
    "interchange": _interchange,
    "parallel": _one_loop,
    "peel": _peel,
    "prefetch": _prefetch,
    "privatize": _array_at,
    "reorder": _reorder,
    "reverse": _one_loop,
    "reverse_compute_at": _array_at,
    "rfactor": _loop_of_array,
    "separate": _one_loop,
    "shift": _shift,
    "skew": _skew,
    "specialize": lambda rng, schedule: ((rng.choice(["n % 2 == 0", "n >= 3", "n < 0"]),), {}),
    "split": _split,
    "split_set": _split_set,
    "tile": _tile,
    "transform_layout": _layout,
    "unroll": _sized_loop(2, 3),
    "unroll_and_jam": _sized_loop(2, 3),
    "vectorize": _vectorize,
    "wavefront": _neighbours,
}
