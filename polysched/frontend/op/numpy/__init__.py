"""NumPy's functions and operators, as operations of a graph."""
