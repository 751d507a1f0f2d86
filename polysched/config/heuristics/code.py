"""Numbers of judgement for the last steps over loops and expressions."""

from __future__ import annotations

SHARED_REACH = 8  # statements in which a common subexpression is looked for: most bodies are no longer
TILE_LOOP = 64  # iterations of a loop that becomes a dimension of registers

# Conditions that are moved out of loops.
SHORT_LOOP = 8  # iterations of a loop that compilers unroll
DEEPEST_COPIES = 2  # nested ifs with an else around a copy: four copies
COPIED_OPERATIONS = 32  # so few that the condition is a part of the work
DEAREST_LET = 32  # operations of a Let that a condition takes along
CANDIDATES = 8  # per loop, so that the time stays linear

# Texts.
STACK_BYTES = 1 << 17  # larger local arrays live on the heap
FEW_BYTES = 1 << 14  # of an array of unknown size in a loop, which then needs no heap
REGISTER_BYTES = 1 << 12  # larger ones are reached by a pointer: then gcc keeps others in registers
COPIED_STATEMENTS = 16  # of a loop that is printed twice
UNROLLED_BY_GCC = 16  # iterations: the most that it takes apart
