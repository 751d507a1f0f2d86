import os

os.environ["POLYSCHED_RESULTS"] = "off"  # what is tested is the compiler of now
