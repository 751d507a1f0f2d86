"""tests/quick_cases.txt names tests that there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from quick import quick_cases

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", [name for name, _ in quick_cases()])
def test_there_is_such_a_test(name):
    path, _, function = name.partition("::")
    text = (ROOT / path).read_text()
    assert path.endswith(f"/{function}") or f"\ndef {function}(" in text  # a page is a test as a whole
