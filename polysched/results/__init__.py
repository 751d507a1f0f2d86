"""What `optimize()` gives, and how it is kept on disk."""
