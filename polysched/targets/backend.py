"""What is done with a kernel for a target: its text is printed, and run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from polysched.codegen.emit.source import Offload, Source
from polysched.config.options import Options
from polysched.ir.nodes import Function
from polysched.runtime.gpu.cuda_driver import Launcher
from polysched.support import isl

Load = Callable[[Source, Function, isl.Set, Options], Any]  # a program; it is called with arguments, and times calls


@dataclass(frozen=True, kw_only=True)
class Backend:
    """The printers of a target, and what runs its texts."""

    emit: Callable[[Function, Options], Source]
    emit_file: Callable[[Sequence[Offload], Options], str] | None = None  # of functions for C programs to call
    load: Load  # for this machine's CPU or device; LaunchError if it has none
    load_by: Callable[[Source, Function, isl.Set, Options, Launcher], Any] | None = None  # by a library of this name
