"""polysched/transform/unify.py: which loops are rows, columns and terms, by where accesses move.

Whatever is unified is held against all instances at small sizes: which loops move what, lines, and that terms are all.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from polysched import Options, Schedule
from polysched.frontend.python import parse_nest
from polysched.instructions.instruction import Instruction
from polysched.instructions.mma import M16N8K8_F64, M16N8K16
from polysched.model.extract import extract
from polysched.model.tree import Band, Member, Tree, walk
from polysched.transform.unify import Unified, unify

LINE = 8  # elements of f16 that are copied at a time
Loops = tuple[tuple[str, str], ...]  # the name and the arguments of `range`
CUBE: Loops = ("i", "n"), ("j", "m"), ("k", "l")


@dataclass(frozen=True)
class Sum:
    """C[..] += f32(A[..]) * f32(B[..]), by subscripts and shapes."""

    C: str = "i, j"
    A: str = "i, k"
    B: str = "k, j"
    loops: Loops = CUBE
    shape_of_C: str = "n, m"
    shape_of_A: str = "n, l"
    shape_of_B: str = "l, m"
    update: str = "C[{C}] += f32(A[{A}]) * f32(B[{B}])"
    types: tuple[str, str, str] = ("f16", "f16", "f32")  # of A, B and C

    def text(self) -> str:
        arrays = zip("ABC", self.types, (self.shape_of_A, self.shape_of_B, self.shape_of_C), strict=True)
        given = ", ".join(f"{name}: {dtype}[{shape}]" for name, dtype, shape in arrays) + ", alpha: f64"
        lines = [f"def product(n: size, m: size, l: size, p: size, {given}):"]
        lines += [f"{' ' * 4 * depth}for {name} in range({args}):" for depth, (name, args) in enumerate(self.loops, 1)]
        update = self.update.format(C=self.C, A=self.A, B=self.B)
        return "\n".join([*lines, f"{' ' * 4 * (len(self.loops) + 1)}{update}", ""])

    def unified(self, of: Instruction = M16N8K16) -> Unified | None:
        scop = extract(parse_nest(self.text(), "product.py"))
        members = loops_of(scop.tree)
        assert len(members) == len(self.loops)
        return unify(scop.statements[0], scop, members, of)

    def roles(self) -> str | None:
        """Rows, columns and terms by the names of their loops."""
        found = self.unified()
        return found and "".join(self.loops[k][0] for k in (found.rows, found.columns, found.terms))


def loops_of(tree: Tree) -> list[Member]:
    return [member for node in walk(tree) if isinstance(node, Band) for member in node.members]


def test_a_product_of_matrices():
    """i moves C and A, j moves C and B, k moves A and B."""
    assert Sum().unified() == Unified(rows=0, columns=1, terms=2)
    assert Sum(loops=(CUBE[2], CUBE[0], CUBE[1])).unified() == Unified(rows=1, columns=2, terms=0)


@pytest.mark.parametrize(("A", "shape_of_A"), [("i, k", "n, l"), ("k, i", "l, n")])
@pytest.mark.parametrize(("B", "shape_of_B"), [("k, j", "l, m"), ("j, k", "m, l")])
def test_transposes(A, shape_of_A, B, shape_of_B):
    one = Sum(A=A, B=B, shape_of_A=shape_of_A, shape_of_B=shape_of_B)
    assert one.roles() == "ijk"
    assert Sum(A=B, B=A, shape_of_A=shape_of_B, shape_of_B=shape_of_A).roles() == "ijk"
    turned = Sum(C="j, i", A=A, B=B, shape_of_C="m, n", shape_of_A=shape_of_A, shape_of_B=shape_of_B)
    assert turned.roles() == "ijk"  # columns are the innermost of both


BATCH = (("b", "p"), *CUBE)
IMAGE = ("y", "n"), ("x", "m"), ("o", "p"), ("r", "3"), ("s", "3"), ("c", "l")
CONV = Sum(
    C="y, x, o", A="y + r, x + s, c", B="r, s, c, o", loops=IMAGE,
    shape_of_C="n, m, p", shape_of_A="n + 2, m + 2, l", shape_of_B="3, 3, l, p",
)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        (Sum("b, i, j", "b, i, k", "b, k, j", BATCH, "p, n, m", "p, n, l", "p, l, m"), "ijk"),
        (Sum("b, i, j", "b, i, k", "k, j", BATCH, "p, n, m", "p, n, l", "l, m"), "ijk"),
        (Sum("i, b, j", "i, b, k", "b, j, k", BATCH, "n, p, m", "n, p, l", "p, m, l"), "ijk"),
        (CONV, "xoc"),
        (replace(CONV, A="y + r, 2*x + s, c", shape_of_A="n + 2, 2*m + 2, l"), "yoc"),
        (Sum(A="i, k", B="j, k", shape_of_B="m, l", loops=(("i", "n"), ("j", "n"), ("k", "l"))), "ijk"),
        (Sum(A="i + 1, k", shape_of_A="n + 1, l"), "ijk"),
        (Sum(B="k, j + 16", shape_of_B="l, m + 16"), "ijk"),
        (Sum(A="k, i + 8", shape_of_A="l, n + 8"), "ijk"),
        (Sum(B="k, j + 8*b", loops=BATCH, shape_of_B="l, m + 8*p", C="b, i, j", shape_of_C="p, n, m"), "ijk"),
        (Sum(shape_of_A="n + 5, l", shape_of_B="l, m + 3"), "ijk"),
        (Sum(C="2*i, j + 3", shape_of_C="2*n, m + 3"), "ijk"),
        (Sum(C="i, i + j", shape_of_C="n, n + m"), "ijk"),
        (Sum(loops=(("i", "n"), ("j", "i + 1"), ("k", "l")), shape_of_B="l, n", shape_of_C="n, n"), "ijk"),
        (Sum("i, j", "i, k", "k, j", (("i", "12"), ("j", "m"), ("k", "8")), "12, m", "12, 8", "8, m"), "ijk"),
        (Sum(loops=(("i", "5, n"), ("j", "m"), ("k", "l"))), "ijk"),
        (Sum(loops=(("i", "n"), ("j", "m"), ("k", "2*l")), shape_of_A="n, 2*l", shape_of_B="2*l, m"), "ijk"),
    ],
    ids=[
        "batched", "one matrix for all", "planes in the middle", "convolution", "strides along x", "symmetric",
        "rows further down", "two lines further", "a line further, turned", "planes of whole lines",
        "rows and columns that are not read",
        "sums anywhere", "sums along a diagonal", "a triangle of sums",
        "constants", "rows from the fifth on", "terms by an expression",
    ],
)  # fmt: skip
def test_what_is_unified(given, roles):
    assert given.roles() == roles
    check(given, Unified(*map("".join(name for name, _ in given.loops).index, roles)))


@pytest.mark.parametrize(
    "given",
    [
        Sum(A="2*i, k", shape_of_A="2*n, l"),
        replace(CONV, A="2*y + r, 2*x + s, c", shape_of_A="2*n + 2, 2*m + 2, l"),
        replace(CONV, A="y + r, x + s, 2*c", shape_of_A="n + 2, m + 2, 2*l"),
        Sum(A="i, 2*k", shape_of_A="n, 2*l"),
        Sum(A="i, k + 1", shape_of_A="n, l + 1"),
        Sum(A="i, l - 1 - k"),
        Sum(A="n - 1 - i, k"),
        Sum(A="i, k", shape_of_A="n, 2*l"),
        Sum(B="k, j", shape_of_B="l + 1, m"),
        Sum(loops=(("i", "n"), ("j", "m"), ("k", "1, l"))),
        Sum(loops=(("i", "n"), ("j", "m"), ("k", "0, l, 2"))),
        Sum(B="k, j + 4", shape_of_B="l, m + 4"),
        Sum(B="k, j + n", shape_of_B="l, m + n"),
        Sum(B="k, j + 4*b", loops=BATCH, shape_of_B="l, m + 4*p", C="b, i, j", shape_of_C="p, n, m"),
        Sum(loops=(("i", "n"), ("j", "m"), ("k", "i + 1")), shape_of_A="n, n", shape_of_B="n, m"),
        Sum("b, i", "b, i, k", "b, k", (("b", "l"), ("k", "b + 1"), ("i", "n")), "l, n", "l, n, l", "l, l"),
        Sum("b, i, j", "b, i, k", "b, k, j", (("b", "l"), ("k", "b + 1"), *CUBE[:2]), "l, n, m", "l, n, l", "l, l, m"),
        Sum("i, j", "i, k", "k, b, j", (*CUBE, ("b", "k + 1")), "n, m", "n, l", "l, l, m"),
        Sum(A="i, k, 0", shape_of_A="n, l, 1"),
        Sum(A="k", shape_of_A="l"),
        Sum(A="i", shape_of_A="n"),
        Sum(A="i + k, 0", shape_of_A="n + l, 1"),
        Sum(A="i, i + k", shape_of_A="n, n + l"),
        Sum(A="i // 2, k"),
        Sum(A="i, j", shape_of_A="n, m"),
    ],
    ids=[
        "every other row", "strides", "strides of terms", "every other term", "terms from the second on",
        "terms backwards", "rows backwards", "an array longer than the loop", "and the other one", "a loop from 1",
        "a step",
        "half a line further", "a size further", "planes of half lines", "a triangle of terms",
        "a vector", "terms up to a loop around", "terms that a loop inside depends on",
        "columns of one element", "no rows", "no terms", "a diagonal", "skewed", "quotients", "no terms in common",
    ],
)  # fmt: skip
def test_what_is_not(given):
    assert given.roles() is None


@pytest.mark.parametrize(
    "given",
    [
        Sum(types=("f32", "f32", "f32"), update="C[{C}] += A[{A}] * B[{B}]"),
        Sum(types=("f16", "f16", "f16"), update="C[{C}] += A[{A}] * B[{B}]"),
        Sum(update="C[{C}] += f32(A[{A}] * B[{B}])"),
        Sum(types=("f16", "f16", "f64"), update="C[{C}] += f64(A[{A}]) * f64(B[{B}])"),
        Sum(types=("f32", "f16", "f32")),
        Sum(update="C[{C}] = max(C[{C}], f32(A[{A}]) * f32(B[{B}]))"),
        Sum(update="C[{C}] -= f32(A[{A}]) * f32(B[{B}])"),
        Sum(update="C[{C}] += 2.0 * f32(A[{A}]) * f32(B[{B}])"),
        Sum(update="C[{C}] = f32(A[{A}]) * f32(B[{B}])"),
        Sum(update="C[{C}] = C[{C} + 1] + f32(A[{A}]) * f32(B[{B}])", shape_of_C="n, m + 1"),
        Sum(update="C[{C}] += f32(f16(C[0, 0])) * f32(B[{B}])"),
        Sum(update="C[{C}] += f32(A[{A}])"),
    ],
    ids=[
        "f32", "f16 in all", "products in f16", "sums in f64", "one of f32", "max", "minus", "scaled", "no sum",
        "of another element", "of itself", "of one factor",
    ],
)  # fmt: skip
def test_other_updates(given):
    assert given.roles() is None


@pytest.mark.parametrize(
    "edit",
    [
        lambda s: s.reverse("i"),
        lambda s: s.skew("j", "i"),
        lambda s: s.shift("S", "j", 1),
        lambda s: s.tile("i", sizes=(16,)),
        lambda s: s.tile("k", sizes=(16,)),
    ],
    ids=["reversed", "skewed", "shifted", "tiles of rows", "tiles of terms"],
)
def test_loops_that_are_no_iterators_as_they_are(edit):
    scop = extract(parse_nest(Sum().text(), "product.py"))
    schedule = Schedule(parse_nest(Sum().text(), "product.py"), options=Options(reorder_reductions=True))
    assert unify(scop.statements[0], scop, loops_of(schedule.tree), M16N8K16) == Unified(0, 1, 2)
    assert unify(scop.statements[0], scop, loops_of(edit(schedule).tree), M16N8K16) is None


DOUBLES = Sum(types=("f64", "f64", "f64"), update="C[{C}] += A[{A}] * B[{B}]")


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [
        (DOUBLES, True),
        (replace(DOUBLES, update="C[{C}] += alpha * A[{A}] * B[{B}]"), True),
        (replace(DOUBLES, update="C[{C}] += A[{A}] * (B[{B}] * 2.0)"), True),
        (replace(DOUBLES, B="k, j + 2", shape_of_B="l, m + 2"), True),
        (replace(DOUBLES, B="k, j + 1", shape_of_B="l, m + 1"), False),
        (replace(DOUBLES, update="C[{C}] += alpha * (A[{A}] * B[{B}])"), False),
        (replace(DOUBLES, update="C[{C}] += (A[{A}] + alpha) * B[{B}]"), False),
        (replace(DOUBLES, update="C[{C}] += i * A[{A}] * B[{B}]"), False),
        (replace(DOUBLES, types=("f32", "f64", "f64"), update="C[{C}] += f64(A[{A}]) * B[{B}]"), False),
        (Sum(), False),
    ],
    ids=[
        "doubles", "a scaled factor", "and the other one", "a line further", "half a line further", "a scaled product",
        "a term more", "scaled by a row", "a factor of f32", "halves",
    ],
)  # fmt: skip
def test_doubles(given, is_taken):
    assert given.unified(M16N8K8_F64) == (Unified(0, 1, 2) if is_taken else None)


def test_planes_of_half_lines_are_refused_only_along_the_last_dimension():
    assert Sum(A="i + 3*b, k", loops=BATCH, shape_of_A="n + 3*p, l", C="b, i, j", shape_of_C="p, n, m").roles() == "ijk"


# --- all instances


Instance = dict[str, int]
SIZES = {"n": 3, "m": 4, "l": 5, "p": 2}, {"n": 6, "m": 2, "l": 1, "p": 3}


def check(given: Sum, found: Unified) -> None:
    """The three loops are what unify.py's first lines say, at small sizes."""
    rows, columns, terms = (given.loops[k][0] for k in (found.rows, found.columns, found.terms))
    for sizes in SIZES:
        every = list(instances(given.loops, sizes))
        if not every:
            continue
        require_box(every, (rows, columns, terms))
        sums, left, right = (Moves(every, *each) for each in (
            (given.C, given.shape_of_C), (given.A, given.shape_of_A), (given.B, given.shape_of_B),
        ))  # fmt: skip
        if not left.is_moved(rows):
            left, right = right, left
        moved = [[each.is_moved(name) for name in (rows, columns, terms)] for each in (sums, left, right)]
        assert moved == [[True, True, False], [True, False, True], [False, True, True]]
        left.require_lines(rows, terms, [name for name, _ in given.loops if name not in (rows, terms)])
        right.require_lines(columns, terms, [name for name, _ in given.loops if name not in (columns, terms)])


