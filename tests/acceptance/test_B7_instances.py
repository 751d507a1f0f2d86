"""B7: the loops scan exactly the instances of the stencil, in an order that keeps B3's dependences."""

from __future__ import annotations

from dataclasses import replace

import nests
import numpy as np
import pytest

import polysched as ps
from polysched.codegen.lower import lower
from polysched.ir.build import add, load, store, var
from polysched.ir.dtypes import i64
from polysched.ir.interp import interpret
from polysched.ir.nodes import Array
from polysched.model.extract import extract

NEST = nests.stencil2(margin=1)
STENCIL = extract(NEST)
i, j, N = var("i"), var("j"), var("N")

skewed = ps.Schedule(NEST).skew("j", by="i")
tiled = skewed.tile("i", "j", sizes=(2, 3))
ORDERS = {"skewed": skewed.tree, "tiled": tiled.tree, "wavefront": tiled.wavefront("i_o", "j_o").tree}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_B7_the_loops_scan_exactly_the_same_instances_and_keep_the_flow_dependences(order, size):
    """The statement's body is replaced by one that notes when its instance ran."""
    when, clock = Array("when", i64, (N, N)), Array("clock", i64, ())
    tick = (store(when, (i, j), load(clock)), store(clock, (), add(load(clock), 1)))
    (statement,) = STENCIL.statements
    watched = replace(STENCIL, statements=(replace(statement, body=tick),))
    run = replace(lower(order, watched), arrays=(when, clock), params=("N", "when", "clock"))
    arguments = {"N": size, "when": np.full((size, size), -1), "clock": np.zeros((), int)}
    interpret(run, arguments)
    times = arguments["when"]
    assert sorted(times.flat) == list(range(size * size)) and arguments["clock"] == size * size
    for row in range(size - 1):
        for column in range(size):
            assert all(times[row, column] < later for later in times[row + 1, max(column - 1, 0) : column + 2])
