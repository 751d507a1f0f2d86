"""Passes over loops on threads and lanes: accumulators of their own, when threads are worth it."""
