"""What kernels compute from constants alone."""
