"""Runs one thread of a kernel, instruction by instruction, to see how many it takes."""
