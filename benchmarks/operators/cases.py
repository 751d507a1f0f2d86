"""Cases: parameters of an operator, the nest for them, and random inputs.

    {"op": "dense", "args": {"batch": 2, "in_dim": 1024, "out_dim": 1000, "use_bias": true}}

Sizes are as in cases.json; `shrunk` has the same case with fewer batches and channels and less space.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from polysched.ir.interp import evaluate
from polysched.ir.nodes import Function
from polysched.operators import OPERATORS

CASES = Path(__file__).with_name("cases.json")
_NOT_OURS = ("use_cudnn", "devices")  # say where TVM runs a case, not what it computes
_MOST = {  # of a shrunk case, for a parameter whose name has the word
    "channel": 8, "filters": 6, "num_filter": 6, "batch": 2, "size": 12, "height": 12, "width": 12, "depth": 8,
    "in_h": 12, "dim": 40, "in_shape": 12, "m": 40, "n": 40,
}  # fmt: skip
_KEPT = ("filter_h", "filter_height", "channel_multiplier", "depth_kernel", "in_batch_block", "in_channel_block")


@dataclass(frozen=True)
class Case:
    op: str
    args: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.op}({', '.join(f'{name}={value}' for name, value in self.args.items())})"

    def function(self) -> Function:
        """The nest; InputError where the library refuses the parameters."""
        return OPERATORS[self.op](**self.args)

    def inputs(self, nest: Function, seed: int = 0) -> dict[str, np.ndarray]:
        """Small random values for all arrays but the result."""
        rng = np.random.default_rng(seed)
        return {array.name: self._values(array.name, shape_of(nest, array.name), array.dtype.numpy, rng)
                for array in nest.arrays if array.name != "out"}  # fmt: skip

    def _values(self, name: str, shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
        if name in self.args:  # the boxes of crop_and_resize
            return np.array(self.args[name], dtype)
        match np.dtype(dtype).kind:
            case "f":
                spread = 2.0 if name == "offset" else 1.2 if name == "grid" else 1.0
                return rng.uniform(-spread, spread, shape).astype(dtype)
            case "b":
                return rng.random(shape) < 0.1
        return rng.integers(-128, 128, shape).astype(dtype)

    def shrunk(self) -> Case:
        """The same operator with at most a few batches and channels, and little space; groups stay divisors."""
        args = {name: _shrunk(name, value) for name, value in self.args.items()}
        groups = min(args.get("groups", args.get("deformable_groups", 1)), 4)
        for name in ("groups", "deformable_groups"):
            if name in args:
                args |= {name: groups, "in_channel": 2 * groups, "num_filter": 3 * groups if name == "groups" else 6}
        if "x_batch" in args:
            args["x_batch"] = args["y_batch"] if args["y_batch"] > 1 else args["x_batch"]
        return replace(self, args=args)


def read(path: Path = CASES) -> list[Case]:
    """The cases of a file; a SystemExit names what is no case."""
    cases = []
    for number, each in enumerate(json.loads(path.read_text())):
        if not isinstance(each, dict) or each.get("op") not in OPERATORS or not isinstance(each.get("args"), dict):
            raise SystemExit(f"{path}: case {number} is {each!r}, and needs an op of the library, and args")
        cases.append(Case(each["op"], {k: v for k, v in each["args"].items() if k not in _NOT_OURS}))
    return cases


def shape_of(nest: Function, name: str) -> tuple[int, ...]:
    return tuple(int(evaluate(extent, {})) for extent in nest.array(name).shape)


def _shrunk(name: str, value: Any) -> Any:
    if name in _KEPT or isinstance(value, bool):
        return value
    most = next((most for word, most in _MOST.items() if name == word or (len(word) > 2 and word in name)), None)
    if most is None or "padding" in name or "kernel" in name or name == "size":
        return value
    if isinstance(value, list):
        return [min(v, most) for v in value]
    return min(value, most) if isinstance(value, int) else value
