"""Edits of a nest before it is modelled, and which of them it gets."""
