"""Kernels on a GPU, or on what OpenCL finds."""