def instances(loops: Loops, values: Instance) -> Iterator[Instance]:
    """All of a nest, with the sizes."""
    if not loops:
        yield values
        return
    (name, args), *rest = loops
    for at in eval(f"range({args})", {}, values):
        yield from instances(tuple(rest), {**values, name: at})


def require_box(every: list[Instance], names: tuple[str, str, str]) -> None:
    """Terms, the last of the three, are the same for all sums that the other loops have."""
    boxes: dict[Any, set[tuple[int, ...]]] = {}
    for each in every:
        boxes.setdefault(without(each, names), set()).add(tuple(each[name] for name in names))
    for box in boxes.values():
        sums, terms = {point[:2] for point in box}, {point[2:] for point in box}
        assert box == {(*one, *term) for one, term in itertools.product(sums, terms)}


def without(instance: Instance, names: Sequence[str]) -> tuple[tuple[str, int], ...]:
    return tuple((name, at) for name, at in instance.items() if name not in names)


class Moves:
    """Where an access is, at each instance."""

    def __init__(self, every: list[Instance], subscripts: str, shape: str):
        self.every, self.at = every, partial(at, subscripts)
        self.shape = at(shape, every[0])

    def steps(self, name: str) -> set[tuple[int, ...]]:
        """By how much one iteration more moves it, from any instance."""
        pairs = ((self.at(each), self.at({**each, name: each[name] + 1})) for each in self.every)
        return {tuple(b - a for a, b in zip(*pair, strict=True)) for pair in pairs}

    def is_moved(self, name: str) -> bool:
        return any(any(step) for step in self.steps(name))

    def require_lines(self, side: str, terms: str, others: Sequence[str]) -> None:
        """Elements are next to each other in the last dimension along one of the two, lines begin where it is zero, and
        the other one moves in another dimension; terms are all of the array's."""
        (of_side,), (of_terms,) = self.steps(side), self.steps(terms)
        (down,), (along,) = ([k for k, by in enumerate(step) if by] for step in (of_side, of_terms))
        last = len(self.shape) - 1
        assert down != along and last in (down, along)
        assert (of_side if down == last else of_terms)[last] == 1
        assert not any(step[last] % LINE for name in others for step in self.steps(name))
        assert not any(self.at({**each, side: 0, terms: 0})[last] % LINE for each in self.every)
        runs: dict[Any, set[int]] = {}
        for each in self.every:
            runs.setdefault(without(each, (terms,)), set()).add(self.at(each)[along])
        assert all(run == set(range(self.shape[along])) for run in runs.values())


