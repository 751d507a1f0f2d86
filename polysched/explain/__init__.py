"""Why the loops of a nest are, or are not, parallel, tiled, SIMD and fused, and what would change that."""
