"""Long fuzzing: `python tests/fuzz.py --first 500 --count 5000` compiles random nests and compares every bit.

Each nest goes through the whole pipeline with random options, as in test_pipeline.py; a failure prints its seed.
"""

from __future__ import annotations

import sys

from seeds import run_seeds
from test_pipeline import check_random_nest

if __name__ == "__main__":
    sys.exit(run_seeds(check_random_nest, __doc__, first=500, count=1000))
