"""What a nest does, and with how much data."""

from polysched.counts.count import counts as counts
from polysched.counts.figures import Counts as Counts
