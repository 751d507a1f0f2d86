"""Passes over loops on blocks and threads: shared memory, registers, barriers, points, tensor instructions."""
