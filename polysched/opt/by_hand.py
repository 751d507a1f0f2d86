"""A schedule by hand for a region: what `polysched show script` prints, edited.

    schedule = (
        ps.Schedule(gemm, "ilp")          ->    the Schedule of the region's nest, `gemm`
        .tile("i", "j", sizes=(32, 32))
    )
"""

from __future__ import annotations

from dataclasses import dataclass
from traceback import walk_tb
from typing import Any

from polysched.errors import InputError, Loc, PolyschedError
from polysched.ir.nodes import Function
from polysched.schedule.schedule import Schedule


@dataclass(frozen=True)
class Script:
    """A file of Python that sets `schedule`."""

    path: str
    text: str

    def schedule_of(self, nest: Function) -> Schedule:
        """What it sets for the nest; InputError with the line of the script where that fails."""
        names: dict[str, Any] = {nest.name: nest}
        try:
            exec("import polysched as ps", names)
            exec(compile(self.text, self.path, "exec"), names)
        except SyntaxError as error:
            raise self._error(f"this is not Python: {error.msg}", error.lineno) from error
        except Exception as error:
            lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == self.path]
            kind = "" if isinstance(error, PolyschedError) else f"{type(error).__name__}: "
            raise self._error(f"{kind}{error}", lines[-1] if lines else None) from error
        if not isinstance(schedule := names.get("schedule"), Schedule):
            raise InputError(f"'{self.path}' sets no schedule", hint="polysched show script prints one")
        return schedule

    def _error(self, message: str, line: int | None) -> InputError:
        what, _, hint = message.partition("\nhint: ")
        line, lines = line or 1, self.text.splitlines()
        text = lines[line - 1] if line <= len(lines) else ""
        return InputError(what, Loc(self.path, line, len(text) - len(text.lstrip()) + 1, text), hint)
