"""Blocks of rows on GPUs: products, rows made of them, and products of these, as one kernel."""
