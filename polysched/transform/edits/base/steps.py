"""Edits that a hint names: as text that can be copied, and as what they do.

    Step.of(skew, "j", by="i")          skew("j", by="i")
    first((skew_i, skew_j), tile)       skew("i", by="t").skew("j", by="t") first
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from polysched.config.plain import called
from polysched.transform.edits.base.draft import Draft


@dataclass(frozen=True)
class Step:
    """One edit of a hint."""

    text: str
    edit: Callable[[Draft], Draft]

    @staticmethod
    def of(edit: Callable[..., Draft], *args: Any, **kwargs: Any) -> Step:
        """The edit with these arguments, as a user would write it."""
        return Step(called(edit.__name__, *args, **kwargs), lambda draft: edit(draft, *args, **kwargs))


def text_of(steps: Sequence[Step]) -> str:
    """The calls one after the other."""
    return ".".join(step.text for step in steps)


def after(draft: Draft, steps: Sequence[Step]) -> Draft:
    """The draft after the steps; what they raise where they are not legal."""
    return reduce(lambda now, step: step.edit(now), steps, draft)


def first(draft: Draft, steps: Sequence[Step], then: Callable[[Draft], Draft]) -> tuple[str, Callable[[], Draft]]:
    """The alternative to an edit that does the steps before it."""
    return f"{text_of(steps)} first", lambda: then(after(draft, steps))
