"""Tests of many cases: some in `make test`, all in `make test-all`.

    @pytest.mark.parametrize("seed", batches(range(20), quick=3))
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def batches(values: Iterable[Any], *, quick: int) -> list[Any]:
    """The values as parameters of a test, all but the first few marked slow."""
    marks = pytest.mark.slow
    return [value if k < quick else pytest.param(value, marks=marks) for k, value in enumerate(values)]
