"""Stencils on GPUs: several time steps in one kernel."""
