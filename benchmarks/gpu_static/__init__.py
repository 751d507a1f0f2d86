"""What the generated CUDA is worth, told without a GPU; the command line is in __main__.py."""
