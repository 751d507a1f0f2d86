"""Whole C files without pragmas: their loops are found, and those that gain are replaced."""
