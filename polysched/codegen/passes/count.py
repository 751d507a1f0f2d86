"""How much integer work a function does beside its loops: subscripts, conditions, temporaries.

    for i in 0..4:                          24 integer operations? no: 2, executed 2 * 4 * 32 times each
        for j in 0..32:
            A[i * 32 + j] = 0.0
"""

from __future__ import annotations
