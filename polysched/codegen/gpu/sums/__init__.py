"""Sums by all threads of a GPU: in teams, by rows, by columns and over blocks."""
