"""The targets by name."""

from __future__ import annotations

from collections.abc import Mapping

from polysched.config.options import Target
from polysched.targets import c, cuda, hip, opencl
from polysched.targets.backend import Backend

BACKENDS: Mapping[Target, Backend] = {
    "c": c.BACKEND,
    "cuda": cuda.BACKEND,
    "opencl": opencl.BACKEND,
    "hip": hip.BACKEND,
}