def at(subscripts: str, values: Instance) -> tuple[int, ...]:
    return eval(f"({subscripts},)", {}, values)


# --- at random


def random_sum(rng: random.Random) -> Sum:
    """A product of matrices, at times of several, with up to three changes."""
    names = [*"ijk", *(["b"] if rng.random() < 0.4 else [])]
    rng.shuffle(names)
    changed = rng.sample(range(10), rng.choice((0, 1, 1, 2, 3)))  # of six dimensions; of loops, if it is one of these
    loops, extents = [], {}
    for k, name in enumerate(names):
        size = dict(zip("ijkb", "nmlp", strict=True))[name]
        args, extents[name] = _range(rng, size, names[:k], extents) if 6 + k in changed else (size, size)
        loops.append((name, args))
    subscripts, shapes = [], []
    for k, pair in enumerate(("ij", "ik", "kj")):
        dims = rng.sample(pair, 2)
        found = [
            _subscript(rng, name, names, extents) if 2 * k + at in changed else (name, extents[name])
            for at, name in enumerate(dims)
        ]
        if "b" in names and rng.random() < 0.5:
            found.insert(rng.randrange(3), ("b", extents["b"]))
        subscripts.append(", ".join(subscript for subscript, _ in found))
        shapes.append(", ".join(extent for _, extent in found))
    return Sum(*subscripts, tuple(loops), *shapes)


