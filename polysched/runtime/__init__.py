"""Compiles texts and calls them: cache, arguments, libraries."""
