"""The memory of a region: structures that it goes to, and what overlaps."""
