"""Kernels on a GPU, checked and timed: `python -m benchmarks.gpu`."""
