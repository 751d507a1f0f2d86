"""From the regions of a C file to nests."""
