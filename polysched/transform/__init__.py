"""Transformations of schedule trees."""
