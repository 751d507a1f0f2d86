"""What a network is made of, once it is compiled: its graphs, kernels, plan of memory and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from polysched.config.options import Options
from polysched.ir.graph.operations import Graph
from polysched.networks.groups import Group
from polysched.networks.kernels import Kernels
from polysched.networks.passes.guards import Guard
from polysched.networks.passes.places import Places
from polysched.networks.plan import Plan
from polysched.networks.running.weights import Weights
from polysched.pipeline import Compiled
from polysched.runtime.cpu import CpuProgram


@dataclass(frozen=True, kw_only=True)
class Built:
    """`stages` are the graphs that led to the kernels, by the name of the pass."""

    name: str
    stages: Mapping[str, Graph] = field(repr=False)
    kernels: Kernels = field(repr=False)
    compiled: Mapping[str, Compiled] = field(repr=False)
    programs: Mapping[str, CpuProgram] = field(repr=False)  # of the kernels, loaded
    weights: tuple[Weights, ...] = field(repr=False)  # of each call: constants, and what was made of them
    plan: Plan = field(repr=False)
    constants: Mapping[str, np.ndarray] = field(repr=False)
    options: Options = field(repr=False)
    narrow: Mapping[str, str] = field(repr=False)  # inputs and results of types that kernels take as bits
    places: tuple[Places, ...] = field(repr=False)  # which inputs give to gathers and scatters
    guards: tuple[Guard, ...] = field(repr=False)  # what tells of places outside

    @property
    def graph(self) -> Graph:
        """The operations that run, after all passes."""
        return list(self.stages.values())[-1]

    @property
    def groups(self) -> tuple[Group, ...]:
        """Which operations share a kernel, in the order of the calls."""
        return tuple(call.group for call in self.kernels.calls)
