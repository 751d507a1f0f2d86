"""Edits of where values are computed and stored."""
