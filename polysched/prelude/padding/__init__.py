"""Zeros and other constants around data: copied, cut from the loops, or guarded."""
