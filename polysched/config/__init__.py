"""What a user, a machine or a target fixes: options, constraints, limits and capabilities."""
