"""Schedules found by measuring: kernels built in parallel and timed alone, by a search that the cost model leads."""
