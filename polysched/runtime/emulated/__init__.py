"""Kernels of CUDA and OpenCL on the CPU, under a checker of races and accesses."""
