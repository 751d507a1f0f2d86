"""Kernels for a GPU on the CPU, whose threads run one after another: what depends on their order shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polysched.ir.nodes import Function
from polysched.runtime.emulated.emulate import Emulated
from tests.nests import outcome


def assert_as_interpreted(program: Emulated, fn: Function, arguments: Mapping[str, Any]) -> None:
    """To the bit, threads first to last and last to first."""
    expected = outcome(fn, arguments)
    for program.reverse in (False, True):
        given = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
        program(**given)
        for name in expected:
            np.testing.assert_array_equal(given[name], expected[name], err_msg=name, strict=True)
