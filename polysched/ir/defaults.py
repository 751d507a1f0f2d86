"""What a call gets for the parameters that it leaves out: numbers, or what arrays hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polysched.ir.contents import Contents
from polysched.ir.nodes import Function


def default_arguments(fn: Function) -> dict[str, Any]:
    """What a call gets for the parameters that it leaves out."""
    return {name: value.array if isinstance(value, Contents) else value for name, value in fn.defaults}


def without_contents(fn: Function) -> Function:
    """The function whose array parameters have no defaults."""
    kept = tuple((name, value) for name, value in fn.defaults if not isinstance(value, Contents))
    return fn if len(kept) == len(fn.defaults) else replace(fn, defaults=kept)
