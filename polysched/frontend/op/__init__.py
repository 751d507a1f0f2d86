"""From Python functions over whole arrays to nests."""
