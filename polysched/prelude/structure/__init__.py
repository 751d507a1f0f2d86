"""The loops and dimensions that index arithmetic hides: fused loops and flat arrays taken apart."""
