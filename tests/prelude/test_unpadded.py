"""polysched/prelude/padding/unpadded.py: padded copies that are not made, or made at once."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from unittest.mock import patch

import nests
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import polysched as ps
from polysched.errors import InputError
from polysched.frontend.python import parse_nest
from polysched.ir.nodes import Alloc, Function
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.prelude.edits import applied
from polysched.prelude.padding import unpadded
from polysched.prelude.padding.unpadded import copies_to_leave_out, unpad

FILL = """
    for i in range(7):
        for j in range(9):
            p[i, j] = -5.0
"""
COPY = """
    for i in range(5):
        for j in range(7):
            p[i + 1, j + 1] = a[i, j]
"""
READ = """
    for i in range(5):
        for j in range(7):
            o[i, j] = -9.0
            for r in range(3):
                for s in range(3):
                    o[i, j] = max(o[i, j], p[i + r, j + s])
"""
HEAD = "def f(a: f64[5, 7], b: f64[5, 7], o: f64[5, 7], p: f64[7, 9], n: size):"


def of(*parts: str, head: str = HEAD, own: str = "p") -> Function:
    """The nest, with an array of its own in place of the parameter of that name."""
    fn = parse_nest(head + "".join(parts), "unpadded.py")
    (array,) = (each for each in fn.arrays if each.name == own)
    params = tuple(each for each in fn.params if each != own)
    arrays = tuple(each for each in fn.arrays if each is not array)
    return replace(fn, arrays=arrays, params=params, body=(Alloc(replace(array, space="private")), *fn.body))


def without_padded_copies(fn: Function) -> Function:
    return applied(fn, copies_to_leave_out(fn))


def without(fn: Function, size: int = 5) -> Function:
    """What the pass makes of it, however small it is, which computes the same bits."""
    with patch.object(unpadded, "_pays", return_value=True):
        done: Function = without_padded_copies(fn)
    verify(done, "source")
    nests.assert_same_outcome(fn, done, nests.arguments_for(fn, random.Random(3), size))
    return done


def test_windows_read_the_data():
    assert show(simplify(without(of(FILL, COPY, READ)))).partition("\n")[2] == """\
    for i in 0..5:
        for j in 0..7:
            o[i, j] = -9.0
            for r in 0..3:
                for s in 0..3:
                    o[i, j] = max(o[i, j], i + r >= 1 && i + r < 6 && j + s >= 1 && j + s < 8 ? a[i + r - 1, j + s - 1] : -5.0)"""  # noqa: E501


GUARDED = """
    for i in range(7):
        for j in range(9):
            p[i, j] = a[i - 1, j - 1] if 1 <= i < 6 and 1 <= j < 8 else -5.0
