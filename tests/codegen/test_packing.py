"""polysched/codegen/memory/packing.py: copies of what register tiles read with large strides."""

from __future__ import annotations

import random
from dataclasses import replace

import nests
import pytest
from nests import add, binary, loop, mul, nest, sub, var

from polysched.codegen.memory.packing import pack
from polysched.config.heuristics.cpu import LONGEST_PACKED
from polysched.ir.build import const, floordiv, floormod, load
from polysched.ir.dtypes import f32, f64, i32, i64
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, Expr, For, Function, If, Let, Load, Select, Stmt, Store
from polysched.ir.rename import rename_bound
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.ir.verify import verify

ROWS, COLUMNS, DEPTH = 2, 3, 4
n, m, i, j, k, i0, j0, k0, t = (var(name) for name in ("n", "m", "i", "j", "k", "i0", "j0", "k0", "t"))
A, B = Array("A", i64, (n, m)), Array("B", i64, (n, m))  # no larger than what i, j < n and k < m reach
C, S = Array("C", i64, (n, n)), Array("S", i64, (m, m))
D, T = Array("D", i64, (n,)), Array("T", i64, (n, n, m))
SIZES = (0, 1, COLUMNS, DEPTH + 1)  # none, partial tiles, full ones, and both
PRODUCT = Store("C", (i, j), add(load(C, i, j), mul(load(A, i, k), load(A, j, k))))


def tiled(*body: Stmt, where=(), kind="serial", depth=DEPTH, **bounds: tuple[Expr | None, Expr | None]) -> Function:
    """Tiles of 2 by 3 over i and j, around a block of 4 iterations of k < m; `bounds` of loops hold besides, and the
    conditions `where` around the loop over tiles."""

    def block(name: str, size: int, number: Expr, end: Expr) -> tuple[Expr, Expr]:
        first, last = bounds.get(name, (None, None))
        low, high = mul(size, number), binary("min", end, add(mul(size, number), size))
        return low if first is None else binary("max", low, first), high if last is None else binary("min", high, last)

    def over(name: str, size: int, end: Expr, inside: Stmt, kind: str = "serial") -> For:
        return loop(name, *bounds.get(name, (0, floordiv(add(end, size - 1), size))), inside, kind=kind)

    columns = loop("j", *block("j", COLUMNS, j0, n), *body, kind="vector")
    rows = loop("i", *block("i", ROWS, i0, n), columns, kind="unrolled")
    around = loop("k", *block("k", depth, k0, m), rows)
    tiles: Stmt = over("i0", ROWS, n, around, kind)
    for condition in where:
        tiles = If(condition, (tiles,))
    return nest("tiled", "n m", (A, B, C, D, S, T), over("k0", depth, m, over("j0", COLUMNS, n, tiles)))


def packed(fn: Function) -> Function:
    """What the pass makes of `fn`: verified, and with the same outcome at sizes around that of a tile."""
    done = pack(fn)
    verify(done, "lowered")
    for size in SIZES:
        arguments = nests.arguments_for(fn, random.Random(size), size)
        nests.assert_same_outcome(fn, done, arguments)
    return done


def copies(fn: Function) -> list[str]:
    """The arrays that are copied somewhere."""
    return [node.array.name.rpartition("_")[0] for node in walk(fn.body) if isinstance(node, Alloc)]


def test_rows_that_are_read_as_columns_are_copied_once_for_all_tiles():
    fn = tiled(PRODUCT)
    assert show(simplify(packed(fn).body[0].body[0].body)) == """\
alloc A_0: private i64[4, 3]
if 0 < floordiv(n + 1, 2):
    for p1 in j0 * 3..min(j0 * 3 + 3, n):
        for p0 in k0 * 4..min(m, k0 * 4 + 4):
            A_0[p0 - k0 * 4, p1 - j0 * 3] = A[p1, p0]
for i0 in 0..floordiv(n + 1, 2):
    for k in k0 * 4..min(m, k0 * 4 + 4):
        for i in i0 * 2..min(n, i0 * 2 + 2) (unrolled):
            for j in j0 * 3..min(n, j0 * 3 + 3) (vector):
                C[i, j] = C[i, j] + A[i, k] * A_0[k - k0 * 4, j - j0 * 3]"""


def update(target: Load, *factors: Expr) -> Store:
    return Store(target.array, target.index, add(target, mul(*factors)))


