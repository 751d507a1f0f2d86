"""Sums along rows, and what is made of them, row by row: which, on blocks of a GPU, and what these copy."""
