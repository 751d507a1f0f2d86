"""What measurements teach: features of kernels, a model of how fast they are, and seeds out of other nests' winners."""
