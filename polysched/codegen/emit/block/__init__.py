"""What a block of C that takes a region's place consists of, beside the kernel."""
