"""Edits of a nest before it is modeled, and which of them it gets."""
