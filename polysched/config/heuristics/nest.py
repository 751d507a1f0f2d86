"""Numbers of judgement for what is done to a nest before it is scheduled, and to operators as they become one."""

from __future__ import annotations

# Padding.
OFTEN = 8  # uses of an element from which on a GPU copies its array to shared memory
COPY_PAYS = 1.5  # terms of a sum for each element of a padded copy
FRESH_COPY_PAYS = 10.0  # the same where each call gets the memory anew from the system, a page at a time
FEW_ZEROS = 4  # elements of a copy for each of the data, above which a cut leaves out more than a copy saves
KEPT_BYTES = 32 << 20  # up to which memory is used again (M_MMAP_THRESHOLD of glibc)
TYPICAL_SIZE = 64  # what sizes are taken for that are not known

# Units that are merged.
LONGEST_VALUE = 1000  # nodes: where each value is read twice by the next, they double
MACRO_STEPS = 100  # loops and statements that become one statement
MACRO_ELEMENTS = 16  # of a private array whose life is in it

MOST_CORNER = 16  # elements at an end of a row that are computed for nothing, so that loops have simple bounds
PART_OF_A_ROW = 4  # they are no more than a fourth of it
FOLDED_SIZES = (1, 2, 4, 8, 16, 32, 64)  # that are tried: remainders by them are cheap

# Operators.
INLINED_OPERATIONS = 8  # of what is computed at several places, or for several elements
INLINED_AGAIN = 2  # of what is computed again and again, as in a sum over other elements
CHEAP_OPERATIONS = 6  # that are rather done again than stored
OPERATIONS_OF_A_CALL = 8  # what exp and its like are worth
POWER_FACTORS = 4  # a power of a float to this one is a product
CONSTANTS_AT_KNOWN_PLACES = 64  # of stencils: 7 x 7 gain a fifth; 9 x 9 nothing, and gcc takes 14 s instead of 3
CONSTANTS_ELSEWHERE = 4  # a table of 4 entries, which data choose, gains a third; one of 8 takes 4 times as long
WINOGRAD_RESULTS = 8  # along an axis, from which on tiles of four leave few unused
WINOGRAD_TAPS = 7  # of an axis; with eight, errors are 1e-5 of what is summed

# Networks.
COPY_IN_LANES = 1 / 4  # of all lanes, which a convolution has to win before another layout pays for a copy behind it
