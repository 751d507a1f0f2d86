"""What nvcc made of a CUDA text, read in its SASS: loops, instructions by kind, registers, occupancy. Needs no GPU."""
