"""From an operator's graph to tensor expressions."""
