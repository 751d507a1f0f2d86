"""polysched/check/trials/borders.py: sizes on both sides of where kernels change."""

from __future__ import annotations

from polysched.check.trials.borders import borders
from polysched.ir.build import add, mul, var

n, m = var("n"), var("m")
MOST = 2**31 - 1


def test_both_sides_of_one_size():
    assert list(borders(["n"], [add(n, 100)])) == [({"n": MOST - 100}, True), ({"n": MOST - 99}, False)]


def test_all_alike_and_each_alone():
    found = list(borders(["n", "m"], [mul(n, m), add(n, 1)]))
    assert found[:2] == [({"n": 46340, "m": 46340}, True), ({"n": 46341, "m": 46341}, False)]
    assert found[2:4] == [({"n": MOST - 1, "m": 1}, True), ({"n": MOST, "m": 1}, False)]
    assert found[4:] == [({"n": 1, "m": MOST}, True), ({"n": 1, "m": MOST + 1}, False)]


def test_products_beyond_64_bits_do_not_wrap():
    assert list(borders(["n"], [mul(n, n, n)])) == [({"n": 1290}, True), ({"n": 1291}, False)]
    assert list(borders(["n"], [mul(n, n)]))[1] == ({"n": 46341}, False)


def test_sizes_that_say_nothing_are_left_out():
    assert list(borders(["n", "m"], [n]))[-1] == ({"n": MOST + 1, "m": 1}, False)
