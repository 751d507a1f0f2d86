"""Schedule trees: their nodes, and their forms as text, HTML, YAML and isl."""
