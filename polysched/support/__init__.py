"""What all layers use: the one door to islpy, limits of time, workers, traces, texts."""
