"""A nest up to its dependences, up to its tree, and up to its loops."""
