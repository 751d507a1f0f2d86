"""Pipelines of stencils, and stencils over time: `python -m benchmarks.pipelines`."""
