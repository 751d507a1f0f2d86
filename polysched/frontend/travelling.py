"""Nests and operators in other processes: their Python function is looked up there by its name, as pickle does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

from polysched.errors import InputError


class Travelling:
    """What has a function `python`, which pickle would refuse: the module holds a nest in its place."""

    python: Callable[..., Any] | None

    def __reduce__(self) -> tuple[Any, ...]:
        python = self.python
        if python is not None and not isinstance(python, Named):
            python = Named(python.__module__, python.__qualname__)
        return object.__new__, (type(self),), {**self.__dict__, "python": python}

    def __copy__(self) -> Self:
        return self  # it does not change

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


@dataclass(frozen=True)
class Named:
    """The Python function that a nest or operator of this name was read from."""

    module: str
    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._found()(*args, **kwargs)

    def _found(self) -> Callable[..., Any]:
        try:
            found: Any = import_module(self.module)
            for part in self.name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            message = f"the Python function '{self.name}' of module '{self.module}' is not in this process: {error}"
            raise InputError(message, None, "define it at the top of a module, or run what optimize gives") from error
        python = getattr(found, "python", found)
        return python._found() if isinstance(python, Named) and python != self else python
