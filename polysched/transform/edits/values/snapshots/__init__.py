"""Snapshots: what each iteration of a loop reads of an array that it also writes, kept for later ones to overwrite."""
