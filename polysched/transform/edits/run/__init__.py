"""Edits of how loops run: on threads, lanes, axes of a GPU, unrolled, by tensor instructions."""
