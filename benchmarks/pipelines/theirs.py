"""The pipelines in Halide, which its own autoschedulers schedule. `pip install halide`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.pipelines.stages import Pipeline

SCHEDULERS = ("Mullapudi2016", "Adams2019")
_DTYPES = {"f32": (32, "Float"), "u8": (8, "UInt"), "u16": (16, "UInt")}


def load() -> Any:
    """The library with its autoschedulers; SystemExit if it is not installed."""
    try:
        import halide
    except ImportError:
        raise SystemExit("--halide needs Halide, which is not installed: pip install halide") from None
    warnings.filterwarnings("ignore", "The floating-point value .* will be interpreted as a float32")
    folder = Path(halide.__file__).parent / "lib64"
    for name in SCHEDULERS:
        halide.load_plugin(str(folder / f"libautoschedule_{name.lower()}.so"))
    return halide


def scheduled(
    halide: Any, pipeline: Pipeline, scheduler: str, data: dict[str, np.ndarray], threads: int
) -> Callable[[], None]:
    """A call that fills data["out"]."""
    bits, kind = _DTYPES[pipeline.dtype]
    source = halide.ImageParam(getattr(halide, kind)(bits), 2, "a")
    result = _built(halide, pipeline, source)
    rows, columns = data["a"].shape
    source.dim(0).set_estimate(0, columns)
    source.dim(1).set_estimate(0, rows)
    result.set_estimates([halide.Range(0, size) for size in reversed(data["out"].shape)])
    whole = halide.Pipeline(result)
    target = halide.get_jit_target_from_environment()
    parameters = {"parallelism": str(max(threads, 2))}
    whole.apply_autoscheduler(target, halide.AutoschedulerParams(scheduler, parameters))
    source.set(halide.Buffer(data["a"]))
    return partial(whole.realize, halide.Buffer(data["out"]))


def _built(halide: Any, pipeline: Pipeline, source: Any) -> Any:
    x, y = halide.vars("x y")
    known = {"in": source}
    words = SimpleNamespace(
        select=halide.select,
        abs=halide.abs,
        i32=halide.i32,
        narrow=lambda value, dtype: getattr(halide, dtype)(value),
    )

    def of(name: str, dy: int = 0, dx: int = 0, step: tuple[int, int] = (1, 1)) -> Any:
        return known[name][x * step[1] + dx, y * step[0] + dy]

    for stage in pipeline.stages:
        function = halide.Func(stage.name)
        function[x, y] = stage.element(of, words)
        known[stage.name] = function
    return known[pipeline.stages[-1].name]
