"""`python -m polysched` is the command line."""

import sys

from polysched.cli import main

sys.exit(main())
