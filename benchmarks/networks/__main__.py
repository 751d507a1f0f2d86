"""`python -m benchmarks.networks`: see `against_runtime.py`, whose processes cannot be started from here."""

import sys

from benchmarks.networks.against_runtime import main

if __name__ == "__main__":
    sys.exit(main())
