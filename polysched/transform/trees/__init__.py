"""Rules that give other trees."""
