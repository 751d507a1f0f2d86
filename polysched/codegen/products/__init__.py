"""Products of packed matrices, as kernels of their own."""
