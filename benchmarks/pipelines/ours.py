"""The pipelines as tensor expressions, by `optimize` alone."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.pipelines.stages import Pipeline, Stage
from polysched.ir.nodes import Function

_WORDS = SimpleNamespace(
    select=ps.select,
    abs=ps.abs,
    i32=lambda value: value.astype(ps.i32),
    narrow=lambda value, dtype: value.astype(getattr(ps, dtype)),
)


def function(pipeline: Pipeline) -> Function:
    """The nest, whose arrays are "a" and, of the result, "out"."""
    n, m = ps.var("n"), ps.var("m")

    def shape(stage: Stage) -> tuple[Any, Any]:
        rows, columns = (rate * size + more for size, rate, more in zip((n, m), stage.rate, stage.more, strict=True))
        return rows, columns

    known = {"in": ps.placeholder(shape(pipeline.source), getattr(ps, pipeline.dtype), "a")}

    def element(stage: Stage) -> Callable[[Any, Any], Any]:
        def at(y: Any, x: Any) -> Any:
            def of(name: str, dy: int = 0, dx: int = 0, step: tuple[int, int] = (1, 1)) -> Any:
                return known[name][y * step[0] + dy, x * step[1] + dx]

            return stage.element(of, _WORDS)

        return at

    *others, last = pipeline.stages
    for stage in others:
        known[stage.name] = ps.compute(shape(stage), element(stage), stage.name, inline=False)
    result = ps.compute((n, m), element(last), "out")
    return ps.function(pipeline.name, [known["in"]], [result])


def data(pipeline: Pipeline, size: int) -> dict[str, np.ndarray]:
    """An input, and room for a result of `size` rows and columns."""
    rows, columns = (rate * size + more for rate, more in zip(pipeline.source.rate, pipeline.source.more, strict=True))
    values = np.random.default_rng(0).random((rows, columns), np.float32)
    dtype = np.dtype(getattr(ps, pipeline.dtype).numpy)
    if dtype.kind != "f":
        values = (values * np.iinfo(dtype).max).astype(dtype)
    return {"a": values, "out": np.zeros((size, size), dtype)}
