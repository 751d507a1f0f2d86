"""Numbers of judgement for time tiles of stencils on GPUs."""

from __future__ import annotations

TIME_STEPS = range(1, 9)  # of one kernel: with more, what blocks compute again grows faster than traffic falls
TIME_STEPS_TRIED = tuple(range(9))  # and none
TILE_BYTES = 64 << 10  # of shared memory: what devices of compute capability 7.5 have, and half of what newer ones do
REDUNDANT = 0.25  # the largest share of what blocks compute that others compute, too
TIME_TILE_GAIN = 1.5  # of the predicted time, from which on barriers and partial tiles pay, which are not counted
TIME_TILE_SLACK = 1.15  # of the best predicted time, within which the most steps are taken: launches are not counted
TILE_THREADS = 768  # of a block: of more, a thread has too few registers for what the loops of all sweeps keep
STRIP = 8  # rows of a thread, whose neighbors it reads once: as many registers are left over by addresses
STRIPS = range(2, 17)  # of a box: with the columns as threads, up to what one block has
COLUMNS = 32, 64, 96, 128  # of a box: whole warps
LINES = 256, 512, 1024  # elements of a box of one dimension, a thread each
PLANES = range(4, 17)  # of a box of three dimensions along its middle one, a thread each

# Rates of an H100, of which only their ratios decide: an A100's differ by less than a fifth.
DRAM_BYTES = 3350e9  # a second
SHARED_WORDS = 132 * 32 * 1.755e9  # of 4 bytes a second, one for each bank
ISSUED = 4 * SHARED_WORDS  # instructions of threads a second
ADDRESSING = 3  # instructions of a point for loops and guards, as nvcc leaves them
