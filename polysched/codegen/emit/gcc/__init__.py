"""What gcc 12 does wrong, or does not find by itself, and how texts keep it from that."""
