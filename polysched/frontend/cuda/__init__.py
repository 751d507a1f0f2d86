"""CUDA files: their kernels, and what they declare."""
