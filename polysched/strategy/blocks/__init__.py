"""Factorizations and other nests whose outer loop carries everything, in blocks."""
