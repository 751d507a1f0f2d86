"""C in, C out: the files of `polysched opt`."""

from polysched.opt.output import write
from polysched.opt.regions import Outcome, Rewritten, rewrite

__all__ = ["Outcome", "Rewritten", "rewrite", "write"]
