"""Operation graphs in SSA form."""
