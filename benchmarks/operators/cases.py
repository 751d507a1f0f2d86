"""Cases: parameters of an operator, the nest for them, and random inputs.

    {"op": "dense", "args": {"batch": 2, "in_dim": 1024, "out_dim": 1000, "use_bias": true}}

Sizes are as in cases.json; `shrunk` has the same case with fewer batches and channels and less space.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from polysched.ir.interp import evaluate
from polysched.ir.nodes import Function
from polysched.operators import OPERATORS

CASES = Path(__file__).with_name("cases.json")
_NOT_OURS = ("use_cudnn", "devices")  # say where TVM runs a case, not what it computes
_KERNELS = ("kernel", "kernel_size", "depth_kernel", "space_kernel", "filter_height", "filter_h")
_MOST = {  # of a shrunk case, for each parameter
    1: ("batch",),
    2: ("x_batch", "y_batch", "num_batch"),
    6: ("in_channel", "in_channels", "num_filter", "filters"),
    12: ("in_size", "in_height", "in_width", "in_depth", "in_h", "in_shape", "data_shape", "grid_shape"),
    40: ("N", "M", "K", "m", "n", "in_dim", "out_dim"),
}


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
        """The same operator with few batches and channels and little space; of groups there are two."""
        args = {name: _shrunk(name, value, self._window()) for name, value in self.args.items()}
        if "groups" in args or "deformable_groups" in args:
            args |= {name: 2 for name in ("groups", "deformable_groups") if name in args}
            args |= {"in_channel": 4, "num_filter": 6}
        return replace(self, args=args)

    def _window(self) -> int:
        """How many elements a window reads along an axis, at most: what data has at least."""
        if "transpose" in self.op:
            return 1
        kernels, dilations = (_numbers(self.args.get(name, 1) for name in names) for names in (_KERNELS, ["dilation"]))
        return max(dilations) * (max(kernels) - 1) + 1


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


def _numbers(values: Iterable[Any]) -> list[int]:
    """All of the numbers and lists of numbers."""
    return [number for value in values for number in (value if isinstance(value, list) else [value])]


def _shrunk(name: str, value: Any, window: int) -> Any:
    most = next((most for most, names in _MOST.items() if name in names), None)
    if most is None:
        return value
    most = max(most, window) if name in _MOST[12] else most
    return [min(v, most) for v in value] if isinstance(value, list) else min(value, most)
