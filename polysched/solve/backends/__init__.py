"""The solvers of the scheduling ILP, one a file, all with `solve(problem, deadline) -> solution or None`."""
