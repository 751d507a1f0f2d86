"""Prints functions of the loop IR as C, CUDA, HIP and OpenCL."""
