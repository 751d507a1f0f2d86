"""polysched/codegen/constants/split.py: what a kernel makes of constants alone, taken out of it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polysched.codegen.constants.split import Split, joined, split
from polysched.codegen.memory.linearize import linearize
from polysched.config.heuristics.cpu import PREPARED_GROWTH
from polysched.ir.build import add, binary, const, load, mul, store, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.interp import evaluate, interpret
from polysched.ir.node import loaded, stored, substitute, walk
from polysched.ir.nodes import Alloc, Array, Cast, Expr, For, Function, If, Let, Stmt, Var
from polysched.ir.rename import rename_bound
from polysched.ir.text import show
from polysched.ir.verify import verify
from tests.nests import arguments_for, loop, nest, outcome, random_nest

n, m, i, j, k, l = (var(name) for name in "nmijkl")  # noqa: E741
w, x, y = Array("w", f64, (m,)), Array("x", f64, (n, m)), Array("y", f64, (n, m))
a, b, t = Array("a", f64, (m,), "private"), Array("b", f64, (m,), "private"), Array("t", f64, (), "private")


def filled(array: Array, of: Array = w, name: str = "j", plus: Expr | int = 0) -> For:
    """array[j] = of[j] * of[j] + plus"""
    value = load(of, var(name))
    return loop(name, 0, m, store(array, (var(name),), add(mul(value, value), plus)))


def used(array: Array, name: str = "k", row: Expr = i) -> For:
    return loop(name, 0, m, store(y, (row, var(name)), mul(load(x, row, var(name)), load(array, var(name)))))


def of(*body: Stmt, arrays: tuple[Array, ...] = (w, x, y)) -> Function:
    return nest("f", "n m", arrays, *body)


def checked(fn: Function, *constants: str) -> Split | None:
    """The parts, which together do what `fn` does, one after the other and as one."""
    parts = split(fn, frozenset(constants))
    if parts is None:
        return None
    for part in (parts.prepare, parts.rest):
        verify(part, "lowered")
    names = {array.name for array in parts.arrays}
    fixed = {*constants, *names, *fn.sizes}
    assert loaded(parts.prepare.body) <= {*constants, *names} | {node.array.name for node in allocated(parts.prepare)}
    assert {*parts.prepare.sizes, *(array.name for array in parts.prepare.arrays)} <= fixed
    whole = joined(replace(parts, prepare=linearize(parts.prepare), rest=linearize(parts.rest)), fn)
    verify(whole, "lowered")
    for size in (0, 1, 2, 5):
        arguments = arguments_for(fn, random.Random(size), size)
        expected = outcome(fn, arguments)
        in_parts = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
        for array in parts.arrays:
            shape = [max(0, evaluate(extent, arguments)) for extent in array.shape]
            in_parts[array.name] = np.full(shape, 77, array.dtype.numpy)
        for part in (parts.prepare, parts.rest):
            interpret(part, {name: in_parts[name] for name in part.params})
        at_once = outcome(whole, {name: np.ravel(it) if np.ndim(it) else it for name, it in arguments.items()})
        for name, value in expected.items():
            np.testing.assert_array_equal(in_parts[name], value, err_msg=name, strict=True)
            np.testing.assert_array_equal(at_once[name].reshape(value.shape), value, err_msg=name, strict=True)
    return parts


def allocated(fn: Function) -> list[Alloc]:
    return [node for node in walk(fn.body) if isinstance(node, Alloc)]


def test_a_copy_in_a_loop_gains_a_dimension():
    """The one to learn from: of a temporary of each block, all blocks are prepared."""
    panel = Array("P", f64, (const(4),), "private")
    v = Array("v", f64, (const(8),))  # for 2 blocks of 4
    block = loop(
        "i",
        0,
        2,
        Alloc(panel),
        loop("j", 0, 4, store(panel, (j,), load(v, add(mul(4, i), j)))),
        loop("k", 0, 4, store(y, (i, k), mul(load(x, i, k), load(panel, k)))),
        kind="parallel",
    )
    fixed = tuple(replace(array, shape=(const(2), const(4))) for array in (x, y))
    parts = split(nest("f", "", (v, *fixed), block), frozenset({"v"}))
    assert parts is not None
    assert show(parts.prepare) == (
        "def f_prepare(v: f64[8], v_prepared: f64[2, 4]):\n"
        "    for i_0 in 0..2 (parallel):\n"
        "        for j_0 in 0..4:\n"
        "            v_prepared[i_0, j_0] = v[4 * i_0 + j_0]"
    )
    assert show(parts.rest) == (
        "def f(x: f64[2, 4], y: f64[2, 4], v_prepared: f64[2, 4]):\n"
        "    for i in 0..2 (parallel):\n"
        "        for k in 0..4:\n"
        "            y[i, k] = x[i, k] * v_prepared[i, k]"
    )


def test_loops_that_make_no_difference_fall_away():
    parts = checked(of(loop("i", 0, n, Alloc(a), filled(a), used(a))), "w", "n")
    assert parts is not None and parts.arrays[0].shape == (m,)
    (guard,) = parts.prepare.body
    assert isinstance(guard, If) and show(guard.cond) == "0 < n"


v = Array("v", f64, (m,))  # which is no constant
ONE = const(1.0, f64)
MUST_STAY: dict[str, list[Stmt]] = {
    "made of data": [Alloc(a), filled(a, v), loop("i", 0, n, used(a))],
    "changed by data": [Alloc(a), filled(a), loop("i", 0, n, used(a), loop("l", 0, m, store(a, (l,), load(x, i, l))))],
    "made anew for each use": [Alloc(a), loop("i", 0, n, loop("l", 0, m, store(a, (l,), Cast(i, f64))), used(a))],
    "in a loop over a size of data": [loop("i", 0, n, Alloc(a), filled(a), used(a))],
    "changed if data says so": [
        Alloc(a),
        filled(a),
        If(binary("<", load(v, const(0)), ONE), (filled(a, name="l", plus=ONE),)),
        loop("i", 0, n, used(a)),
    ],
    "added up on threads": [Alloc(a), replace(filled(a), reduces=("a",)), loop("i", 0, n, used(a))],
    "read before all of it is there": [
        Alloc(a),
        loop("j", 0, m, store(a, (j,), load(w, j)), store(y, (const(0), j), load(a, j))),
        loop("l", 0, m, store(a, (l,), ONE)),
    ],
    "under a guard of data": [
        loop("i", 0, m, If(binary("<", load(v, i), ONE), (Alloc(a), filled(a), used(a, row=const(0))))),
    ],
    "made in turns with what begins anew": [
        Alloc(a),
        filled(a),
        loop(
            "i",
            0,
            4,
            Alloc(b),
            loop("p", 0, m, store(b, (var("p"),), load(a, var("p")))),
            loop("l", 0, m, store(a, (l,), add(load(b, l), load(w, l)))),
        ),
        used(a, row=const(0)),
    ],
    "nothing made": [loop("i", 0, n, used(w))],
}


@pytest.mark.parametrize("body", MUST_STAY.values(), ids=MUST_STAY)
def test_what_must_stay(body):
    sizes = add(n, 1), m
    assert checked(of(*body, arrays=(w, replace(x, shape=sizes), replace(y, shape=sizes), v)), "w", "m") is None


def test_a_temporary_made_of_temporaries_goes_and_they_go_with_it():
    fn = of(Alloc(a), filled(a), Alloc(b), filled(b, a, "l"), loop("i", 0, n, used(b)))
    parts = checked(fn, "w")
    assert parts is not None
    assert [array.name for array in parts.arrays] == ["w_prepared"]
    assert [node.array.name for node in allocated(parts.prepare)] == ["a"]


def test_what_is_made_of_what_gains_a_dimension_gains_it_too():
    first = loop("j", 0, m, store(a, (j,), mul(load(w, j), Cast(i, f64))))
    rows = loop("i", 0, 4, Alloc(a), first, Alloc(b), filled(b, a, "l"), used(b))
    sizes = add(n, 4), m
    parts = checked(of(rows, arrays=(w, replace(x, shape=sizes), replace(y, shape=sizes))), "w")
    assert parts is not None
    assert [array.shape for array in parts.arrays] == [(const(4), m)]


def test_temporaries_made_in_turns_go_together():
    both = loop("j", 0, m, store(a, (j,), load(w, j)), store(b, (j,), add(load(a, j), 1.0)))
    parts = checked(of(Alloc(a), Alloc(b), both, loop("i", 0, n, used(b))), "w")
    assert parts is not None and len(parts.prepare.body) == 2  # one loop, and a, which nothing else reads


def test_statements_that_make_a_result_of_constants_stay():
    start = loop("i", 0, n, loop("j", 0, m, store(y, (i, j), load(w, j))))
    assert checked(of(start), "w", "n") is None


def test_guards_and_names_go_along():
    then = (Let("s", load(w, add(j, 1))), store(a, (j,), var("s", f64)))
    inside = If(binary("<", j, sub(m, 1)), then, (store(a, (j,), load(w, j)),))
    parts = checked(of(Alloc(a), loop("j", 0, m, inside), loop("i", 0, n, used(a))), "w")
    assert parts is not None and "s" not in show(parts.rest).split()


@pytest.mark.parametrize("what", ["names", "temporaries"])
def test_long_chains_take_no_exponential_time(what):
    """Each is made of the two before: there are more paths through 60 of them than anyone can follow."""
    if what == "names":
        names = [f"s{q}" for q in range(60)]
        two = zip(names, names[1:], names[2:], strict=False)
        lets = [Let(new, add(var(one, f64), var(other, f64))) for one, other, new in two]
        start = [Let(name, load(w, j)) for name in names[:2]]
        made: list[Stmt] = [Alloc(a), loop("j", 0, m, *start, *lets, store(a, (j,), var(names[-1], f64)))]
        last = a
    else:
        each = [Array(f"a{q}", f64, (m,), "private") for q in range(60)]
        made, last = [Alloc(array) for array in each], each[-1]
        for q, array in enumerate(each):
            value = add(load(each[q - 1], j), load(each[q - 2], j)) if q > 1 else load(w, j)
            made.append(loop(f"j{q}", 0, m, store(array, (var(f"j{q}"),), substitute(value, {"j": var(f"j{q}")}))))
    assert split(of(*made, loop("i", 0, n, used(last))), frozenset({"w"})) is not None


def test_what_outgrows_its_constants_stays():
    for trips, goes in ((PREPARED_GROWTH, True), (PREPARED_GROWTH + 1, False)):
        of_few, panel = Array("v", f64, (const(8),)), Array("P", f64, (const(8),), "private")
        fill = loop("j", 0, 8, store(panel, (j,), mul(load(of_few, j), Cast(i, f64))))
        use = loop("k", 0, 8, store(y, (i, k), load(panel, k)))
        arrays = of_few, replace(y, shape=(const(9), const(8)))
        fn = nest("f", "", arrays, loop("i", 0, trips, Alloc(panel), fill, use))
        assert (split(fn, frozenset({"v"})) is not None) == goes


@pytest.mark.parametrize("trips", [PREPARED_GROWTH, PREPARED_GROWTH + 1])
def test_what_outgrows_constants_of_any_size_stays(trips):
    filling = loop("j", 0, m, store(a, (j,), mul(load(w, j), Cast(i, f64))))
    sizes = add(n, 9), m
    arrays = w, replace(x, shape=sizes), replace(y, shape=sizes)
    fn = of(loop("i", 0, trips, Alloc(a), filling, used(a)), arrays=arrays)
    assert (checked(fn, "w") is not None) == (trips <= PREPARED_GROWTH)


def with_temporaries(fn: Function, rng: random.Random) -> tuple[Function, list[str]]:
    """The nest in which some arrays are temporaries, made of others first and stored to others last, of all of it or of
    one loop; and these others, which nothing writes."""
    body, arrays, sources = list(fn.body), [*fn.arrays], list[str]()
    for array in fn.arrays:
        where = [s for s, stmt in enumerate(body) if array.name in loaded(stmt) | stored(stmt)]
        if rng.random() < 0.4 or not where:
            continue
        source, target = (Array(f"{array.name}_{what}", array.dtype, array.shape) for what in ("in", "out"))
        arrays = [*(each for each in arrays if each is not array), source, target]
        sources.append(source.name)
        names = [f"{array.name}{d}" for d in range(len(array.shape))]
        index = tuple(map(var, names))

        def each(of: Array, value: Expr, names=names, index=index) -> Stmt:
            stmt: Stmt = store(of, index, value)
            for name, extent in reversed([*zip(names, of.shape, strict=True)]):
                stmt = loop(name, 0, extent, stmt)
            return stmt

        inside = body[where[0]]
        is_inside = len(where) == 1 and isinstance(inside, For) and rng.random() < 0.7
        value: Expr = load(source, *index)
        if is_inside and rng.random() < 0.7:
            value = add(value, Cast(Var(inside.var), array.dtype) if array.dtype != i64 else Var(inside.var))
        first, last = (Alloc(array), each(array, value)), each(target, load(array, *index))
        if is_inside:
            body[where[0]] = replace(inside, body=(*first, *inside.body, last))
        else:
            body[:0] = first
            body.append(last)
    return replace(fn, arrays=tuple(arrays), body=tuple(body), params=()), sources


def in_single_names(fn: Function) -> Function:
    """A nest as lowered ones are: each name is bound once, and loops count up."""
    count = iter(range(10**6))

    def once(body: tuple[Any, ...]) -> tuple[Any, ...]:
        out = []
        for stmt in body:
            match stmt:
                case For(var=name):
                    new = f"{name}_{next(count)}"
                    inner = rename_bound((replace(stmt, body=()),), lambda _, new=new: new)[0]
                    if stmt.step < 0:
                        inner = replace(inner, lo=add(stmt.hi, 1), hi=add(stmt.lo, 1), step=-stmt.step)
                    out.append(replace(inner, body=once(substitute(stmt.body, {name: Var(new)}))))
                case If():
                    out.append(replace(stmt, then=once(stmt.then), other=once(stmt.other)))
                case _:
                    out.append(stmt)
        return tuple(out)

    return replace(fn, body=once(fn.body))


def random_case(seed: int) -> tuple[Function, list[str]]:
    """A random nest with temporaries, and parameters that are constant."""
    rng = random.Random(seed)
    fn, sources = with_temporaries(random_nest(rng), rng)
    written = stored(fn.body)
    never = [array.name for array in fn.arrays if array.name not in written and array.name not in sources]
    constants = [name for name in sources if rng.random() < 0.8] + [name for name in never if rng.random() < 0.7]
    return fn, constants + (["n"] if rng.random() < 0.8 else [])


@pytest.mark.parametrize("batch", range(10))
def test_random_nests_compute_the_same_in_parts(batch):
    found = [check_random(seed) for seed in range(batch, 200, 10)]
    assert sum(found) > 1, "of which some have parts"


def check_random(seed: int) -> bool:
    fn, constants = random_case(seed)
    return checked(in_single_names(fn), *constants) is not None
