"""Nests as deep as people write them: recursion over expressions that go deeper than Python allows by default."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from polysched.errors import InputError

_FRAMES = 8_000  # a sum of 250 terms needs some 3000; C's stack of 8 MB holds more than these


@contextmanager
def deep_recursion(name: str) -> Iterator[None]:
    """Room for deep recursion in the block; InputError, naming the nest, where even that is too little."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, _FRAMES))
    try:
        yield
    except RecursionError as error:
        hint = "write long expressions as several statements, and fewer loops and conditions inside of one another"
        raise InputError(f"'{name}' is nested too deeply", hint=hint) from error
    finally:
        sys.setrecursionlimit(usual)
