"""Schedules: what methods edit, the automatic one as a script, and histories as Python and JSON."""
