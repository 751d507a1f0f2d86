"""polysched/codegen/gpu/copies.py: what a block of threads copies to shared memory, and which thread what."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from nests import loop, nest

from polysched.codegen.gpu.copies import Lanes, Staged, copied, element_of, fits_when
from polysched.codegen.gpu.footprint import Box
from polysched.ir.build import add, const, mul, var
from polysched.ir.dtypes import DType, f16, f32, f64
from polysched.ir.integers.linear import Linear, expression, forms
from polysched.ir.interp import interpret
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import Array, Expr, For, Function, Load, Select, Store, StoreLater, Var
from polysched.ir.text import show

b, m, n = var("b"), var("m"), var("n")
BLOCKS = {"b": loop("b", 0, n)}


def names() -> Iterator[str]:
    return (f"s{k}" for k in count())


def staged(array: Array, box: Box, order: Sequence[int] = (), value: Expr | None = None) -> Staged:
    load = Load(array.name, tuple(map(var, "xyz"[: len(array.shape)])), array.dtype)
    order = tuple(order or range(len(array.shape)))
    shape = [box.extents[k] for k in order if box.extents[k] > 1] or [1]
    value = load if value is None else value
    return Staged(Array("copy", value.dtype, tuple(map(const, shape)), "shared"), value, load, box, order)


def kernel(operand: Staged, array: Array, threads: int, facts: Sequence[Linear] = ()) -> Function:
    """The copy by a block `b` of these threads, with what is shared as an array of the function."""
    lets: list = []
    body = copied(operand, array.shape, Lanes(Var("t"), threads, names(), lets), BLOCKS, facts)
    block = loop("t", 0, threads, *lets, *body, kind="thread.x")
    return nest("copy", "n m b", [array, replace(operand.copy, space="global")], block)


def box(*sides: tuple[Expr | int, int]) -> Box:
    """Of origins and extents."""
    origins, extents = zip(*sides, strict=True)
    return Box(tuple(forms(const(o) if isinstance(o, int) else o, upper=True)[0] for o in origins), extents)


def text_of(operand: Staged, array: Array, threads: int, facts: Sequence[Linear] = ()) -> str:
    return show(kernel(operand, array, threads, facts)).split("(thread.x):\n")[1]


def test_rows_are_read_by_neighbouring_threads_and_zeros_are_what_lies_outside():
    A = Array("A", f64, (n, m))
    tile = box((mul(32, b), 32), (8, 16))
    assert text_of(staged(A, tile), A, 64) == (
        "        s0 = floormod(t, 16)\n"
        "        s1 = floordiv(t, 16)\n"
        "        for s2 in 0..8 (unrolled):\n"
        "            copy[s1 + s2 * 4, s0] = "
        "b * 32 + (s1 + s2 * 4) < n && 8 + s0 < m ? A[b * 32 + (s1 + s2 * 4), 8 + s0] : 0.0"
    )


def test_conditions_that_hold_anyway_are_not_tested():
    A = Array("A", f64, (n, m))
    tile = staged(A, box((mul(32, b), 32), (8, 16)))
    facts = list(fits_when(tile, A.shape, BLOCKS, []))
    assert [show(expression(fact)) for fact in facts] == ["n + b * -32 + -32", "m + -24"]
    assert not any(isinstance(node, Select) for node in walk(kernel(tile, A, 64, facts).body))


def test_an_origin_that_may_be_negative_is_tested():
    A = Array("A", f64, (n,))
    (select,) = (x for x in walk(kernel(staged(A, box((-1, 8))), A, 8).body) if isinstance(x, Select))
    assert show(select.cond) == "-1 + s0 >= 0 && -1 + s0 < n"


def test_what_is_computed_from_the_element_is_copied_so():
    A = Array("A", f32, (n,))
    load = Load("A", (var("x"),), f32)
    text = text_of(staged(A, box((0, 8)), value=mul(load, 2.0)), A, 8)
    assert "copy[s0] = s0 < n ? A[s0] * 2.0f32 : 0.0f32" in text


def test_one_element_is_copied_by_one_thread():
    A = Array("A", f64, (n,))
    text = text_of(staged(A, box((3, 1))), A, 32)
    assert "if s1 < 1:\n            copy[s0] = 3 + s0 < n ? A[3 + s0] : 0.0" in text  # one lane a row, and one row


def test_whole_rows_of_constant_length_are_one_row():
    """Nine elements of each of 64 filters, next to each other: by 576 threads in one step."""
    A = Array("A", f64, (const(64), const(3), const(3)))
    block = nest("f", "", [])
    whole = copied(staged(A, box((0, 64), (0, 3), (0, 3))), A.shape, Lanes(Var("t"), 512, names(), []), {}, [])
    assert block.body == () and sum(isinstance(node, For) for node in walk(whole)) == 1


def test_rows_of_the_same_width_share_their_lanes():
    lets: list = []
    lanes = Lanes(Var("t"), 64, names(), lets)
    assert lanes.across(16) == lanes.across(16) != lanes.across(32)
    assert len(lets) == 4


@pytest.mark.parametrize(("dtype", "lanes"), [(f64, 4), (f32, 8), (f16, 16)], ids=str)
def test_rows_that_become_columns_are_read_by_whole_sectors(dtype: DType, lanes: int):
    """As many lanes as 32 bytes have elements; the copy's columns are next to each other."""
    A = Array("A", dtype, (n, m))
    assert f"floormod(t, {lanes})" in text_of(staged(A, box((0, 32), (0, lanes)), order=(1, 0)), A, 128)


