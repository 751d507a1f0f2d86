"""From an instruction to what it does to the registers of a thread: the tables of integers.py, data.py and floats.py.

Integers, predicates and constants are exact, whatever is loaded from memory is unknown, and so are floats: addresses
and loops do not depend on them. Instructions as in CUDA 11 to 13 for sm_75 to sm_90.
"""

from __future__ import annotations

from polysched.counts.sass.execute.data import DATA
from polysched.counts.sass.execute.floats import FLOATS, unknown_float
from polysched.counts.sass.execute.integers import INTEGERS
from polysched.counts.sass.execute.operands import Step
from polysched.counts.sass.instructions import Instruction, kind
from polysched.errors import InputError

_RULES = INTEGERS | DATA | FLOATS


def decode(instruction: Instruction) -> Step:
    """What it does to a thread, its guard left out; InputError if it cannot be interpreted."""
    opcode = instruction.opcode
    if opcode in _NOTHING or (kind(instruction) in ("reconverge", "barrier") and opcode not in _UNSUPPORTED):
        return lambda thread: None
    found = _RULES.get(opcode) or (_RULES.get(opcode[1:]) if opcode.startswith("U") else None)
    if found is None and kind(instruction) in ("fma", "float", "special", "convert"):
        found = unknown_float, None
    if found is not None:
        rule, modifiers = found
        if modifiers is None or set(modifiers.split()).issuperset(instruction.modifiers):
            return rule(instruction)
    raise InputError(f"'{instruction}' cannot be interpreted, line {instruction.line}")


_NOTHING = ("STG", "STS", "ST", "RED", "REDG", "LDGSTS", "CCTL", "BMOV")
_UNSUPPORTED = ("ELECT", "ENDCOLLECTIVE", "SYNCS")
