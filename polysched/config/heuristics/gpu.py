"""Numbers of judgement for GPUs: grids, sums and copies."""

from __future__ import annotations

from dataclasses import dataclass

# Grids. The last of several numbers is for x.
THREADS = {1: (128,), 2: (8, 32), 3: (2, 4, 32)}  # of a block with one point each
TILE_THREADS = 8, 16  # of a block with tiles of points
TILE_POINTS, FEW_TILE_POINTS = 8, 4  # of a thread along each side; few where registers hold more operands than two
STENCIL_THREADS = 8  # along y, of a block with columns of points
COLUMN_BYTES = 32  # of points across a warp that are one thread's: of 16 to 64, within 3 % of the best on an H100
LINE_POINTS = 4  # of one dimension that are one thread's, or of each where rows are read across
DISTANT_CHUNK = 32  # iterations between two copies of rows that whole warps read
CHUNK, SMALL_CHUNK = 16, 8  # between two copies of what tiles share; the small one where those of 16 exceed
SHARED_BYTES = 40 << 10  # of copies, whose rows may be padded
HOST_TILE = 64  # iterations of a host's loop that carries everything at a time: as many terms as an update reads of
# its panels for each element that it loads and stores, 16 bytes of f64; one block has as many rows
HOST_TILES_TRIED = range(4, 7)  # up to what one block has threads for
HOST_TILE_LOOPS = 3  # inside of that loop: each doubles the parts of a tile, which are a kernel or more each
ONE_BLOCK = 64  # iterations along each loop of a band without parallel ones, up to which one block runs it: barriers
# between its threads cost a tenth of a launch, and what they share stays in its cache
ONE_BLOCK_THREADS = 8, 64  # of such a block, along y and x: more wait longer for each other than they have points
WHOLE_CHUNK = 8  # iterations of a loop that runs as a whole between copies

# Tensor instructions.
MOST_STAGES = 8  # of copies that take turns


@dataclass(frozen=True)
class WarpTile:
    """What a block and each of its warps has of a product, how many terms are copied at a time, and in how many
    buffers."""

    rows: int
    columns: int
    warp_rows: int
    warp_columns: int
    chunk: int
    stages: int
    speed: int  # of a full GPU, by percent of the best: TFLOP/s on an H100, 4096 rows, columns and terms

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns} by {self.warp_rows}x{self.warp_columns}"


WARP_TILES = {  # by the type of the factors
    "f16": (
        WarpTile(128, 128, 64, 64, 64, 3, speed=100),
        WarpTile(128, 64, 64, 32, 64, 3, speed=89),
        WarpTile(64, 128, 32, 64, 64, 3, speed=90),
        WarpTile(64, 64, 32, 32, 64, 4, speed=81),
    ),
    "f32": (
        WarpTile(128, 128, 64, 64, 32, 3, speed=100),
        WarpTile(128, 64, 64, 32, 32, 3, speed=89),
        WarpTile(64, 128, 32, 64, 32, 3, speed=87),
        WarpTile(64, 64, 32, 32, 32, 4, speed=76),
    ),
    "i8": (
        WarpTile(128, 128, 64, 64, 128, 3, speed=100),
        WarpTile(128, 64, 64, 32, 128, 3, speed=92),
        WarpTile(64, 128, 32, 64, 128, 3, speed=92),
        WarpTile(64, 64, 32, 32, 128, 4, speed=88),
    ),
    "f64": (
        WarpTile(64, 64, 32, 32, 32, 3, speed=100),
        WarpTile(64, 32, 32, 16, 16, 4, speed=92),
    ),
}

# Sums.
SUM_THREADS = 256  # of a block that adds up
SUM_BLOCKS = 1024
SUM_PARTS = 32  # blocks that share the elements of a sum
FEW_TERMS = 32 * SUM_THREADS  # that one block adds up sooner than two kernels are launched
ROW_WARPS = 8  # of a block whose warps have a row each
LONG_ROW = 1024  # terms for which a row has all threads of a block
ROW_ELEMENTS = 8  # of a row that each thread of its block has, if there are so many
ROW_BYTES = 40 << 10  # of shared memory for what a row reads several times; sums need some of the 48 KB, too
UNKNOWN_ROW_BYTES = 24 << 10  # of the same, of rows as long as an argument says: so many for each, however long it is,
# leave room for the eight blocks that fill a multiprocessor
ROWS, ROW_POINTS = 32, 4  # of a block that has products of rows, and of each of its warps: operands serve as many
ROW_TERMS = 256  # of such a product: of more, elements cost so much that larger tiles gain more than rows that stay
COLUMN_POINTS = 4  # of a thread along columns of such a product
FEW_COLUMN_POINTS = 2  # where these are all the columns there are
COLUMNS = 128  # that a block adds up
COLUMN = 4  # threads for each of them

# Copies in shared memory and in registers.
CHUNK_BYTES = 16 << 10  # of copies for several loops at a time: more keep other blocks from a multiprocessor
READ_OFTEN = 4  # times by a block, from which on an element is copied even where warps read whole sectors
WORTH_A_COPY = 8  # elements next to each other that several threads read
UNROLLED_UPDATES = 1024  # in the text of one chunk
UNROLLED_LOADS = 64  # in an unrolled body: half of the registers that a thread has at full occupancy, for f64
UNROLLED_OPERATIONS = 1 << 14  # in an unrolled body
PRELOADED = 64  # registers for all that is loaded before one loop
UNKNOWN_GRID = 1024  # blocks along an axis, where the host cannot tell how many are needed
UNKNOWN_BLOCK = {"x": 128, "y": 1, "z": 1}  # threads, where the loops do not tell

# Candidates of decisions, as powers of two.
THREADS_TRIED = range(9)  # of a block along one axis: with more, few blocks share a multiprocessor
POINTS_TRIED = range(4)  # of a thread along one axis: more take too many registers
CHUNKS_TRIED = range(2, 8)  # iterations: of fewer, a barrier takes longer than they do; more exceed shared memory
ROWS_TRIED = 16, 32, 64  # of a block: half a warp has too few to share, and more leave no room in shared memory
ROWS_COPIED = range(9, 14)  # elements of rows, up to which they are copied
TERMS_TRIED = range(4)  # times the least that tensor instructions take at a time
STAGES_TRIED = 2, 3, 4  # buffers, no powers: one is no turn, and shared memory seldom holds more than four
