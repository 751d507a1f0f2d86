"""polysched/codegen/memory/register_tiles.py: full tiles apart from partial ones, with registers for their elements."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial, reduce
from types import MappingProxyType

import nests
import pytest
from nests import add, binary, loop, mul, n, nest, sub, var

from polysched.codegen.memory.register_tiles import register_tiles
from polysched.config.heuristics.code import TILE_LOOP
from polysched.ir.build import const, floordiv, floormod, load
from polysched.ir.dtypes import i64
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, Expr, For, Function, If, Let, Load, Stmt, Store
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.ir.verify import verify

ROWS, COLUMNS = 2, 3
i, j, k, r, s, i0, j0 = (var(name) for name in ("i", "j", "k", "r", "s", "i0", "j0"))
FAR = add(mul(3, n), 9)  # an extent that no subscript below reaches
A, B, C = (Array(name, i64, (FAR, FAR)) for name in "ABC")
S = Array("S", i64, ())
SIZES = (0, 1, ROWS, COLUMNS, COLUMNS + 1, 7)  # none, partial tiles, full ones, and both


def tiled(
    *body: Stmt, lo=0, hi=n, step=1, lows=MappingProxyType({}), highs=MappingProxyType({}), window=()
) -> Function:
    """Tiles of 2 by 3 over i and j, around a loop k from lo to hi; `lows` and `highs` bound i and j besides; `window`
    puts loops around k, outer ones first."""

    def bounds(name: str, size: int, tile: Expr) -> tuple[Expr, Expr]:
        first, end = mul(size, tile), binary("min", n, add(mul(size, tile), size))
        first = binary("max", first, 0, lows[name]) if name in lows else first
        return first, binary("min", end, highs[name]) if name in highs else end

    inner = loop("j", *bounds("j", COLUMNS, j0), *body, kind="vector")
    outer = loop("i", *bounds("i", ROWS, i0), inner, kind="unrolled")
    loops = reduce(lambda inside, around: around(inside), reversed(window), loop("k", lo, hi, outer, step=step))
    return nest("tiled", "n", (A, B, C, S), _tiles("i0", ROWS, _tiles("j0", COLUMNS, loops)))


def _tiles(name: str, size: int, body: Stmt) -> For:
    return loop(name, 0, floordiv(add(n, size - 1), size), body)


def update(target, *factors, op="+") -> Store:
    return Store(target.array, target.index, binary(op, target, mul(*factors)))


def result(fn: Function) -> Function:
    """What the pass makes of `fn`: verified, and with the same outcome at sizes around that of a tile."""
    done = register_tiles(fn)
    verify(done, "lowered")
    for size in SIZES:
        nests.assert_same_outcome(fn, done, nests.arguments_for(fn, random.Random(size), size))
    return done


def registers(fn: Function) -> list[str]:
    """The arrays that have elements in registers somewhere."""
    return [node.array.name.rpartition("_")[0] for node in walk(fn.body) if isinstance(node, Alloc)]


def unrolled(fn: Function) -> list[For]:
    return [node for node in walk(fn.body) if isinstance(node, For) and node.kind == "unrolled"]


PRODUCT = update(load(C, i, j), load(A, i, k), load(B, k, j))
UPDATE_OF_LU = update(load(C, i, j), load(C, i, k), load(C, k, j), op="-")


def test_a_matrix_product_keeps_a_block_in_registers():
    fn = tiled(PRODUCT)
    assert show(fn.body[0].body[0].body) == """\
for k in 0..n:
    for i in 2 * i0..min(n, 2 * i0 + 2) (unrolled):
        for j in 3 * j0..min(n, 3 * j0 + 3) (vector):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]"""
    assert show(simplify(result(fn).body[0].body[0].body)) == """\
