"""What trial runs need: sizes, valid data, other orders of loops, bounds of rounding."""
