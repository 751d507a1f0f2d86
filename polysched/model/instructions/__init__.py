"""Tensor instructions of the hardware: shapes, types, and where the elements of their fragments lie."""
