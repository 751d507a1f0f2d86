"""Targets: how their kernels are printed and run."""