"""
SYMBOLIC = "def f(a: f64['n', 'n'], o: f64['n', 'n'], p: f64['n + 2', 'n + 2'], n: size):"
GONE = {
    "a copy with guards": (HEAD, GUARDED + READ),
    "sizes": (SYMBOLIC, FILL.replace("(7)", "(n + 2)").replace("9", "n + 2") + re.sub(r"\b[57]\b", "n", COPY + READ)),
    "other loops outside": (HEAD, FILL + COPY.replace("i in range(5)", "k in range(7)").replace("j in", "i in").replace(
        "range(7):\n            p", "range(5):\n            p").replace("j", "k") + READ),
    "turned data": (
        HEAD.replace("a: f64[5, 7]", "a: f64[7, 5]"),
        FILL + COPY.replace("a[i, j]", "a[j, i]") + READ,
    ),
    "beside one dimension": (
        HEAD.replace("p: f64[7, 9]", "p: f64[5, 9]"),
        FILL.replace("7", "5") + COPY.replace("i + 1", "i") + READ.replace("p[i + r", "p[i"),
    ),
    "a stencil": (HEAD, FILL + COPY + READ.partition("        o[")[0] + "        o[i, j] = p[i, j] + p[i + 2, j]\n"),
    "two readers": (HEAD, FILL + COPY + READ + READ.replace("o[", "b[")),
    "data in between": (HEAD, FILL + READ.replace("p[i + r, j + s]", "b[i, j]").replace("o[", "a[") + COPY + READ),
}


@pytest.mark.parametrize("name", GONE)
def test_copies_that_are_not_made(name):
    head, text = GONE[name]
    done = without(of(text, head=head))
    assert "p[" not in show(done) and not any(isinstance(stmt, Alloc) for stmt in done.body)


KEPT = {
    "data that changes": FILL + COPY + READ.replace("o[", "a["),
    "a copy that changes": FILL + COPY + READ + "    p[0, 0] = 1.0\n" + READ,
    "two boxes": FILL + COPY + COPY.replace("a[i, j]", "b[i, j]") + READ,
    "a read before the data": FILL + READ + COPY + READ,
    "a part of it": FILL.replace("9", "8") + COPY.replace("7", "6") + READ.replace("7", "6"),
    "steps": FILL + COPY.replace("range(5)", "range(2)").replace("p[i + 1", "p[2 * i + 1") + READ,
    "a diagonal": FILL + COPY.replace("j + 1", "i + 1") + READ,
    "no constant beside it": FILL.replace("-5.0", "b[0, 0]") + COPY + READ,
    "what is computed": FILL + COPY.replace("= a[i, j]", "= a[i, j] * 2") + READ,
    "itself": FILL + COPY.replace("a[i, j]", "p[i, j]") + READ,
    "a guard by data": GUARDED.replace("1 <= i < 6", "a[0, 0] > 0 and 1 <= i < 6") + READ,
}


@pytest.mark.parametrize("name", KEPT)
def test_other_arrays_stay(name):
    fn = of(KEPT[name])
    assert without(fn) is fn


WEIGHTS = READ.replace("max(o[i, j], p[i + r, j + s])", "o[i, j] + p[i + r, j + s] * b[r, s]")


def test_sums_that_are_not_written_out_read_a_copy_that_is_stored_at_once():
    done = without(of(FILL, COPY, WEIGHTS))
    assert show(simplify(done)).partition("\n")[2].startswith("""\
    alloc p: private f64[7, 9]
    for i in 0..7:
        for j in 0..9:
            p[i, j] = i >= 1 && i < 6 && j >= 1 && j < 8 ? a[i - 1, j - 1] : -5.0
    for i in 0..5:""")
    assert without(done) is done


def test_copies_of_whole_lines_are_stored_as_before():
    head, fill = HEAD.replace("p: f64[7, 9]", "p: f64[7, 7]"), FILL.replace("9", "7")
    fn = of(fill, COPY.replace("j + 1", "j"), WEIGHTS.replace("j + s", "j"), head=head)
    assert without(fn) is fn


def test_what_may_be_read_beside_the_copy_stays_an_error():
    """With a guard, nothing would tell that there is no such element."""
    fn = of(FILL, COPY, READ.replace("j + s]", "j + s + n]"))
    assert "p[i + r, j + s + n]" in show(without(fn, size=0))
    assert "p[i + r, j + s + 1]" in show(without_padded_copies(of(FILL, COPY, READ.replace("j + s]", "j + s + 1]"))))


@pytest.mark.parametrize("beside", ["j + s + n]", "j + s + 1]"])
def test_nor_is_it_guarded_by_hand(beside):
    with pytest.raises(InputError, match="'p' may be read beyond its ends"):
        unpad(of(FILL, COPY, READ.replace("j + s]", beside)), "p", "read in place")


def test_by_hand_a_copy_may_be_stored_once_and_then_not_again():
    fn = of(FILL, COPY, READ)
    once = unpad(fn, "p", "stored once")
    nests.assert_same_outcome(fn, once, nests.arguments_for(fn, random.Random(3), 5))
    with pytest.raises(InputError, match="'p' is stored once as it is"):
        unpad(once, "p", "stored once")


def window(size: int, taps: int) -> Function:
    """A maximum of so many rows and columns each, of as many elements."""
    padded = f"{size + taps - 1}"
    text = FILL.replace("7", padded).replace("9", padded)
    text += re.sub(r"\b[57]\b", str(size), COPY) + re.sub(r"\b[57]\b", str(size), READ).replace("(3)", f"({taps})")
    return of(text, head=HEAD.replace("5, 7", f"{size}, {size}").replace("7, 9", f"{padded}, {padded}"))


@pytest.mark.parametrize(("size", "taps", "is_copied"), [(20, 3, True), (40, 3, False), (40, 5, True), (200, 5, False)])
def test_small_data_in_large_windows_is_copied(size, taps, is_copied):
    """Where more is read at the borders, with guards, than there is to copy."""
    done = without_padded_copies(window(size, taps))
    assert ("p[" in show(done)) == is_copied


@ps.op
def pool(x: ps.f32["c", "h", "w + 1"]):
    c, h, w = x.shape
    p = np.full((c, h + 2, w + 2), -np.inf, np.float32)
    p[:, 1:-1, 1:-1] = x
    return np.nanmax(sliding_window_view(p, (3, 3), axis=(1, 2))[:, ::2, ::2], axis=(3, 4))


@pytest.mark.parametrize(("h", "w"), [(9, 20), (1, 1), (2, 3)])
def test_pooling_makes_no_copy(h, w):
    done = ps.optimize(pool)
    assert "malloc" not in done.source.text
    x = np.random.default_rng(5).standard_normal((3, h, w), np.float32)
    out = np.empty((3, -(-h // 2), -(-w // 2)), np.float32)
    done(x=x, out=out)
    np.testing.assert_array_equal(out, pool(x))


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.randoms(use_true_random=False))
def test_random_copies_keep_every_bit(rng):
    """Boxes anywhere in a copy, in any order, read by windows of any steps, some of which are sums with weights."""
    rows, columns = rng.randrange(1, 6), rng.randrange(1, 6)
    top, left, below, right = (rng.randrange(3) for _ in range(4))
    height, width = rows + top + below, columns + left + right
    r, s = rng.randrange(1, min(3, height) + 1), rng.randrange(1, min(3, width) + 1)
    down, across = rng.randrange(1, 3), rng.randrange(1, 3)
    high, wide = (height - r) // down + 1, (width - s) // across + 1
    head = f"def f(a: f64[{rows}, {columns}], w: f64[3, 3], o: f64[{high}, {wide}], p: f64[{height}, {width}]):"
    read = f"p[i * {down} + r, j * {across} + s]"
    value = rng.choice([f"max(o[i, j], {read})", f"o[i, j] + {read}", f"o[i, j] + {read} * w[r, s]"])
    text = FILL.replace("7", str(height)).replace("9", str(width))
    box = COPY.replace("5", str(rows)).replace("7", str(columns))
    text += box.replace("i + 1", f"i + {top}").replace("j + 1", f"j + {left}")
    sums = READ.replace("range(5)", f"range({high})").replace("range(7)", f"range({wide})")
    sums = sums.replace("r in range(3)", f"r in range({r})").replace("s in range(3)", f"s in range({s})")
    sums = sums.replace("max(o[i, j], p[i + r, j + s])", value)
    fn = of(text, sums, head=head)
    without(fn)
    done = ps.optimize(fn, options=ps.Options(contract_floats=False))
    arguments = nests.arguments_for(fn, rng, 0)
    expected = nests.outcome(fn, arguments)
    flat = nests.outcome(done.kernel, {name: array.ravel() for name, array in arguments.items()})
    np.testing.assert_array_equal(flat["o"].reshape(expected["o"].shape), expected["o"])
