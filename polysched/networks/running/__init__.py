"""Runs a network: what its kernels take of constants, its buffers, and all calls as one function in C."""
