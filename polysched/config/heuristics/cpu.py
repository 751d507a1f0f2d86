"""Numbers of judgement for CPUs."""

from __future__ import annotations

from fractions import Fraction

# Register tiles: rows that are unrolled, and columns in a few vectors.
VECTORS_OF_ROW = 3
SUMS_IN_16_REGISTERS, SUMS_IN_32_REGISTERS = 12, 24  # the others are for operands
FEW_BLOCKS = 8  # of which one that is not full is worth avoiding
UPDATES_AT_ONCE = 4  # of a row, where there is no loop to unroll
WINDOW_TERMS = 64  # of a sliding window that is unrolled as a whole
INTERLEAVED_ROWS = 8  # which keep the processor busy where each iteration of a row waits for the one before

# Tiles of bands that are made for caches.
NEAR = 4  # elements from one access to the next, of which a line of a cache then has several
TILE_OF_L1 = 3 / 2  # for a column of blocks, of which rounding to a power of two leaves between 3/4 and 3/2
TILE_OF_L2 = 1 / 2  # for all columns of a tile
UPDATED_OF_L1 = 1 / 8  # of a row that is updated again and again
ROWS_OF_TILE, ROWS_OF_PACKED_TILE = 8, 16  # in register tiles; what is packed serves more rows
OTHER_LOOPS = 16  # iterations of a tile along what is neither row, column nor term
SHARED_TILE, SHARED_COLUMNS = 64, 5  # of several statements, the latter in register tiles: others use no registers
STENCIL_TILE, DEEP_STENCIL_TILE = 32, 8  # with up to three loops, and with more
LONGEST_ROW, LONGEST_DEEP_ROW = 512, 1024  # elements of such a tile with two loops, and with more
SHORTEST_ROW = 8
SERIAL_TILE, SERIAL_ROW = 16, 256  # where no loop runs as SIMD
UNTIED_TILE = 64  # of sums over intervals: what is tied runs without lanes, and is 2 of n / 64 tiles; three fit in L2
STEPS_AT_ONCE = 64  # that meet themselves: their own rows and columns, 2 of n / 64, run without register tiles
STEP_ROWS, STEP_COLUMNS = 64, 480  # of the tiles of the others: what they read of 64 steps fits in L2, twice
FUSED_BLOCK = 64  # iterations of tile loops that are fused: eight cache lines of f64, of each row

# Pipelines: strips of rows of the last stage, which compute what they need of the others.
LEAST_STRIP, MOST_STRIP = 32, 256  # rows
HALOS_OF_STRIP = 8  # what neighbors compute as well is an eighth; up to twice that still pays
ROW_RATES = (Fraction(1), *(rate for k in (2, 3, 4, 8) for rate in (Fraction(k), Fraction(1, k))))  # rows for one
USED_AGAIN = 3 / 2  # times that an element is used, up to which it is computed each time
SAMPLE_OF_USES = 32  # that all sizes have where these are counted
ROWS_OF_L1 = 1 / 2  # for the columns of those that are in use, which are computed at a time
WIDEST_STRIP = 1024  # columns; where more fit, whole rows mostly do
BUSY = 1  # operations a byte of these, of which the second cache keeps pace with fewer
STRIPS_OF_CORE = 2  # so that none waits long for the others

# Sums of products.
FEW_ROWS = 4  # with fewer, copying a factor costs as much as it brings
LEAST_COLUMNS = 8
LEAST_TERMS = 16  # of fewer, to begin and to store sums is most of the work
LEAST_UPDATES = 1 << 14
LEAST_DOT = 64  # terms of a dot product that is worth lanes of its own
WIDEST_TILE = 4  # vectors of a row of a tile: of more, gcc loads each again for each row
HIGHEST_TILE = 8  # rows, each in a line of a cache that may hold no more of them at addresses far apart
SPARE_REGISTERS = 2  # for what rows are multiplied by, and for gcc
SUMS_UNDER_WAY = 12  # at a time: on Zen 3, 8 take as long as 12
COLUMNS_OF_L1 = 3 / 4  # for the columns of a tile, next to rows and results that pass by
EVEN_SHARES = 0.9  # of the threads' time that is not waiting for others
COPIED_TERMS = 64  # at a time, of which a few lines each fit into the first cache
DOT_SUMS = 16  # vectors of them, half of the registers
DOT_COLUMNS = 8  # each in a line of a cache that may hold no more of them at addresses far apart
LONGEST_PACKED = 512  # iterations of the loop around a tile that a copy holds

# Constants.
PREPARED_GROWTH = 4  # of what is prepared to what it is made of, so that loading it is still cheaper than making it
LARGE_SIZE = 1 << 16  # what sizes that are not known are taken for there: the growth is what it tends to

# Threads: operations from which on starting them pays, of loops that are scalar, SIMD, and bound by memory.
OPERATIONS, SIMD_OPERATIONS, STREAM_OPERATIONS = 60_000, 400_000, 1_600_000
MOST_CHUNKS = 512  # of an uneven loop: enough to even it out, and few enough to be asked for in no time
PARTS_OF_EXTENT = 2  # at least, where what a tile has of it is counted
OPERATIONS_OF_A_CALL, OPERATIONS_OF_AN_UPDATE = 20, 4  # what they count as
PARTS = 32  # of a sum on threads: more than there are threads, few enough to be combined in no time
LEAST_PARTED = 4 * PARTS  # iterations of a loop whose parts have rows of their own
HIDDEN_OPERATIONS = 8  # that a processor makes while one waits for the one before it

# Sums on lanes.
SUM_VECTORS = 4  # an addition takes four cycles
SUM_OPERATIONS = 8  # of an iteration that is short enough to wait for it
SUM_TRIPS = 512  # of a loop that gains nothing, as one of a tile

# Loads of SIMD loops.
INVARIANT_REGISTERS = 32  # for elements that never change
GUARDED_LOADS = 3  # in one iteration, from which on its borders run apart

# Candidates of decisions, as powers of two.
SIZES_TRIED = range(3, 10)  # of tiles: from a line of a cache, of f64, to what few arrays have in the second one
ROWS_TRIED = range(1, 5)  # that are under way at a time: more take more registers than there are