if n >= i0 * 2 + 2 && n >= j0 * 3 + 3 && 0 < n:
    alloc C_0: private i64[2, 3]
    for r0 in 0..2 (unrolled):
        for r1 in 0..3 (vector):
            C_0[r0, r1] = C[i0 * 2 + r0, j0 * 3 + r1]
    for k in 0..n:
        for r4 in 0..2 (unrolled):
            for r5 in 0..3 (vector):
                C_0[r4, r5] = C_0[r4, r5] + A[i0 * 2 + r4, k] * B[k, j0 * 3 + r5]
    for r2 in 0..2 (unrolled):
        for r3 in 0..3 (vector):
            C[i0 * 2 + r2, j0 * 3 + r3] = C_0[r2, r3]
else:
    r9 = min(n - 2, i0 * 2)
    r10 = min(n - 3, j0 * 3)
    if r9 >= 0 && r10 >= 0 && i0 * 2 < min(n, i0 * 2 + 2) && j0 * 3 < min(n, j0 * 3 + 3):
        alloc C_1: private i64[2, 3]
        for r11 in 0..2 (unrolled):
            for r12 in 0..3 (vector):
                C_1[r11, r12] = 0
        for r13 in i0 * 2..min(n, i0 * 2 + 2):
            for r14 in j0 * 3..min(n, j0 * 3 + 3):
                C_1[r13 - r9, r14 - r10] = C[r13, r14]
        alloc C_1_0: private i64[2, 3]
        for r18 in 0..2 (unrolled):
            for r19 in 0..3 (vector):
                C_1_0[r18, r19] = C_1[r18, r19]
        for r17 in 0..n:
            for r22 in 0..2 (unrolled):
                for r23 in 0..3 (vector):
                    C_1_0[r22, r23] = C_1_0[r22, r23] + A[r9 + r22, r17] * B[r17, r10 + r23]
        for r20 in 0..2 (unrolled):
            for r21 in 0..3 (vector):
                C_1[r20, r21] = C_1_0[r20, r21]
        for r15 in i0 * 2..min(n, i0 * 2 + 2):
            for r16 in j0 * 3..min(n, j0 * 3 + 3):
                C[r15, r16] = C_1[r15 - r9, r16 - r10]
    else:
        for r6 in 0..n:
            for r7 in i0 * 2..min(n, i0 * 2 + 2):
                for r8 in j0 * 3..min(n, j0 * 3 + 3) (vector):
                    C[r7, r8] = C[r7, r8] + A[r7, r6] * B[r6, r8]"""


@pytest.mark.parametrize(
    ("body", "bounds", "expected"),
    [
        (PRODUCT, {}, 1),
        (PRODUCT, {"lows": {"i": 1}}, 1),  # not in the first tile, which would begin before the loop
        (update(load(C, i, j), load(A, add(i, 1), k), load(B, k, add(j, 2))), {}, 1),
        (update(load(C, i, j), load(A, i, k), load(B, add(k, j), k)), {}, 0),  # not in bounds by i and j alone
        (update(load(C, i, j), load(A, load(B, i, k), k)), {}, 0),
        (update(load(C, i, j), load(A, sub(n, i), k)), {}, 0),
        (update(load(C, i, j), floordiv(load(A, i, k), load(B, k, j))), {}, 0),  # by what may be zero
        (update(load(C, i, 0), load(A, i, k), load(B, k, j)), {}, 0),  # several iterations add to one element
        (update(load(C, i, j), load(C, add(i, FAR), k), load(B, k, j)), {}, 0),  # read while others store to C
        (PRODUCT, {"highs": {"j": add(i, 5)}}, 0),  # where a row ends, another tells
    ],
)
def test_a_partial_tile_is_a_whole_one_at_the_end_of_its_loops(body, bounds, expected):
    fn = tiled(body, **bounds)
    done = result(fn) if expected else register_tiles(fn)
    assert registers(done).count("C_1") == expected


def test_where_fullness_depends_on_the_loop_it_is_cut_in_three():
    """trmm: rows above k alone, so a tile is full from where k has left it."""
    done = result(tiled(update(load(C, i, j), load(A, k, i), load(B, k, j)), highs={"i": k}))
    stmts = simplify(done.body[0].body[0].body)
    assert show(stmts[:2]) == """\