@pytest.mark.parametrize("seed", range(150))
def test_random_boxes_are_copied_whole_by_any_number_of_threads(seed):
    rng = random.Random(seed)
    rank = rng.choice((1, 2, 2, 3))
    A = Array(
        "A", rng.choice((f64, f32)), tuple(rng.choice((n, m, const(3), const(4), const(17))) for _ in range(rank))
    )
    sizes = {"n": rng.randint(1, 20), "m": rng.randint(1, 20), "b": rng.randint(0, 2)}
    shape = tuple(sizes[extent.name] if isinstance(extent, Var) else extent.value for extent in A.shape)
    sides = []
    for extent in A.shape:
        whole = isinstance(extent, Var) or rng.random() < 0.5
        start = rng.choice((0, 1, -2, mul(rng.randint(1, 4), b))) if whole else 0
        sides.append((start, rng.choice((1, 2, 5, 8, 16, 33)) if whole else extent.value))
    order = rng.sample(range(rank), rank)
    operand = staged(A, box(*sides), order)
    fn = kernel(operand, A, rng.choice((1, 8, 24, 32, 100, 128)))
    values = np.random.default_rng(seed).random(shape).astype(A.dtype.numpy)
    got = np.full([extent.value for extent in operand.copy.shape], np.nan, A.dtype.numpy)
    interpret(fn, {**sizes, "A": values, "copy": got})
    expected = np.zeros([extent for _, extent in sides], A.dtype.numpy)
    for place in np.ndindex(*expected.shape):
        at = tuple(_at(start, sizes["b"]) + k for (start, _), k in zip(sides, place, strict=True))
        if all(0 <= x < extent for x, extent in zip(at, shape, strict=True)):
            expected[place] = values[at]
    np.testing.assert_array_equal(got, expected.transpose(order).reshape(got.shape))


def _at(start: Expr | int, block: int) -> int:
    return start if isinstance(start, int) else start.left.value * block


@pytest.mark.parametrize("threads", [1, 24, 32, 100, 256])
@pytest.mark.parametrize("sides", [(10, 16), (3, 5), (1, 40), (64, 1), (7, 33)])
def test_no_element_is_copied_twice(threads, sides):
    """Also with threads left over beside whole rows: 24 threads are a row of 16 lanes and 8 without work."""
    A = Array("A", f64, (n, m))
    fn = kernel(staged(A, box(*((0, extent) for extent in sides))), A, threads)
    (store,) = (node for node in walk(fn.body) if isinstance(node, Store))
    counting = rewrite(
        fn, lambda node: replace(node, value=add(Load("copy", store.index, f64), 1.0)) if node == store else None
    )
    got = np.zeros([extent.value for extent in fn.arrays[1].shape])
    interpret(counting, {"n": 99, "m": 99, "b": 0, "A": np.zeros((99, 99)), "copy": got})
    assert (got == 1).all()


@pytest.mark.parametrize(("dtype", "lanes"), [(f64, 16), (f32, 32), (f16, 64)], ids=str)
def test_rows_are_stored_by_as_many_lanes_as_shared_memory_has_banks_for(dtype: DType, lanes: int):
    A = Array("A", dtype, (n, m))
    assert f"floormod(t, {lanes})" in text_of(staged(A, box((0, 32), (0, lanes))), A, 128)


def test_what_arrives_later_is_stored_to_its_buffer():
    """For double buffering: `slot` says which half of the copy the next chunk has."""
    A = Array("A", f64, (n,))
    load = Load("A", (var("x"),), f64)
    operand = Staged(Array("copy", f64, (const(2), const(8)), "shared"), load, load, box((0, 8)), (0,), buffers=2)
    lanes = Lanes(Var("t"), 8, names(), [])
    (stmt,) = copied(operand, A.shape, lanes, BLOCKS, [], slot=var("half"))
    assert isinstance(stmt, StoreLater) and stmt.index == (var("half"), Var("s0"))
    assert show(element_of(operand, (), {}, var("half"))).startswith("copy[half, ")
