"""The Pluto scheduler: trees of permutable bands by integer linear programming."""