r0 = n >= i0 * 2 + 2 && n >= j0 * 3 + 3 ? min(max(i0 * 2 + 2, 0), n) : n
r1 = max(n, r0)"""
    assert [type(stmt) for stmt in stmts[2:]] == [For, If]
    assert registers(done) == ["C"]


def test_a_full_part_may_come_first():
    """lu: rows below k alone, so a tile is full until k comes to it, and its own row and column are read apart."""
    stmts = simplify(result(tiled(UPDATE_OF_LU, lows={"i": add(k, 1), "j": add(k, 1)})).body[0].body[0].body)
    assert show(stmts[:2]) == """\
r0 = i0 >= 0 && n >= i0 * 2 + 2 && j0 >= 0 && n >= j0 * 3 + 3 ? min(n, 0) : n
r1 = max(min(min(n, i0 * 2), j0 * 3), r0)"""
    assert [type(stmt) for stmt in stmts[2:]] == [For, If, For]


TRIANGLES = {
    "k < i": {"lo": 0, "hi": n, "lows": {"i": add(k, 1)}},
    "k <= i": {"lows": {"i": k}},
    "k > i": {"highs": {"i": k}},
    "k < i, k < j": {"lows": {"i": add(k, 1), "j": add(k, 1)}},
    "k < i, j <= i": {"lows": {"i": add(k, 1)}, "highs": {"j": add(i, 1)}},
    "j < k < i": {"lows": {"i": add(k, 1)}, "highs": {"j": k}},
    "i < k, k < j": {"lows": {"j": add(k, 1)}, "highs": {"i": k}},
    "i + k < n": {"highs": {"i": sub(n, k)}},
    "i + k > 4, j >= i": {"lows": {"i": sub(4, k), "j": i}},
    "i + j + k < n": {"highs": {"j": sub(sub(n, k), i)}},
    "2 k < i": {"lows": {"i": mul(2, k)}},
    "k in the tile": {"lo": mul(2, i0), "hi": binary("min", n, add(mul(2, i0), 2))},
    "k after the tile": {"lo": add(mul(2, i0), 2), "hi": n},
    "k before the tile": {"lo": 0, "hi": mul(2, i0)},
    "k from min, max of several": {
        "lo": binary("max", 0, sub(mul(2, i0), 3), sub(j0, 1)),
        "hi": binary("min", n, add(i0, j0), add(mul(3, j0), 2)),
    },
    "never": {"lo": n, "hi": 0},
    "step 2": {"step": 2},
    "nothing is linear": {"highs": {"i": floordiv(k, 2), "j": floordiv(i, 2)}},
}
BODIES = {
    "product": [PRODUCT],
    "own row and column": [UPDATE_OF_LU],
    "own row": [update(load(C, i, j), load(C, i, k), load(A, k, j), op="-")],
    "own column, one further": [update(load(C, i, j), load(C, add(k, 1), j))],
    "own transpose": [update(load(C, i, j), load(C, j, i))],
    "its neighbour": [update(load(C, i, j), load(C, i, add(j, 1)))],
    "the element before k": [update(load(C, i, j), load(C, add(sub(n, k), 1), j))],
    "elements that another array tells": [update(load(C, i, j), load(C, floormod(load(A, i, k), FAR), j))],
    "elements at k and what another array tells": [
        update(load(C, i, j), load(C, add(k, floormod(load(A, i, j), 2)), j))
    ],
    "elements that a let tells": [
        Let("t", floormod(load(A, i, k), 2)),
        update(load(C, i, j), load(C, add(k, var("t")), j)),
    ],
    "a scalar": [update(load(S), load(A, i, k), load(B, k, j))],
    "one element": [update(load(C, 1, add(i0, 2)), load(A, i, k), load(B, k, j))],
    "one element of each row": [update(load(C, i, 1), load(A, j, k))],
    "one element of each k": [update(load(C, k, 2), load(A, i, j))],
    "one element of each k, and another": [update(load(C, k, 2), load(C, k, i))],
    "a diagonal": [update(load(C, i, i), load(A, j, k))],
    "elements met again": [update(load(C, add(i, j), 0), load(A, i, k))],
    "every other": [update(load(C, mul(2, i), j), load(A, i, k))],
    "reversed": [update(load(C, sub(n, i), j), load(A, i, k), load(B, k, j))],
    "reversed, others above": [update(load(C, sub(n, i), j), load(C, k, j))],
    "moving with k": [update(load(C, add(i, k), j), load(A, i, k))],
    "a copy": [Store("C", (i, j), load(A, i, k))],
    "two arrays": [PRODUCT, update(load(A, i, j), load(B, k, i))],
    "one array twice": [PRODUCT, update(load(C, i, j), load(B, k, i), op="-")],
    "one array at two places": [PRODUCT, update(load(C, j, i), load(B, k, i), op="-")],
    "one array at two places, one not read": [PRODUCT, Store("C", (j, i), load(B, k, i))],
    "arrays that use each other": [update(load(C, i, j), load(A, i, j)), update(load(A, i, j), load(C, i, k))],
    "lets": [Let("t", mul(load(A, i, k), load(C, i, j))), Store("C", (i, j), add(var("t"), 1))],
    "a subscript of itself": [update(load(C, i, j), load(A, floormod(load(C, i, j), FAR), k))],
}


@pytest.mark.parametrize("bounds", TRIANGLES)
@pytest.mark.parametrize("body", BODIES)
def test_every_body_in_every_shape_computes_the_same(bounds, body):
    result(tiled(*BODIES[body], **TRIANGLES[bounds]))


@pytest.mark.parametrize(
    ("bounds", "body", "expected"),
    [
        ({}, "product", ["C", "C", "C_1"]),
        ({}, "a scalar", []),  # the C compiler's
        ({}, "one element", ["C"]),
        ({}, "one element of each row", ["C"]),
        ({}, "one element of each k", ["C"]),
        ({}, "one element of each k, and another", []),
        ({}, "a diagonal", []),
        ({}, "elements met again", []),
        ({}, "every other", ["C", "C", "C_1"]),
        ({}, "reversed", ["C", "C", "C_1"]),
        ({}, "moving with k", []),
        ({}, "own transpose", []),
        ({}, "its neighbour", []),
        ({}, "own row", ["C"]),
        ({}, "elements that another array tells", []),
        ({}, "elements at k and what another array tells", []),
        ({}, "elements that a let tells", []),
        ({}, "two arrays", ["C", "A"]),
        ({}, "one array twice", ["C", "C", "C_1"]),
        ({}, "one array at two places", []),
        ({}, "one array at two places, one not read", []),
        ({}, "arrays that use each other", ["C", "A"]),
        ({}, "lets", ["C"]),
    ],
)
def test_what_stays_in_registers(bounds, body, expected):
    done = result(tiled(*BODIES[body], **bounds))
    assert registers(done) == expected
    assert unrolled(done) != []


def test_elements_further_apart_than_one_have_registers_too():
    """As those of a thread whose columns are 16 apart; but not one of two rows."""
    far = load(C, i, add(mul(2, j), 1))
    assert registers(result(tiled(update(far, load(A, i, k), load(B, k, j))))) == ["C", "C", "C_1"]
    again = load(C, floordiv(i, 2), j)
    assert "C" not in registers(result(tiled(update(again, load(A, i, k), load(B, k, j)))))


def test_tiles_of_fewer_iterations_than_one_and_of_very_many_are_not_unrolled():
    for trips in (0, TILE_LOOP + 1):
        rows = loop("i", i0, add(i0, trips), Store("C", (i, k), load(A, i, k)), kind="unrolled")
        arrays = [Array(name, i64, (add(n, TILE_LOOP + 9), add(n, 9))) for name in "AC"]
        done = register_tiles(nest("f", "n", arrays, loop("i0", 0, n, loop("k", 0, n, rows))))
        assert unrolled(done) == []


def test_a_loop_that_cannot_be_a_side_of_a_tile_is_not_unrolled():
    """It goes in steps."""
    rows = loop("i", 0, binary("min", 4, n), Store("C", (i, k), load(A, i, k)), step=2, kind="unrolled")
    done = result(nest("f", "n", (A, C), loop("k", 0, n, rows)))
    assert unrolled(done) == []


def test_blocks_of_the_loop_itself_are_unrolled_where_they_are_full():
    """The sum stays in a register all the time."""
    sum_up = update(load(C, 0, 0), load(A, 0, i))
    block = loop("i", mul(4, k), binary("min", add(mul(4, k), 4), n), sum_up, kind="unrolled")
    done = result(nest("f", "n", (A, C), loop("k", 0, floordiv(add(n, 3), 4), block)))
    assert (len(unrolled(done)), registers(done)) == (1, ["C"])


def test_a_tile_that_moves_with_the_loop_has_no_registers():
    """Its elements change from one iteration to the next, though no subscript names k."""
    rows = loop("i", k, binary("min", add(k, 2), n), update(load(C, i, 0), load(A, k, i)), kind="unrolled")
    assert registers(result(nest("f", "n", (A, C), loop("k", 0, n, rows)))) == []


def test_loops_with_constant_bounds_stay_unrolled():
    fn = nest("f", "n", (A, C), loop("i", 0, 3, update(load(C, i, 0), load(A, 0, i)), kind="unrolled"))
    assert register_tiles(fn) == fn


def test_bounds_that_the_loop_may_change_are_read_as_often_as_before():
    end = floormod(load(C, 0, 0), 4)
    rows = loop("i", 0, binary("min", 2, add(end, 1)), update(load(C, i, 0), load(A, k, i)), kind="unrolled")
    assert unrolled(result(nest("f", "n", (A, C), loop("k", 0, n, rows)))) == []
    rows = loop("i", 0, binary("min", 2, add(k, 1)), update(load(C, i, 0), load(A, k, i)), kind="unrolled")
    result(nest("f", "n", (A, C), loop("k", 0, end, rows)))


def test_loops_that_reduce_an_array_by_its_name_keep_it():
    columns = replace(loop("j", 0, 3, update(load(S), load(A, i, j)), kind="vector"), reduces=("S",))
    rows = loop("i", mul(2, k), binary("min", n, add(mul(2, k), 2)), columns, kind="unrolled")
    done = result(nest("f", "n", (A, S), loop("k", 0, floordiv(add(n, 1), 2), rows)))
    assert [node.reduces for node in walk(done.body) if isinstance(node, For)] == [(), (), ("S",)]


def test_guards_inside_a_tile_leave_it_as_it_was():
    fn = tiled(If(binary("<", k, i), (PRODUCT,)))
    done = result(fn)
    assert unrolled(done) == [] and registers(done) == []


def test_names_that_are_taken_are_not_given_again():
    taken = (Array("C_0", i64, (FAR, FAR)), Array("r0", i64, (n,)))
    fn = tiled(update(load(C, i, j), load(taken[0], k, j)))
    result(replace(fn, arrays=(*fn.arrays, *taken), params=()))


@pytest.mark.parametrize("seed", range(120))
def test_random_tiles_compute_the_same(seed):
    result(random_tiles(random.Random(seed)))


def test_random_tiles_have_full_tiles_and_registers():
    done = [register_tiles(random_tiles(random.Random(seed))) for seed in range(120)]
    assert sum(bool(registers(fn)) for fn in done) > 30
    assert sum(bool(unrolled(fn)) for fn in done) > 60


def random_tiles(rng: random.Random) -> Function:
    """Updates in tiles of any shape, of what may be read elsewhere."""
    affines = (i, j, k, i, j, k, add(i, 1), add(k, 1), add(j, 2), add(i, k), sub(n, i), sub(n, k), const(1))

    def affine() -> Expr:
        return rng.choice(affines)

    def bound(names: str) -> dict[str, Expr]:
        outer = [k, add(k, 1), sub(n, k), const(2), mul(2, k), floordiv(k, 2)]
        return {name: rng.choice([*outer, *([i] if name == "j" else [])]) for name in names if rng.random() < 0.3}

    def operand() -> Expr:
        return Load(rng.choice("ABCC"), (affine(), affine()), i64)

    def statement() -> Stmt:
        index = rng.choice(((i, j), (i, j), (i, j), (j, i), (i, const(0)), (affine(), affine())))
        operands = [operand() for _ in range(rng.choice((1, 2)))]
        return update(Load(rng.choice("CCCA"), index, i64), *operands, op=rng.choice("+-"))

    ends = (const(0), n, mul(2, i0), add(mul(2, i0), 2), mul(3, j0), add(mul(3, j0), 1))
    shape = {
        "lo": binary("max", 0, *rng.sample(ends, rng.choice((0, 1, 2)))),
        "hi": binary("min", n, *rng.sample(ends, rng.choice((0, 0, 1, 2)))),
        "step": rng.choice((1, 1, 1, 1, 1, 2)),
    }
    body = [statement() for _ in range(rng.choice((1, 1, 2)))]
    return tiled(*body, lows=bound("ij"), highs=bound("ij"), **shape)


def test_a_temporary_of_the_function_is_like_any_array_but_what_a_loop_declares_is_in_registers_already():
    fn = tiled(PRODUCT)
    temporary = replace(C, space="private")
    others = tuple(array for array in fn.arrays if array is not C)
    outside = replace(fn, arrays=others, params=(), body=(Alloc(temporary), *fn.body))
    assert "C" in registers(register_tiles(outside))
    (tiles,) = fn.body
    inside = replace(outside, body=(replace(tiles, body=(Alloc(temporary), *tiles.body)),))
    assert len(registers(register_tiles(inside))) == 1


def held_over(fn: Function) -> list[int]:
    """Over how many loops registers last, wherever there are some."""
    bodies = (node.then if isinstance(node, If) else node.body for node in walk(fn.body) if isinstance(node, If | For))
    places = [body for body in bodies if any(isinstance(stmt, Alloc) for stmt in body)]
    kinds = [[node.kind for node in walk(place) if isinstance(node, For)] for place in places]
    return [sum(kind in ("serial", "parallel") for kind in each) for each in kinds]


TERM = Store("C", (i, j), sub(mul(load(A, add(i, r), k), load(B, k, add(j, r))), load(C, i, j)))  # in order
FAR_TERM = update(load(C, add(i, FAR), j), load(A, i, k))
ONE_TO_THREE = add(floormod(load(C, 0, 0), 3), 1)
THREE, TWO = partial(loop, "r", 0, 3), partial(loop, "s", 0, 2)
WINDOWS = {
    "two loops": ([THREE, TWO], {}, TERM, [3]),
    "from 2 on": ([partial(loop, "r", 2, 5)], {}, TERM, [2]),
    "n times": ([partial(loop, "r", 0, n)], {"lo": 1, "hi": 4}, TERM, [2]),
    "never: nothing is loaded": ([partial(loop, "r", 3, 1)], {}, FAR_TERM, [2]),
    "s < r": ([THREE, partial(loop, "s", 0, r)], {}, TERM, [2]),
    "k <= r": ([THREE], {"hi": add(r, 1)}, TERM, [1, 5]),
    "j < r + 3": ([THREE, TWO], {"highs": {"j": add(r, 3)}}, TERM, [2]),
    "k <= i": ([THREE], {"lows": {"i": k}}, TERM, [1]),
    "an element of each r": ([THREE], {}, update(load(C, i, r), load(A, j, k)), [1]),
    "read at k + r": ([THREE], {}, update(load(C, i, j), load(C, add(k, r), j)), [1]),
    "step 2": ([partial(loop, "r", 0, 3, step=2)], {}, TERM, [1, 5]),
    "parallel": ([partial(loop, "r", 0, 1, kind="parallel")], {}, TERM, [1, 5]),
    "a reduction": ([lambda body: replace(loop("r", 0, 3, body), reduces=("C",))], {}, TERM, [1, 5]),
    "an end that the tile changes": ([THREE, partial(loop, "s", 0, ONE_TO_THREE)], {}, TERM, [1, 5]),
    "something else inside": ([lambda body: loop("r", 0, 3, Store("S", (), r), body)], {}, TERM, [1, 5]),
}


@pytest.mark.parametrize(("window", "shape", "body", "expected"), WINDOWS.values(), ids=WINDOWS)
def test_over_how_many_loops_registers_last(window, shape, body, expected):
    assert held_over(result(tiled(body, window=window, **shape))) == expected


def rows_in_a_window(first: Expr, end: Expr) -> Function:
    """No SIMD loop inside."""
    rows = loop("i", first, end, update(load(C, i, 0), load(A, r, i)), kind="unrolled")
    return nest("f", "n", (A, C), loop("r", 0, n, loop("k", 0, 3, rows)))


def test_registers_last_for_all_loops_of_a_window():
    assert show(simplify(result(rows_in_a_window(const(0), binary("min", n, 2))).body)) == """\
