"""Commands that measure this machine, and what they have found."""
