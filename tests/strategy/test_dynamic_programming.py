"""Tables that are filled from themselves: intervals, whose far terms run first in a tile, and steps that meet
themselves, many at a time on copies. Bits are those of the interpreter, sums that wrap and floats included."""

import random
from dataclasses import replace

import numpy as np
import pytest
from nests import arguments_for

import polysched as ps
from polysched.ir.interp import interpret
from polysched.model.reduction import exact_update
from polysched.strategy.dynamic import steps, untied
from polysched.strategy.script import Script
from tests.strategy import programs

INTERVALS = [programs.ways, programs.matrix_chain, programs.alignment, programs.folding]
STEPS = [programs.shortest_paths, programs.closure, programs.widest_paths]
OTHERS = [each for each in vars(programs).values() if isinstance(each, ps.Nest) and each not in INTERVALS + STEPS]
ALL = [*INTERVALS, *OTHERS, *STEPS]


def small_tiles(monkeypatch):
    """So that small tables have many, with borders among them."""
    monkeypatch.setattr(untied, "UNTIED_TILE", 4)
    monkeypatch.setattr(steps, "STEPS_AT_ONCE", 4)
    monkeypatch.setattr(steps, "STEP_ROWS", 4)
    monkeypatch.setattr(steps, "STEP_COLUMNS", 8)


def test_terms_that_need_nothing_of_their_tile_run_first():
    done = ps.optimize(programs.matrix_chain)
    assert [*map(str, split_of(programs.matrix_chain))] == [
        '.tile("i", "j", sizes=(64, 64), names=("i_o", "j_o"))',
        '.split_set("i", "64 * (k // 64) >= i and j >= 64 * (k // 64) + 64", of="S")',
    ]
    assert "any order" in str(done.dependences)
    rng = np.random.default_rng(0)
    for n in (1, 63, 64, 65, 130):
        given = rng.integers(-(2**62), 2**62, (n, n)), rng.integers(-(2**40), 2**40, n + 1)
        m, d = given[0].copy(), given[1]
        done(m, d, n)
        np.testing.assert_array_equal(m, _chain(*given, n))


def _chain(m, d, n):
    with np.errstate(over="ignore"):
        for i in range(n - 1, -1, -1):
            for j in range(i + 1, n):
                terms = m[i, i:j] + m[i + 1 : j + 1, j] + d[i] * d[i + 1 : j + 1] * d[j + 1]
                m[i, j] = min(m[i, j], terms.min())
    return m


@pytest.mark.parametrize("program", ALL, ids=lambda each: each.name)
def test_the_bits_are_those_of_the_nest(program, monkeypatch):
    small_tiles(monkeypatch)
    done, rng = ps.optimize(program), random.Random(1)
    is_on_copies, is_split = "kept_p" in str(done.kernel), program in INTERVALS
    assert is_on_copies == (program in STEPS)
    assert is_split == any(each.name == "split_set" for each in split_of(program))
    for n in (1, 2, 5, 9):
        arguments = arguments_for(done.nest, rng, n)
        arrays = {name: value.copy() for name, value in arguments.items() if isinstance(value, np.ndarray)}
        interpret(done.nest, arguments)
        interpret(done.kernel, arguments | {name: value.reshape(-1) for name, value in arrays.items()})
        for name, value in arrays.items():
            np.testing.assert_array_equal(value, arguments[name], err_msg=f"{name}, n = {n}", strict=True)


def split_of(program):
    """The edits that the phase makes of the schedule found."""
    start = ps.Schedule(program, "ilp").draft
    script = Script(replace(start, waits=True), ps.Options())
    untied.untied(script)
    return script.edits


def test_no_update_of_floats_commutes():
    """min(-0.0, 0.0) and min(nan, 1.0) are what comes first, and sums round."""
    for program in (programs.widest_paths, programs.chain_of_floats):
        scop = ps.Schedule(program).draft.scop
        assert not any(exact_update(statement.body) for statement in scop.statements)


def test_updates_of_two_kinds_do_not_commute():
    pairs = ps.Schedule(programs.mixed).draft.dependences.pairs
    assert {d.source == d.sink for d in pairs if d.commutes} == {True}
    assert any(d.source != d.sink and not d.commutes for d in pairs)