def _range(rng: random.Random, size: str, around: Sequence[str], extents: Mapping[str, str]) -> tuple[str, str]:
    """The arguments, and how far they go."""
    outer = [(f"{name} + 1", extents[name]) for name in around]
    return rng.choice([(f"1, {size}", size), (f"0, {size}, 2", size), *outer])


def _subscript(rng: random.Random, name: str, names: Sequence[str], extents: Mapping[str, str]) -> tuple[str, str]:
    """Of a dimension, and how long that is."""
    own, other, by = extents[name], rng.choice(names), rng.choice((1, 2, 8, 16))
    factor, offset = rng.choice((1, 1, 1, 2)), rng.choice(("1", "4", "8", "16", "n"))
    times, extent = (f"{factor}*{name}", f"{factor}*({own})") if factor > 1 else (name, own)
    return rng.choice(
        [
            (name, f"{own} + 1"),
            (times, f"{extent} + 1"),
            (f"{times} + {by}*{other}", f"{extent} + {by}*({extents[other]})"),
            (f"{times} + {by}*{other}", f"{extent} + {by}*({extents[other]})"),
            (f"{times} + {offset}", f"{extent} + {offset}"),
            (f"{times} + {offset}", f"{extent} + {offset}"),
            (f"{own} - 1 - {name}", own),
        ]
    )


@pytest.mark.parametrize("first", range(0, 300, 30))
def test_whatever_is_unified_moves_so(first):
    taken = 0
    for seed in range(first, first + 30):
        given = random_sum(random.Random(seed))
        found = given.unified()
        if found is not None:
            check(given, found)
            taken += 1
    assert 5 <= taken <= 25
