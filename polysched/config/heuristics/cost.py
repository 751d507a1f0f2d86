"""Numbers of the cost model, of common x86-64 cores; what differs more from one to another is in `Machine`."""

from __future__ import annotations

# Operations, in cycles of one core.
OPERATIONS_A_CYCLE = 5  # of any kind
DIVISION, VECTOR_DIVISION = 5.0, 10.0
CALL, VECTOR_CALL = 20.0, 40.0
INTEGER_DIVISION, CONSTANT_DIVISION = 8.0, 4.0  # the latter as a product and shifts
LATENCY, DIVIDED = 5.0, 11.0  # of a value that the next iteration waits for, and more where it is divided
TEST = 1.0

# Loops.
ENTRY, UNEVEN_ENTRY = 4.0, 12.0  # the end of one that is another each time is predicted wrongly
STEP = 1.0
ALONE = 200.0  # cycles of a loop on threads that starts none, for OpenMP's bookkeeping
STRAIGHT = 64  # iterations of a SIMD loop that compilers write out

# Caches.
USED_OF_CACHE = 0.75  # by what we think is in it
SHARE_OF_L3 = 32 << 20  # bytes: of a larger one, which many cores share, others have the rest
SAME_STEP = 0.1  # of a step, for steps that are means
NEAR_ROWS = 8  # iterations, or elements, that accesses are apart and still touch the same

# A run.
SHOWN = 0.1  # of what takes less time than the longest part
START = 3e-6  # seconds, of threads
CORES_OF_MEMORY = 4  # that it keeps busy
SECOND_CACHES = 8  # so many times what they hold is much data
ALIKE = 0.9  # of the time of a simpler kernel, from which on both count as equally fast
