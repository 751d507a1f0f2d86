"""Numbers of judgement for programs that nobody marked loops in."""

from __future__ import annotations

LEAST_OPERATIONS = 20_000  # of a nest: less take no longer than tests at its entry and a cold instruction cache
LEAST_SECONDS = 5e-6  # likewise, by the cost model, at sizes that are large where they are not known
LEAST_ON_THREADS = 150e-6  # where threads are all that gains: to start them takes 40 on a busy machine
WINS = 0.75  # of the predicted time of the text: half of the predictions are off by a third
SECONDS_OF_NEST = 12.0  # to compile one, of which a program has hundreds
SECONDS_OF_FILE = 300.0  # after which the rest is left as it is
MOST_COPIED = 64 << 20  # bytes of arrays that have a copy for each iteration: what fits beside anybody's data
