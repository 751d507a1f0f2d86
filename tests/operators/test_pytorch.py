"""The operators in NumPy, against PyTorch; skipped where it is not installed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from benchmarks.operators import check
from benchmarks.operators.cases import Case, read
from benchmarks.operators.check import compared, disagreement
from benchmarks.operators.pytorch import Missing, rival, torch_reference
from benchmarks.operators.random_cases import random_cases

CONV = {"batch": 1, "in_channel": 2, "in_size": 5, "num_filter": 3, "kernel": 3}
NOT_THERE = {"batch_to_space_nd", "clip", "reduce", "relu"}


def inputs(case):
    return case.inputs(case.function())


def test_padding_of_two_sides_is_an_operation_by_itself():
    given = {"data": np.ones((1, 1, 3)), "weight": np.array([[[1.0, 10.0, 100.0, 1000.0]]])}
    out = torch_reference("conv1d", {"padding": "SAME", "layout": "NCW"}, given)
    assert out.tolist() == [[[1100, 1110, 111]]]


def test_integers_are_exact_in_float64():
    case = Case("conv2d_int8", CONV)
    given = {name: np.full_like(array, 127) for name, array in inputs(case).items()}
    assert torch_reference(case.op, case.args, given)[0, 0, 0, 0] == 127 * 127 * 18


def test_the_reference_agrees_on_the_cases_at_small_sizes():
    missing = set()
    for case in map(Case.shrunk, read()):
        why = disagreement(case, inputs(case))
        if why is None:
            missing.add(case.op)
        assert not why, case
    assert missing == NOT_THERE | {"upsampling", "image"}  # of the last two, some


def test_the_reference_agrees_on_random_cases():
    for case in (Case(each["op"], each["args"]) for each in random_cases(200, seed=3)):
        assert not disagreement(case, inputs(case)), case


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"fn": "crop_and_resize"}, "PyTorch has no crop_and_resize"),
        (
            {"layout": "NCHW", "method": "nearest_neighbor", "out_height": 1, "out_width": 1},
            "PyTorch has no nearest_neighbor of align_corners places, or rounds them",
        ),
    ],
)
def test_what_pytorch_has_not_is_named(args, message):
    with pytest.raises(Missing) as missing:
        torch_reference("image", args, {"data": np.ones((1, 1, 2, 2))})
    assert str(missing.value) == message


def test_integers_are_no_rival():
    case = Case("conv2d_int8", CONV)
    with pytest.raises(Missing) as missing:
        rival(case.op, case.args, inputs(case), threads=2, onednn=True)
    assert str(missing.value) == "PyTorch has no conv2d_int8 that sums in i32"


def test_a_reference_that_disagrees_makes_a_case_wrong(monkeypatch):
    case = Case("conv2d_nchw", {**CONV, "padding": 1})
    assert compared(case).is_held
    right = check.reference
    monkeypatch.setattr(check, "reference", lambda *given: right(*given) + np.eye(5))
    monkeypatch.setattr(check, "difference", lambda *given: "")
    outcome = compared(case)
    assert (outcome.verdict, outcome.is_held) == ("wrong", False)
    assert outcome.why.startswith("the reference differs from PyTorch: 15 of 75 elements, first out[0, 0, 0, 0]: ")
