"""E3: C[i] = A[i] + B[i] split by 32: xo < ceil(n/32), xi < 32, i = 32 xo + xi, and a guard i < n."""

import random

import nests
from by_hand import vadd

from polysched import Schedule, optimize
from polysched.codegen.lower import lower
from polysched.ir.text import show

LOWERED = """\
def vadd(C: f64[n], A: f64[n], B: f64[n], n: size):
    for c0 in 0..floordiv(n - 1, 32) + 1:
        for c1 in 0..32:
            if 32 * c0 + c1 < n:
                C[32 * c0 + c1] = A[32 * c0 + c1] + B[32 * c0 + c1]"""

C_BODY = """\
{
    for (int64_t c0 = 0; c0 < ((n - 1) >> 5) + 1; c0++) {
        const int64_t t0 = c0 * 32;
        for (int64_t c1 = 0; c1 < 32; c1++) {
            if (t0 + c1 < n) {
                C[t0 + c1] = A[t0 + c1] + B[t0 + c1];
            }
        }
    }
}
"""


def split() -> Schedule:
    return Schedule(vadd).split("i", 32, tail="guard", names=("xo", "xi"))


def test_the_inner_loop_runs_in_full_with_a_guard_inside():
    schedule = split()
    lowered = lower(schedule.tree, schedule.draft.scop)
    assert show(lowered) == LOWERED
    for n in (1, 31, 32, 33, 64):
        nests.assert_same_outcome(vadd.function, lowered, nests.arguments_for(vadd.function, random.Random(n), n))


def test_the_c_code_keeps_it():
    text = optimize(vadd, schedule=split()).source.text
    assert text[text.index("{") :] == C_BODY
