"""From the statements of an operator to a graph in SSA form."""
