"""What was measured of nests' schedules, in a database of this machine, and what `optimize` takes of it."""
