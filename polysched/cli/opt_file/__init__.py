"""C in, C out: the files of `polysched opt`."""

from polysched.cli.opt_file.output import write
from polysched.cli.opt_file.regions import Outcome, Rewritten, rewrite

__all__ = ["Outcome", "Rewritten", "rewrite", "write"]