BODIES: dict[str, tuple[list[Stmt], list[str]]] = {
    "one array": ([PRODUCT], ["A"]),
    "two arrays": ([update(load(C, i, j), load(A, j, k), load(B, j, k))], ["A", "B"]),
    "one element twice": ([update(load(C, i, j), load(A, j, k), load(A, j, k))], ["A"]),
    "two statements": ([PRODUCT, update(load(C, j, i), load(A, j, k))], ["A"]),
    "unit strides": ([update(load(C, i, j), load(S, k, j))], []),
    "another row": ([update(load(C, i, j), load(A, i, k))], []),
    "one element for each lane": ([update(load(C, i, j), load(A, j, 0))], []),
    "one dimension": ([update(load(C, i, j), load(D, j))], []),
    "a plane for each block of columns": ([update(load(C, i, j), load(T, j0, j, k))], ["T"]),
    "a plane for each tile": ([update(load(C, i, j), load(T, i0, j, k))], []),
    "a diagonal": ([update(load(C, i, j), load(S, j, j))], []),
    "the next column": ([update(load(C, i, j), load(S, j, floormod(add(k, 1), m)))], []),
    "what another array tells": ([update(load(C, i, j), load(A, j, floormod(load(A, i, k), m)))], []),
    "an element that tells another": ([update(load(C, i, j), load(D, floormod(load(A, j, k), n)))], ["A"]),
    "a let": ([Let("s", load(A, j, k)), update(load(C, i, j), var("s"))], ["A"]),
    "what a let tells": ([Let("s", k), update(load(C, i, j), load(A, j, var("s")))], []),
    "read where it is asked for": (
        [update(load(C, i, j), Select(binary("<", add(j, k), n), load(A, add(j), k), const(1)))],
        ["A"],
    ),
    "written where it is read": ([update(load(S, i, j), load(S, j, k))], []),
    "written at its transpose": ([update(load(S, j, i), load(S, j, k))], []),
    "written apart": ([update(load(C, i, j), load(S, j, k)), Store("S", (n, n), const(3))], ["S"]),
    "written where another array tells": (
        [update(load(C, i, j), load(S, j, k)), Store("S", (floormod(load(A, i, k), m), n), const(3))],
        [],
    ),
}
SHAPES: dict[str, dict] = {
    "blocks": {},
    "j <= i": {"j": (None, add(i, 1))},
    "j >= i": {"j": (i, None)},
    "k < i": {"i": (add(k, 1), None)},
    "k > j": {"j": (None, k)},
    "k in a band of i0": {"k": (sub(i0, 1), add(i0, 2))},
    "j in a band of j0": {"j": (sub(j0, 1), add(j0, 2))},
    "j in a band of i0": {"j": (i0, add(i0, 2))},
    "never": {"k": (m, const(0))},
    "no tiles": {"i0": (n, const(0))},
    "tiles from below zero": {"k0": (const(-1), floordiv(add(m, 3), 4)), "i": (const(0), add(k, 1))},
    "tiles beyond the end": {"j0": (const(-1), add(n, 1)), "j": (const(0), n)},
    "k < j": {"j0": (k0, floordiv(add(n, 2), 3)), "j": (add(k, 1), None)},
    "k before the tile": {"k": (None, mul(3, j0))},
    "conditions": {"where": [binary(">=", mul(3, j0), add(mul(4, k0), 4)), binary("<=", k0, j0)]},
    "on threads": {"kind": "parallel"},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("body", BODIES)
def test_every_body_in_every_shape_computes_the_same(body, shape):
    packed(tiled(*BODIES[body][0], **SHAPES[shape]))


@pytest.mark.parametrize("body", BODIES)
def test_what_is_copied(body):
    stmts, expected = BODIES[body]
    assert copies(pack(tiled(*stmts))) == expected


OWN_ROWS = update(load(S, i, j), load(S, i, k), load(S, j, k))  # of a Cholesky factorisation


@pytest.mark.parametrize(
    "bounds",
    [
        {"k": (None, mul(3, j0))},
        {"k": (None, sub(mul(3, j0), 1))},
        {"j": (add(mul(4, k0), 4), None)},
        {"i": (add(mul(3, j0), 3), None)},
        {"i": (binary("max", mul(5, k0), add(mul(3, j0), 3)), None)},
        {"where": [binary(">=", mul(3, j0), add(mul(4, k0), 4))]},
        {"where": [binary("&&", binary(">=", n, 2), binary("<=", add(mul(4, k0), 4), mul(3, j0)))]},
    ],
    ids=str,
)
def test_an_array_that_the_tiles_change_is_copied_where_they_read_apart(bounds):
    assert copies(packed(tiled(OWN_ROWS, **bounds))) == ["S"]


@pytest.mark.parametrize(
    "bounds",
    [
        {},
        {"k": (None, add(mul(3, j0), 1))},
        {"j": (add(k, 1), None)},  # its k, not that of the other
        {"j": (None, i)},
        {"i": (add(mul(3, j0), 2), None)},
        {"where": [binary(">=", mul(3, j0), add(mul(4, k0), 3))]},
        {"where": [binary(">=", load(D, 0), add(mul(4, k0), 4)), binary("<=", load(D, 0), mul(3, j0))]},
    ],
    ids=str,
)
def test_nor_is_it_where_a_single_element_may_be_met(bounds):
    assert copies(packed(tiled(OWN_ROWS, **bounds))) == []


def test_conditions_that_bound_each_other_end_the_search():
    where = [binary(">=", j0, k0), binary(">=", k0, sub(j0, 5)), binary(">=", mul(3, j0), mul(4, k0))]
    assert copies(packed(tiled(OWN_ROWS, where=where))) == []


@pytest.mark.parametrize("outer", [mul(2, j0), sub(j0, 1)], ids=["beyond the end", "below zero"])
def test_a_subscript_that_no_loop_moves_is_checked_before_the_array_is_read(outer):
    """Here the bounds of i keep its reads inside of the array, but the copy is made for any i."""
    inside = binary("max", 0, sub(0, mul(9, outer))), mul(9, sub(n, outer))
    assert copies(packed(tiled(update(load(C, i, j), load(T, outer, j, k)), i=inside))) == ["T"]


def test_conditions_hold_where_they_stand_alone():
    """The same tiles again, behind the condition or in its other branch."""
    holds = binary(">=", mul(3, j0), add(mul(4, k0), 4))
    (over_k0,) = tiled(OWN_ROWS, where=[holds]).body
    (over_j0,) = over_k0.body
    (guarded,) = over_j0.body
    again = rename_bound(guarded.then, lambda name: f"{name}_again")
    for body in ((guarded, *again), (replace(guarded, other=again),)):
        behind = replace(over_k0, body=(replace(over_j0, body=body),))
        done = packed(nest("f", "n m", (A, B, C, D, S, T), behind))
        assert copies(done) == (["S"] if len(body) == 2 else [])


def test_copies_have_a_limit():
    for size, expected in ((LONGEST_PACKED, ["A"]), (LONGEST_PACKED + 1, [])):
        assert copies(pack(tiled(PRODUCT, k=(None, None), depth=size))) == expected


def test_local_arrays_are_not_copied():
    fn = tiled(update(load(C, i, j), load(Array("L", i64, (n, m)), j, k)))
    fn = replace(fn, body=(Alloc(Array("L", i64, (n, m), "private")), *fn.body))
    assert copies(pack(fn)) == [""]


@pytest.mark.parametrize("dtype", [f64, f32, i32], ids=str)
def test_a_copy_has_the_type_of_its_array(dtype):
    one, other = Array("P", dtype, (n, n)), Array("Q", dtype, (n, m))
    fn = tiled(update(load(one, i, j), load(other, i, k), load(other, j, k)))
    done = packed(replace(fn, arrays=(one, other), params=()))
    assert [node.array.dtype for node in walk(done.body) if isinstance(node, Alloc)] == [dtype]


def test_names_that_are_taken_are_not_given_again():
    taken = (Array("A_0", i64, (n, m)), Array("p0", i64, (n,)))
    fn = tiled(update(load(C, i, j), load(A, j, k), load(taken[0], j, k)))
    packed(replace(fn, arrays=(*fn.arrays, *taken), params=()))


@pytest.mark.parametrize("seed", range(100))
def test_random_tiles_compute_the_same(seed):
    packed(random_tiles(random.Random(seed)))


def test_random_tiles_have_copies_of_what_they_change_too():
    done = [pack(random_tiles(random.Random(seed))) for seed in range(100)]
    assert sum("A" in copies(fn) for fn in done) > 10
    assert sum("S" in copies(fn) for fn in done) > 5


def random_tiles(rng: random.Random) -> Function:
    """Updates of an array from its own rows and columns, and those of another, in tiles of any shape."""

    def operand() -> Expr:
        return rng.choice((load(A, j, k), load(S, j, k), load(S, j, k), load(S, i, k), load(S, k, j), load(S, j, i)))

    ends = (mul(3, j0), add(mul(3, j0), 3), mul(4, k0), add(mul(4, k0), 4), add(j0, k0))
    bounds = {}
    for name, own in (("i", (k,)), ("j", (k, i)), ("k", (mul(2, i0), add(i0, 2)))):
        low, high = (rng.choice((None, None, *ends, *own)) for _ in range(2))
        bounds[name] = (low, None if high is None else binary("min", high, n))
    where = [binary(rng.choice(("<=", ">=")), *rng.sample(ends, 2)) for _ in range(rng.choice((0, 0, 1, 2)))]
    target = rng.choice((load(C, i, j), load(S, i, j), load(S, i, j), load(S, j, i), load(S, i, add(mul(3, j0), 0))))
    return tiled(update(target, *(operand() for _ in range(rng.choice((1, 2))))), where=where, **bounds)
