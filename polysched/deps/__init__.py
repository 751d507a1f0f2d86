"""Exact dependences, and whether a schedule tree keeps them."""
