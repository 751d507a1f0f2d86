"""Searches for faster schedules of PolyBench's kernels, and the model that learns from them."""
