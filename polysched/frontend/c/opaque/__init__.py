"""Statements that a nest cannot say: their own text, in its place, with all that it may touch."""
