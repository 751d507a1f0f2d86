"""The loops of TSVC-2, as `polysched opt` rewrites them, against gcc on the source."""
