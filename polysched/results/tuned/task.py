"""What a measurement is of: a nest at some sizes, and all that its time depends on besides the schedule."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256

from polysched.config.options import Options, Target
from polysched.errors import ToolchainError
from polysched.ir.nodes import Function
from polysched.ir.text import in_words, show
from polysched.runtime.toolchain import find_compiler, processor
from polysched.support.version import __version__


@dataclass(frozen=True)
class Place:
    """Where something is measured, and with what."""

    machine: str
    compiler: str
    version: str  # of polysched

    def __str__(self) -> str:
        return f"{self.machine}; {self.compiler}; polysched {self.version}"


@dataclass(frozen=True, kw_only=True)
class Task:
    """Two measurements can be compared if these are alike."""

    nest: str  # a digest of its canonical text
    name: str  # of the function, for people
    target: str
    options: str  # those that are not the defaults
    machine: str
    compiler: str
    version: str  # of polysched
    sizes: str  # as in "n = 1000, m = 512"

    @property
    def but_for_sizes(self) -> dict[str, str]:
        """What has to be alike for `optimize`, which does not know the sizes of calls; nests have any name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("name", "sizes")}

    @property
    def key(self) -> dict[str, str]:
        """What has to be alike for measurements to be compared."""
        return {**self.but_for_sizes, "sizes": self.sizes}


def this_place() -> Place:
    """Here and now; ToolchainError without a C compiler."""
    compiler = find_compiler()
    return Place(_machine(), " ".join((compiler.version, *compiler.command[1:])), __version__)


def task_of(
    nest: Function,
    target: Target,
    options: Options,
    sizes: Mapping[str, int] | None = None,
    place: Place | None = None,
) -> Task:
    """That of the nest at a place; without one, here: ToolchainError without a C compiler, then."""
    place = place or this_place()
    return Task(
        nest=canonical(nest),
        name=nest.name,
        target=target,
        options=repr(replace(options, tuned="ignore")),
        **asdict(place),
        sizes=in_words({name: (sizes or {})[name] for name in nest.sizes} if sizes else {}),
    )


def canonical(nest: Function) -> str:
    """A digest of the text of the nest in the loop IR, in which neither places nor the name of the function count.

    Names of loops and arrays do, since decisions are about them.
    """
    return sha256(show(replace(nest, name="nest")).encode()).hexdigest()[:16]


def known_to(nest: Function, target: Target, options: Options) -> Task | None:
    """The task of the nest, at no sizes; None without a compiler, where nothing was ever measured."""
    try:
        return task_of(nest, target, options)
    except ToolchainError:
        return None


def _machine() -> str:
    """The model, the cores that this process may use, and how many threads OpenMP was told to take."""
    text = processor()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    model = re.search(r"model name\s*:\s*(.*?)\s+(?:flags|Features)\b", text)
    threads = os.environ.get("OMP_NUM_THREADS")
    told = f", OMP_NUM_THREADS={threads}" if threads else ""
    digest = sha256(text.encode()).hexdigest()[:8]  # of its instructions, too
    return f"{model[1] if model else 'processor'}, {cores} cores{told}, {digest}"
