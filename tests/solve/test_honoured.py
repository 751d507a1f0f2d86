from __future__ import annotations

import pytest

from polysched.constraints import innermost, max_skew, order, outer_parallel, separate, tile_sizes, together
from polysched.deps.dataflow import dependences
from polysched.errors import IllegalSchedule, InputError
from polysched.model.extract import extract
from polysched.options import Options
from polysched.solve.honoured import require_met, unmet
from polysched.solve.scheduler import find_schedule
from polysched.transform.tile import tile_all
from tests import nests


def stencil_and_its_schedule():
    model = extract(nests.stencil2(margin=1))
    deps = dependences(model)
    return model, deps, find_schedule(model, deps, Options()).tree


def jacobi_and_its_schedule():
    model = extract(nests.jacobi_1d())
    deps = dependences(model)
    return model, deps, find_schedule(model, deps, Options()).tree


def test_what_the_skewed_stencil_meets():
    model, deps, tree = stencil_and_its_schedule()
    met = (order("S", "i"), order("S", "_", "i + j"), order("S", "i", "_*i + j"), innermost("S", "j"), max_skew(1))
    missed = (order("S", "j"), order("S", "i", "j"), innermost("S", "i"), max_skew(0), outer_parallel())
    assert unmet(tree, model, deps, (*met, *missed, tile_sizes("S", (8, 8)))) == missed


def test_what_source_order_meets():
    model, deps, _ = stencil_and_its_schedule()
    assert unmet(model.tree, model, deps, (order("S", "i", "j"), innermost("S", "j"), max_skew(0))) == ()


def test_loops_in_common():
    model, deps, tree = jacobi_and_its_schedule()
    met = (together("S0", "S1"), together("S*", depth=1), separate("S*", depth=2))
    missed = (separate("S0", "S1"), separate("S*", depth=1))
    assert unmet(tree, model, deps, (*met, *missed)) == missed
    in_source = (together("S0", "S1"), separate("S0", "S1"))
    assert unmet(model.tree, model, deps, (*in_source, together("S*", depth=1))) == in_source


def test_tiles_leave_what_is_said_about_rows():
    model, deps, tree = jacobi_and_its_schedule()
    tiled = tile_all(tree, model, deps, Options(tile_sizes=(16, 16)))
    met = (order("*", "t", "2t + i"), max_skew(2), together("*"), separate("*", depth=2))
    missed = (order("*", "t", "i"), max_skew(1), separate("*", depth=1))
    assert tiled != tree and unmet(tiled, model, deps, (*met, *missed)) == missed


def test_lanes_inside_of_the_loops_around():
    model, deps, tree = jacobi_and_its_schedule()
    assert unmet(tree, model, deps, (innermost("S0", "i"),)) == (innermost("S0", "i"),), "S1 waits for S0 along i"


def test_a_tree_that_must_meet_them():
    model, deps, tree = stencil_and_its_schedule()
    assert require_met(tree, model, deps, (order("S", "i"),)) is tree
    with pytest.raises(IllegalSchedule) as raised:
        require_met(tree, model, deps, (order("S", "j"), max_skew(0), max_skew(1)))
    assert str(raised.value) == 'the schedule given does not meet order("S", "j") and max_skew(0)'
    with pytest.raises(InputError) as raised:
        require_met(tree, model, deps, (order("T", "j"),))
    assert str(raised.value) == ('order("T", "j"): there is no statement \'T\'\nhint: the statements are: S[i, j]')
