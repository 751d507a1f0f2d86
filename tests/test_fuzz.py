"""tests/fuzz: that each kind of random program runs, and that what is planted is found."""

from __future__ import annotations

import random
import shutil
from itertools import islice
from unittest.mock import patch

import pytest

import polysched as ps
from polysched.errors import BudgetExceeded
from tests.fuzz import c_files, runner
from tests.fuzz.c_programs import random_c
from tests.fuzz.kinds import KINDS
from tests.fuzz.outcome import Refused

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_right_program(kind):
    for seed in range(20_000, 20_010):
        try:
            KINDS[kind](seed)
            break
        except Refused:
            continue
    else:
        pytest.fail("all are refused")


def test_a_seed_gives_the_same_c_file_again():
    assert random_c(random.Random(5)) == random_c(random.Random(5))


def test_a_wrong_kernel_is_found():
    real = c_files.rewrite

    def wrong(data, regions, **options):
        out = real(data, regions, **options)
        return type(out)(text=out.text.replace(b" + 1", b" + 2"), kernels=out.kernels, regions=out.regions)

    def finds(seed: int) -> bool:
        try:
            c_files.check_c(seed)
        except Refused:
            return False
        except AssertionError:
            return True
        return False

    with patch.object(c_files, "rewrite", wrong):
        assert any(finds(seed) for seed in range(20))


def test_what_is_not_verified_in_time_is_refused():
    late = patch.object(ps.Compiled, "verify", side_effect=BudgetExceeded("isl ran out of time"))
    with late, pytest.raises(Refused, match="in time"):
        KINDS["verified"](20_000)


@pytest.mark.slow
def test_processes_that_die_are_counted_and_replaced():
    seen: list[runner.Ended] = []
    tasks = iter([("expressions", 1), ("no such kind", 2), ("expressions", 3)])
    counts = runner.run(islice(tasks, 3), 1, seen.append)
    assert [one.how for one in seen] == ["right", "crash", "right"]
    assert counts["expressions", "right"] == 2
