"""polysched: polyhedral scheduling in Python."""
