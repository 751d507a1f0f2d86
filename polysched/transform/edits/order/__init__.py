"""Edits of the order of iterations."""
