"""A user's constraints on a schedule: demanded of it, shown to contradict each other, checked of a tree."""
