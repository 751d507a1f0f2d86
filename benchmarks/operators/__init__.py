"""The operators of `polysched.operators` on cases of the field: `python -m benchmarks.operators --check`."""
