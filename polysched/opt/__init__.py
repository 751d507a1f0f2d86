"""C in, C out: the files of `polysched opt`."""

from polysched.opt.regions import Outcome, Rewritten, rewrite
from polysched.opt.output import write

__all__ = ["Outcome", "Rewritten", "rewrite", "write"]
