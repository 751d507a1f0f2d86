"""How much of C as people write it the front end takes: each outermost loop of each file of a repository."""
