"""Regions whose expressions are nested deeply, as macros and generators write them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from polysched.errors import InputError
from polysched.frontend.c.file import clang
from polysched.frontend.c.read import read_c
from polysched.ir.text import show

KERNEL = """\
#include <stdlib.h>
static inline int square(int x) {{ return x * x; }}
void k(int n, int *restrict a)
{{
#pragma scop
    for (int i = 0; i < n; i++) a[i] = {};
#pragma endscop
}}
"""


def stored(tmp_path: Path, value: str) -> str:
    path = tmp_path / "kernel.c"
    path.write_text(KERNEL.format(value))
    (region,) = read_c(path)
    return show(region.function)


def test_what_is_repeated_does_not_double_each_time(tmp_path):
    nested = "abs(" * 20 + "a[i]" + " - 3)" * 20
    with pytest.raises(InputError, match="the argument of 'abs' is too long, as it stands there twice"):
        stored(tmp_path, nested)
    text = stored(tmp_path, nested.replace("abs", "square"))
    assert "square(" in text and len(text) < 10_000


FEW_FRAMES = sys.version_info[:2] == (3, 12)  # of C, which it counts apart and gives no way to have more of


@pytest.mark.parametrize("depth", [300, pytest.param(500, marks=pytest.mark.skipif(FEW_FRAMES, reason="Python 3.12"))])
def test_brackets_may_be_nested_as_gcc_has_them(tmp_path, depth):
    assert stored(tmp_path, f"{'(' * depth}i{')' * depth}") == stored(tmp_path, "i")


def test_a_walk_does_not_recurse(monkeypatch):
    """Each node of a sum of thousands would be handed up through all that are above it."""
    monkeypatch.setattr(clang, "children", lambda number: [number - 1] if number else [])
    assert list(clang.walk(5000)) == list(range(5000, -1, -1))


def test_no_child_is_lost_where_frames_of_c_end(tmp_path):
    """Python 3.12 has fewer than 500 brackets need: they are refused there, and read by all others."""
    value = f"{'(' * 500}i{')' * 500}"
    if FEW_FRAMES:
        with pytest.raises((InputError, RecursionError)):
            stored(tmp_path, value)
    else:
        assert "a[i] = i" in stored(tmp_path, value)
