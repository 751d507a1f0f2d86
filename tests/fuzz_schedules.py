"""Long fuzzing: `python tests/fuzz_schedules.py --first 300 --count 5000` edits random nests by hand at random.

As in test_random_edits.py; a failure prints its seed. At the end: how often each edit was made and refused.
"""

from __future__ import annotations

import sys
from functools import partial

from edits import Tally, check_random_edits
from seeds import run_seeds

if __name__ == "__main__":
    tally = Tally()
    status = run_seeds(partial(check_random_edits, tally=tally), __doc__, first=300, count=1000)
    print(tally)
    sys.exit(status)
