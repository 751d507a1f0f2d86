"""From Python, C and CUDA to the loop IR."""
