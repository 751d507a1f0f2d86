"""Passes over arrays: packing, register tiles, scalars in place of elements, subscripts of one dimension."""
