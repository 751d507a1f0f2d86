"""Tables that name the same things agree."""

from __future__ import annotations

from typing import get_args

from edits import EDITS as GENERATORS

from polysched.config.options import Target
from polysched.config.target import TARGETS
from polysched.model.instructions import mma
from polysched.model.instructions.instruction import Instruction
from polysched.targets.table import BACKENDS
from polysched.transform.edits.base.registry import EDITS

# Edits that random schedules do not try: what they need, as a GPU's grid or a product, is seldom there.
NOT_RANDOM = {"bind", "double_buffer", "independent", "pad", "product", "serial", "set_scope", "tensorize"}
NOT_RANDOM |= {"online", "snapshot", "time_tile"}  # which have random tests of their own


def test_every_target_has_its_data_under_its_name_and_a_backend():
    assert get_args(Target) == tuple(TARGETS) == tuple(BACKENDS)
    assert all(target.name == name for name, target in TARGETS.items())


def test_every_instruction_is_in_the_table():
    rows = {each.name for each in vars(mma).values() if isinstance(each, Instruction)}
    assert rows == set(mma.INSTRUCTIONS)


def test_random_schedules_try_every_edit_but_some():
    assert set(EDITS) - set(GENERATORS) == NOT_RANDOM
    assert set(GENERATORS) <= set(EDITS)