if n >= 2 && 0 < n:
    alloc C_0: private i64[2]
    for r0 in 0..2 (unrolled):
        C_0[r0] = C[r0, 0]
    for r in 0..n:
        for k in 0..3:
            for r2 in 0..2 (unrolled):
                C_0[r2] = C_0[r2] + A[r, r2]
    for r1 in 0..2 (unrolled):
        C[r1, 0] = C_0[r1]
else:
    for r3 in 0..n:
        for r4 in 0..3:
            for r5 in 0..min(n, 2):
                C[r5, 0] = C[r5, 0] + A[r3, r5]"""


def test_rows_that_move_with_a_loop_of_a_window_are_held_inside_of_it():
    assert held_over(result(rows_in_a_window(mul(2, r), add(mul(2, r), 2)))) == [1]


@pytest.mark.parametrize("seed", range(60))
def test_random_windows_compute_the_same(seed):
    result(random_windows(random.Random(seed)))


def test_random_windows_have_registers_over_any_number_of_loops():
    held = [loops for seed in range(60) for loops in held_over(register_tiles(random_windows(random.Random(seed))))]
    assert {1, 2, 3} <= {*held}


def random_windows(rng: random.Random) -> Function:
    """Sums over one or two loops around k; what bounds them, tiles and elements may change with any loop."""
    first = partial(loop, "r", rng.choice((0, 1)), rng.choice((1, 3, n, add(i0, 1))))
    second = partial(loop, "s", rng.choice((0, 0, 1, r)), rng.choice((2, 2, n, add(r, 1))))
    window, last = rng.choice((([first], r), ([first, second], s)))
    index = rng.choice((*[(i, j)] * 6, (j, i), (i, const(1)), (add(i, r), j), (i, last)))
    subscripts = (i, j, k, r, last, add(j, last), add(i, r))
    factors = [Load(rng.choice("AABBC"), (rng.choice(subscripts), rng.choice(subscripts)), i64) for _ in range(2)]
    lows, highs = ({x: rng.choice((k, const(2), r, last)) for x in "ij" if rng.random() < 0.15} for _ in range(2))
    hi = rng.choice((n, n, 2, add(last, 1), binary("min", n, add(mul(2, i0), 1))))
    body = Store("C", index, sub(mul(*factors), Load("C", index, i64)))
    return tiled(body, hi=hi, lows=lows, highs=highs, window=window)
