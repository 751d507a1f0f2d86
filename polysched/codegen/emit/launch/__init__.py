"""What a launch of a kernel depends on: its grid, and whether its index arithmetic fits 32 bits."""
