"""What edits are made of: drafts, loops by name, grafts, checks, the registry."""
