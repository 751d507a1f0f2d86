"""Pictures of iterations, dependences and tiles."""
