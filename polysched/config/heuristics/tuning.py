"""Numbers of the search for faster schedules, and of how their kernels are timed."""

from __future__ import annotations

# A measurement.
PAIRS = 7  # samples of a kernel and of the default, in turns: the fewest whose extremes hold the median in 98 of 100
ROUNDS = 3  # as often pairs are doubled while they do not tell which is faster
WIDE = 1.1  # an interval of a ratio, its end by its begin, that tells nothing if it holds 1
CONFIRMED = 15  # pairs of a winner, which is one because others had worse luck
GAIN = 1.01  # times as fast as the default, for sure, or a kernel is not worth another text
SAMPLE = 0.02  # seconds: shorter calls are repeated
SLOW = 1.5  # times as long as the default in the first pair, and nothing is gained by more
SIGNIFICANT = 0.05  # how often the interval may miss the median
ROUNDING = {16: 1e-2, 32: 1e-4, 64: 1e-8}  # by the bits of floats, relative to the largest element of an array
FINALISTS = 3  # that are measured again, the best first, until one is confirmed

# A search.
DRAWN = 4  # points that are judged in a generation for each that is measured: a tenth of a second of a core for each
GENERATIONS = 2  # of points, before some are measured
PROMISING = 0.5  # of parents, from the generation before; others were measured
AT_ONCE = 6  # kernels that are built before some are timed
EXPLORED = 0.25  # of those measured, whatever is predicted of them
FRESH = 0.25  # of those drawn, from the default; others come from what was measured
CROSSED = 0.25  # of those from what was measured: answers of two
PARENTS = 8  # the best ones, of which two are drawn and the better is taken
CHANGED = (1, 1, 1, 2, 2, 3)  # decisions of a parent that change, one of these numbers
EXHAUSTED = 5  # rounds without a new kernel, and there are no more

# A kernel for a GPU, by its counts; cycles of a multiprocessor.
SCHEDULERS = 4  # each issues an instruction a cycle
DEPENDENT = 2.0  # from an instruction to the next one of its thread, in the mean: four where it needs the result
GLOBAL_WAIT, SHARED_WAIT = 30.0, 4.0  # for an access: 500 and 30, of which several are under way
BARRIER_WAIT = 30.0
LAUNCH = 5000.0  # some microseconds

# A model.
TREES = 100  # of the one that is shipped
PRIOR = 0.25  # of the logarithm that the cost model says, which trees correct: less noise is learned by heart
FEWEST, MOST = 3, 10  # examples of a leaf, of few and of many
MORE_TREES = 20  # that correct it by what was measured here
FEW_EXAMPLES = 12  # fewer than these correct nothing
CLEAR = 0.05  # log2 of the width of an interval, below which an example counts in full
SEEDS = 4  # answers of the nearest nest's best, to begin with
MATTERS = 10  # measurements, of fewer of which it cannot be told which decisions mattered
