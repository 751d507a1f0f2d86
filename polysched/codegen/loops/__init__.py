"""Passes over loops: guards as bounds, what ranges decide, conditions that leave loops, unrolling."""
