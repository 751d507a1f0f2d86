"""Operators on parameters that are in no file of cases, in C at small sizes, against NumPy."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.operators.cases import Case, read
from benchmarks.operators.check import compared
from benchmarks.operators.random_cases import GENERATORS, main, random_cases
from polysched.operators import OPERATORS

WINOGRAD = {"batch": 2, "in_channel": 3, "in_size": 9, "num_filter": 2, "stride": 1}
CASES = [
    *(Case(each["op"], each["args"]).shrunk() for each in random_cases(27, seed=7) if "winograd" not in each["op"]),
    Case("conv2d_winograd", WINOGRAD | {"kernel": 3, "padding": [4, 0, 1, 3], "dilation": 3}),
    Case("conv2d_nhwc_winograd", WINOGRAD | {"kernel": 9, "padding": "SAME", "add_relu": True}),  # too large for tiles
    Case("deformable_conv2d", {"batch": 1, "in_channel": 4, "in_size": 4, "num_filter": 6, "kernel": 2, "groups": 2}),
    Case("image", {"batch": 1, "in_channel": 2, "in_height": 3, "in_width": 1, "out_height": 1, "out_width": 4}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.op)
def test_a_case_that_is_in_no_file_is_right(case):
    outcome = compared(case)
    assert (outcome.verdict, outcome.why) == ("right", ""), case


def test_every_operator_has_random_cases():
    assert GENERATORS.keys() == OPERATORS.keys()


def test_random_cases_are_valid_and_so_are_shrunk_ones():
    for each in random_cases(108, seed=3):
        case = Case(each["op"], each["args"])
        case.function()
        case.shrunk().function()


def test_a_file_of_cases_is_the_same_for_the_same_seed(tmp_path, monkeypatch):
    path = tmp_path / "cases.json"
    monkeypatch.setattr(sys, "argv", ["random_cases", "--count", "30", "--seed", "5", "-o", str(path)])
    main()
    assert json.loads(path.read_text()) == random_cases(30, seed=5)
    assert [case.op for case in read(path)][:28] == [*GENERATORS, "batch_matmul"]
