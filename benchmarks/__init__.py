"""Measurements. Each compiles anew what it measures."""

import os

os.environ["POLYSCHED_RESULTS"] = "off"
