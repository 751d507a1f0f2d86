"""Passes over the graph of a network, before it is cut into kernels."""
