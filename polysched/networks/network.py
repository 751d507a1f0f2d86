"""A network, compiled: call it with arrays by name, print what it runs, save it as C.

net = ps.network("model.onnx", shapes={"x": (1, 3, 224, 224)})
scores, = net(x=x)
print(net.report())
net.save("classifier")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from polysched.config.options import Options, require_options
from polysched.errors import InputError
from polysched.ir.graph.cse import eliminate
from polysched.ir.graph.operations import Graph
from polysched.networks.built import Built
from polysched.networks.groups import grouped
from polysched.networks.kernels import compiled, kernels
from polysched.networks.passes.batch_norm import without_batch_norms
from polysched.networks.passes.guards import guarded
from polysched.networks.passes.layouts import values_last
from polysched.networks.passes.places import places_of
from polysched.networks.plan import planned
from polysched.networks.reading.reader import read
from polysched.networks.report import report
from polysched.networks.running.bound import Bound
from polysched.networks.running.programs import program
from polysched.networks.running.weights import weights_of
from polysched.networks.saved import save
from polysched.support.entry import entries, entry

FAST = Options(reorder_reductions=True, fast_math=True)


@entries
@dataclass(frozen=True, kw_only=True)
class Network(Built):
    """What `ps.network` gives."""

    def __call__(self, **inputs: Any) -> tuple[np.ndarray, ...]:
        """The results, as new arrays; LaunchError for inputs of other names, shapes or types, or places outside."""
        return self._bound.run(inputs)

    def report(self) -> str:
        """The kernels with the operations and shapes of each, and what memory is used."""
        return report(self)

    def save(self, folder: str | Path) -> Path:
        """Writes the network as one C file with one entry, its weights, a header, a Makefile and an example."""
        return save(self, Path(folder))

    @cached_property
    def _bound(self) -> Bound:
        return Bound(self)


@entry
def network(
    model: Any,
    shapes: Mapping[str, Sequence[int]] | None = None,
    target: str = "c",
    *,
    constants: Mapping[str, Any] | None = None,
    options: Options | None = None,
    fuse: bool = True,
) -> Network:
    """The network in an ONNX file, or in an `onnx.ModelProto`, compiled.

    `shapes` gives the inputs' where the file leaves dimensions open; `constants` are inputs whose value is known now.
    Sums of floats run in any order, unless `options` say otherwise. InputError, with the node, its operator and the
    attribute, for what is not supported.
    """
    if target != "c":
        raise InputError(f"networks are compiled for C, and target is {target!r}", hint='write target="c"')
    options = FAST if options is None else options
    require_options(options)
    if options.constants:
        raise InputError("the weights of a network are constant anyway", hint="leave constants out of the options")
    found = read(model, {name: tuple(shape) for name, shape in (shapes or {}).items()}, constants)
    weights = dict(found.constants)
    stages = {"read": found.graph}
    stages["batch norm"] = without_batch_norms(stages["read"], weights)
    stages["eliminate"] = eliminate(stages["batch norm"])
    places = places_of(stages["eliminate"])
    stages["guards"], guards = guarded(stages["eliminate"])
    graph = stages["guards"]
    contents = contents_of(graph)
    for fault in (each.fault(weights[contents[each.name]]) for each in places if each.name in contents):
        if fault:
            raise InputError(f"the constant {fault}")
    groups = grouped(graph, fuse=fuse)
    made = kernels(groups, weights, contents, values_last(graph, groups, contents.keys(), options.machine))
    done = compiled(made, options)
    programs = {name: program(each) for name, each in done.items()}
    return Network(
        name=graph.name,
        stages=stages,
        kernels=made,
        compiled=done,
        programs=programs,
        weights=weights_of(made, programs),
        plan=planned(graph, made.calls, found.outputs),
        guards=guards,
        constants={name: weights[key] for name, key in contents.items()},
        options=options,
        narrow=found.narrow,
        places=tuple(each for each in places if each.name not in contents),
    )


def contents_of(graph: Graph) -> dict[str, str]:
    """The hash of each constant by the name of its value."""
    constants = (each for each in graph.body.operations if each.kind == "Const")
    return {each.results[0].name: str(dict(each.attributes)["content"]) for each in constants}
