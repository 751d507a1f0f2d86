"""Control that leaves its place in a region: jumps, and the values that loops leave in their variables."""
