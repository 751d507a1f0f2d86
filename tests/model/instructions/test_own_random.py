"""Random nests through `tensorize` with random instructions: right, or refused for what is true."""

from __future__ import annotations

import random

import numpy as np
import pytest
from nests import arguments_for, outcome
from random_instructions import random_case, why_not

from polysched import IllegalSchedule, InputError, Options, Schedule, optimize
from polysched.model.instructions.own import INSTRUCTIONS, require_own

FIRST, COUNT = 0, 100


def check(seed: int) -> str:
    """What became of it."""
    rng = random.Random(seed)
    own, fn = random_case(rng)
    try:
        require_own(own)
    except InputError as error:
        return f"no instruction: {error.message}"
    INSTRUCTIONS[own.name] = own
    tile, sizes = [f"t{k}" for k in range(len(own.loops))], tuple(own.loops.values())
    truth = why_not(own, fn)
    try:
        schedule = Schedule(fn, options=Options(contract_floats=False)).tile(*tile, sizes=sizes)
        schedule = schedule.tensorize(*tile, own.name)
    except IllegalSchedule as error:
        return f"illegal: {error}"
    except InputError as error:
        assert truth, f"refused, though it is right: {error}"
        return f"refused: {error.message}, in truth {truth}"
    finally:
        del INSTRUCTIONS[own.name]
    assert not truth, f"taken, though {truth}"
    INSTRUCTIONS[own.name] = own
    done = optimize(fn, schedule=schedule)
    assert f"polysched_{own.name}(&" in done.source.text or done.declined
    arguments = arguments_for(fn, rng, n=0)
    expected = outcome(fn, arguments)
    done(**arguments)
    for name, value in expected.items():
        np.testing.assert_array_equal(arguments[name], value, err_msg=name)
    return "declined" if done.declined else "called"


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_a_random_nest_is_right_or_refused_for_what_is_true(seed: int) -> None:
    check(seed)
