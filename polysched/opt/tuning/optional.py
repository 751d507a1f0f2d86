"""Libraries that polysched does without, but for one of its extras."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from polysched.errors import ToolchainError


def optional(module: str, extra: str, what: str) -> ModuleType:
    """The module; ToolchainError that names the extra of polysched to install, if it is missing.

    optional("lightgbm", "tune", "a learned model")
    """
    try:
        return import_module(module)
    except ImportError as error:
        library, command = module.partition(".")[0], f"pip install 'polysched[{extra}]'"
        raise ToolchainError(f"{what} needs {library}, which cannot be loaded ({error}): {command}") from error
