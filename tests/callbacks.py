"""Python functions that are safe to hand to isl's foreach_*."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Callbacks:
    """Makes Python functions safe to hand to isl: an exception is kept, and raised when the block ends.

    islpy swallows exceptions in callbacks, and for some arguments frees memory that isl still owns.
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __enter__(self) -> Callbacks:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if self.error is not None:
            raise self.error

    def each(self, fn: Callable[[Any], None]) -> Callable[[Any], None]:
        """For `foreach_*`: must return None to go on."""

        def call(item: Any) -> None:
            if self.error is None:
                try:
                    fn(item)
                except BaseException as error:
                    self.error = error

        return call
