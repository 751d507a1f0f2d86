"""polysched/check/trials/orders.py: kernels with their parallel loops in other orders."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from nests import arguments_for, loop, nest, random_nest

import polysched as ps
from polysched.check.trials.orders import BACKWARDS, INDEPENDENT, always_on_threads, has_loops, in_other_orders
from polysched.codegen.emit.c import emit_c
from polysched.codegen.memory.linearize import linearize
from polysched.ir.build import add, load, store, var
from polysched.ir.dtypes import i64
from polysched.ir.interp import interpret
from polysched.ir.nodes import Array
from polysched.operators.examples import stencil
from polysched.runtime.cpu import load as load_c

n, i = var("n"), var("i")
V = Array("V", i64, (add(n, 3),))


def chain(kind: str, step: int = 1):
    """V[i + 3] = V[i] + 1, which depends on what is three before."""
    body = store(V, (add(i, 3),), add(load(V, i), 1))
    bounds = (0, n) if step > 0 else (add(n, -1), -1)
    return nest("chain", "n", [V], replace(loop("i", *bounds, body, kind=kind), step=step))


def run(fn, order, size):
    other, name = in_other_orders(fn)
    values = np.arange(size + 3, dtype=np.int64) * 10
    interpret(other, {"n": size, "V": values, name: order})
    return values.tolist()


@pytest.mark.parametrize("kind", ["parallel", "dynamic", "vector"])
@pytest.mark.parametrize("step", [1, -1])
def test_backwards_every_dependence_is_turned_round(kind, step):
    assert run(chain(kind, step), BACKWARDS, 7) == run(chain("serial", -step), BACKWARDS, 7)
    assert run(chain(kind, step), BACKWARDS, 7) != run(chain("serial", step), BACKWARDS, 7)


@pytest.mark.parametrize("step", [1, 2, 7, -1, -3])
def test_every_order_runs_each_iteration_once(step):
    count = store(V, (i,), add(load(V, i), 1))
    bounds = (2, n) if step > 0 else (n, 2)
    fn = nest("count", "n", [V], replace(loop("i", *bounds, count, kind="parallel"), step=step))
    for size in (0, 1, 2, 3, 50):
        counted = range(2, size, step) if step > 0 else range(size, 2, step)
        for order in (BACKWARDS, 0, 1, 99):
            assert run(fn, order, size) == [10 * k + (k in counted) for k in range(size + 3)]


def test_orders_differ_by_seed():
    fn = chain("parallel")
    assert len({tuple(run(fn, seed, 40)) for seed in (BACKWARDS, 0, 1, 2)}) == 4


def test_serial_loops_stay():
    assert not has_loops(chain("serial"), INDEPENDENT)
    assert in_other_orders(chain("serial"))[0].body == chain("serial").body


def test_threads_start_at_any_size():
    kernel = ps.optimize(stencil).kernel
    assert " if(" in emit_c(kernel).text and " if(" not in emit_c(always_on_threads(kernel)).text


@pytest.mark.parametrize("seed", range(4))
def test_what_is_independent_gives_the_same_in_c(seed):
    fn = random_nest(random.Random(seed))
    done = ps.optimize(fn)
    other, order = in_other_orders(done.kernel)
    taken = replace(done.nest, scalars=other.scalars, params=(*fn.params, order) if fn.params else ())
    program = load_c(emit_c(other), taken, quickly=True)
    for number in (BACKWARDS, 1):
        wanted, actual = arguments_for(fn, random.Random(7), 5), arguments_for(fn, random.Random(7), 5)
        interpret(fn, wanted)
        program(**actual, **{order: number})
        assert all(np.array_equal(wanted[a.name], actual[a.name], equal_nan=True) for a in fn.arrays)


def test_a_false_mark_is_seen_in_c():
    """What threads may hide, since each begins where the one before it ends, an order of our own does not."""
    fn = linearize(chain("parallel"))
    other, order = in_other_orders(fn)
    taken = replace(fn, scalars=other.scalars, params=())
    program = load_c(emit_c(other), replace(taken, params=other.params), quickly=True)
    values, right = np.arange(43, dtype=np.int64), np.arange(43, dtype=np.int64)
    interpret(fn, {"n": 40, "V": right})
    program(n=40, V=values, **{order: BACKWARDS})
    assert values.tolist() != right.tolist()
