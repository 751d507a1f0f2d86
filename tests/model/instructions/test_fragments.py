"""polysched/model/instructions: which lane holds what, against the PTX ISA, and against what `ldmatrix` gives.

    lane 5, element 3 of the left factor         row 5 // 4 + 8, term 5 % 4 * 2 + 1
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import product

import pytest

from polysched.ir.build import var
from polysched.ir.interp import evaluate
from polysched.ir.text import show
from polysched.model.instructions.bits import Bits
from polysched.model.instructions.instruction import LANES, LINE, Subscripts
from polysched.model.instructions.mma import INSTRUCTIONS, M8N8K4_F64, M16N8K8_F64, M16N8K8_TF32, M16N8K16, M16N8K32_S8

ROW = 8  # elements of f16 that `ldmatrix` reads of a row, and rows of a tile
EVERY = list(INSTRUCTIONS.values())
Place = tuple[int, int]


def number(bits: Bits, values: Mapping[str, int]) -> int:
    return sum((values[bit[0]] >> bit[1] & 1) << place for place, bit in enumerate(bits.bits) if bit)


def place(subscripts: Subscripts, **values: int) -> Place:
    first, second = (number(bits, values) for bits in subscripts)
    return first, second


def fragment(subscripts: Subscripts, count: int) -> list[list[Place]]:
    """What each lane holds, element by element."""
    return [[place(subscripts, lane=lane, r=r) for r in range(count)] for lane in range(LANES)]


def test_the_elements_of_a_lane():
    assert fragment(M16N8K16.left.elements, 8)[5] == [
        (1, 2), (1, 3), (9, 2), (9, 3), (1, 10), (1, 11), (9, 10), (9, 11),
    ]  # fmt: skip
    assert fragment(M16N8K16.right.elements, 4)[5] == [(2, 1), (3, 1), (10, 1), (11, 1)]
    assert fragment(M16N8K16.sums, 4)[5] == [(1, 2), (1, 3), (9, 2), (9, 3)]
    assert M16N8K16.registers == (4, 2, 4)
    assert M16N8K8_F64.registers == (4, 2, 4)
    assert M8N8K4_F64.registers == (1, 1, 2)


# --- PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type", then those with .f64: groupID,
# threadID_in_group, and number i of a0 .. a7, b0 .. b3 and c0 .. c3


def test_the_left_factor_is_as_in_the_ptx_isa():
    for lane, i in product(range(32), range(8)):
        group, thread = lane >> 2, lane % 4
        row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
        column = thread * 2 + (i & 1) if i < 4 else thread * 2 + (i & 1) + 8
        assert place(M16N8K16.left.elements, lane=lane, r=i) == (row, column)


def test_the_right_factor_is_as_in_the_ptx_isa():
    for lane, i in product(range(32), range(4)):
        group, thread = lane >> 2, lane % 4
        row = thread * 2 + (i & 1) if i < 2 else thread * 2 + (i & 1) + 8
        assert place(M16N8K16.right.elements, lane=lane, r=i) == (row, group)
        assert place(M16N8K16.right.elements, lane=lane, r=i + 4) == (row, group + 8), "the fragment next to it"


def test_the_sums_are_as_in_the_ptx_isa():
    for lane, i in product(range(32), range(4)):
        group, thread = lane >> 2, lane % 4
        row = group if i < 2 else group + 8
        assert place(M16N8K16.sums, lane=lane, r=i) == (row, thread * 2 + (i & 1))


def test_doubles_are_as_in_the_ptx_isa():
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        for i in range(4):
            row, column = group if i in (0, 2) else group + 8, thread if i < 2 else thread + 4
            assert place(M16N8K8_F64.left.elements, lane=lane, r=i) == (row, column)
            row = group if i < 2 else group + 8
            assert place(M16N8K8_F64.sums, lane=lane, r=i) == (row, thread * 2 + (i & 1))
        for i in range(2):
            assert place(M16N8K8_F64.right.elements, lane=lane, r=i) == (thread + 4 * i, group)
            assert place(M8N8K4_F64.sums, lane=lane, r=i) == (group, thread * 2 + i)
        assert place(M8N8K4_F64.left.elements, lane=lane, r=0) == (group, thread)
        assert place(M8N8K4_F64.right.elements, lane=lane, r=0) == (thread, group)


def test_floats_and_bytes_are_as_in_the_ptx_isa():
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        for i in range(4):
            at = group if i in (0, 2) else group + 8, thread if i < 2 else thread + 4
            assert place(M16N8K8_TF32.left.elements, lane=lane, r=i) == at
        for i in range(2):
            assert place(M16N8K8_TF32.right.elements, lane=lane, r=i) == (thread + 4 * i, group)
        for i in range(16):
            row = group if i < 4 or 8 <= i < 12 else group + 8
            at = row, thread * 4 + (i & 3) if i < 8 else thread * 4 + (i & 3) + 16
            assert place(M16N8K32_S8.left.elements, lane=lane, r=i) == at
        for i in range(8):
            row = thread * 4 + (i & 3) if i < 4 else thread * 4 + (i & 3) + 16
            assert place(M16N8K32_S8.right.elements, lane=lane, r=i) == (row, group)
    assert M16N8K8_TF32.sums == M16N8K32_S8.sums == M16N8K16.sums


# --- every instruction


@pytest.mark.parametrize("of", EVERY, ids=lambda of: of.name)
def test_a_fragment_has_each_element_of_its_tile_once(of):
    left, right, sums = of.registers
    packed = of.word.bits // of.factor.bits
    for subscripts, count, shape in (
        (of.left.elements, left * packed * of.left.together, (of.rows * of.left.together, of.terms)),
        (of.right.elements, right * packed * of.right.together, (of.terms, of.columns * of.right.together)),
        (of.sums, sums, (of.rows, of.columns)),
    ):
        held = [element for lane in fragment(subscripts, count) for element in lane]
        assert sorted(held) == list(product(*map(range, shape)))


@pytest.mark.parametrize("of", EVERY, ids=lambda of: of.name)
def test_what_an_instruction_is_called(of):
    """Its name and its opcode tell the same shape and types."""
    shape = f"m{of.rows}n{of.columns}k{of.terms}"
    factor, added = "tf32" if of.digits else str(of.factor).replace("i", "s"), str(of.sum).replace("i", "s")
    assert of.name == f"mma.{shape}.{factor}" and INSTRUCTIONS[of.name] is of
    assert of.opcode == f"mma.sync.aligned.{shape}.row.col.{added}.{factor}.{factor}.{added}"


def loaded(told: Subscripts, many: int, *, steps: Place, is_turned: bool) -> list[list[Place]]:
    """The elements in each lane's registers after `ldmatrix.x4`, each lane saying where a row begins.

    Lane l gets of tile q, whose rows lanes 8 q to 8 q + 7 tell, as `many` neighbours of row l / 4 as have 4 bytes, or
    two of column l / 4 if it is turned; neighbours in a row are `steps` apart.
    """
    rows = [place(told, lane=lane) for lane in range(LANES)]

    def element(tile: int, row: int, column: int) -> Place:
        x, y = rows[ROW * tile + row]
        return x + column * steps[0], y + column * steps[1]

    found = []
    for lane in range(LANES):
        one, neighbours = lane // 4, [lane % 4 * many + k for k in range(many)]
        at = [(k, one) if is_turned else (one, k) for k in neighbours]
        found.append([element(tile, *each) for tile in range(4) for each in at])
    return found


LOADED = [
    (of, side, way)
    for of in EVERY
    for side in ("left", "right")
    for way in ("along", "across")
    if getattr(getattr(of, side).rows, way, None)
]


def named(each: object) -> str:
    return each if isinstance(each, str) else each.name


@pytest.mark.parametrize(("of", "side", "way"), LOADED, ids=named)
def test_rows_give_the_fragment(of, side, way):
    """Terms in a row are neighbours in a lane's register as they are, and those in different rows when it is turned."""
    factor = getattr(of, side)
    has_terms_in_rows, terms = way == "along", ["right", "left"].index(side)  # which subscript counts terms
    steps = (0, 1) if has_terms_in_rows == (terms == 1) else (1, 0)
    told = getattr(factor.rows, way)
    many = 32 // of.factor.bits
    assert loaded(told, many, steps=steps, is_turned=not has_terms_in_rows) == fragment(factor.elements, 4 * many)
    assert many == 2 or has_terms_in_rows
    rows = {place(told, lane=lane) for lane in range(LANES)}
    assert len(rows) == LANES, "each row of the four tiles is told once"
    assert all(row[steps.index(1)] % (LINE * 8 // of.factor.bits) == 0 for row in rows), "rows begin lines"
    assert {name for bits in told for name in bits.names} == {"lane"}


# --- numbers by their bits


def test_bits():
    bits = Bits.of("lane", 2, 5) + Bits.of("r", 1)
    assert show(bits.expression({"lane": var("lane"), "r": var("r")})) == "(lane >> 2 & 7) + (r >> 1 & 1) * 8"
    assert bits.names == {"lane", "r"}
    assert bits[1:] == Bits.of("lane", 3, 5) + Bits.of("r", 1)


def test_no_bits_are_zero():
    for bits in (Bits.zeros(3), Bits.zeros(0), Bits.of("r", 1)[:0]):
        assert show(bits.expression({})) == "0"
        assert bits.names == frozenset()


def random_bits(rng: random.Random) -> Bits:
    bits = Bits.zeros(0)
    for _ in range(rng.randint(0, 4)):
        first = rng.randint(0, 4)
        part = Bits.of(rng.choice(("lane", "r")), first, first + rng.randint(1, 3))
        bits += part if rng.random() < 0.8 else Bits.zeros(rng.randint(1, 2))
    return bits


@pytest.mark.parametrize("seed", range(100))
def test_a_number_is_the_same_as_bits_and_as_an_expression(seed):
    rng = random.Random(seed)
    bits = random_bits(rng)
    for part in (bits, bits[rng.randint(0, 3) :], bits[rng.randint(0, 2) : rng.randint(1, 5)]):
        for values in ({"lane": rng.randrange(64), "r": rng.randrange(64)} for _ in range(4)):
            assert evaluate(part.expression({name: var(name) for name in values}), values) == number(part, values)
            whole = number(bits, values)
            assert number(bits[2:5], values) == whole >> 2 & 7
