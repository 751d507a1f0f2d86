"""polysched/codegen/memory/runs_when.py: when loops around each other have an iteration."""

from __future__ import annotations

import random

import numpy as np
import pytest
from nests import add, binary, loop, mul, n, nest, var

from polysched.codegen.memory.runs_when import runs_when
from polysched.ir.build import conjunction, const, load, store
from polysched.ir.dtypes import i64
from polysched.ir.interp import interpret
from polysched.ir.nodes import Array, For, If, Stmt
from polysched.ir.text import show

c = var("c")
T = Array("T", i64, (const(9),))
END = binary("min", n, add(mul(16, c), 16))


def pair(outer: tuple, inner: tuple, step: int = 1) -> list[For]:
    """Loops over c and k, with their bounds."""
    inside = loop("k", *inner, store(T, (0,), 1))
    return [loop("c", *outer, inside, step=step), inside]


def test_chunks_run_when_the_first_one_does():
    conditions = runs_when(pair((0, add(n, 3)), (mul(16, c), END)))
    assert [show(each) for each in conditions] == ["0 < n + 3", "16 * 0 < min(n, 16 * 0 + 16)"]


@pytest.mark.parametrize(
    "inner",
    [
        (binary("max", mul(16, c), n), END),  # the second one may be the first that runs
        (0, c),
        (binary("*", c, c), n),
        (0, load(T, c)),
    ],
)
def test_loops_that_grow_do_not_tell(inner):
    assert runs_when(pair((0, n), inner)) is None


def test_loops_that_step_back_do_not_tell():
    assert runs_when(pair((n, 0), (mul(16, c), END), step=-1)) is None


@pytest.mark.parametrize("seed", range(60))
def test_random_loops_run_as_is_said(seed):
    rng = random.Random(seed)

    def bound(op: str):
        forms = [add(mul(rng.randint(-2, 2), c), rng.choice([n, 0]), rng.randint(-3, 3)) for _ in range(2)]
        return binary(op, *forms)

    loops = pair((rng.randint(-2, 2), add(n, rng.randint(-2, 2))), (bound("max"), bound("min")))
    conditions = runs_when(loops)
    if conditions is None:
        return
    for size in range(6):
        said = If(conjunction(conditions), (store(T, (0,), 1),))
        assert runs(loops[0], size) == runs(said, size)


def runs(stmt: Stmt, size: int) -> bool:
    """Does it store anything?"""
    cells = np.zeros(9, np.int64)
    interpret(nest("f", "n", [T], stmt), {"n": size, "T": cells})
    return bool(cells[0])
