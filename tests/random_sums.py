"""Sums of products for tests of tensor instructions, by subscripts and shapes, some of them random.

    Sum(A="k, i", shape_of_A="l, n").text()         the nest, in Python
    random_sum(rng)                                 with strides, offsets, triangles, batches
    require(given, found)                           that its loops are rows, columns and terms, by all instances
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import CodeType
from typing import Any

from polysched.frontend.python import parse_nest
from polysched.model.extract import extract
from polysched.model.instructions.instruction import LINE, Instruction
from polysched.model.instructions.mma import M16N8K16
from polysched.model.tree.nodes import Band, Member, Tree, walk
from polysched.transform.analysis.unify import Unified, unify

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
    outer: int = 0  # loops that are around what is before and after the sum
    before: str = ""
    after: str = ""

    def text(self) -> str:
        arrays = zip("ABC", self.types, (self.shape_of_A, self.shape_of_B, self.shape_of_C), strict=True)
        given = ", ".join(f"{name}: {dtype}[{shape}]" for name, dtype, shape in arrays)
        lines = [(0, f"def product(n: size, m: size, l: size, p: size, {given}, alpha: f64):")]
        for depth, (name, args) in enumerate(self.loops):
            lines += [(depth + 1, self.before)] if depth == self.outer else []
            lines.append((depth + 1, f"for {name} in range({args}):"))
        lines += [(len(self.loops) + 1, self.update), (self.outer + 1, self.after)]
        text = "".join(f"{' ' * 4 * depth}{line}\n" for depth, line in lines if line)
        return text.format(C=self.C, A=self.A, B=self.B)

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


BATCH = (("b", "p"), *CUBE)
IMAGE = ("y", "n"), ("x", "m"), ("o", "p"), ("r", "3"), ("s", "3"), ("c", "l")
CONV = Sum(
    C="y, x, o", A="y + r, x + s, c", B="r, s, c, o", loops=IMAGE,
    shape_of_C="n, m, p", shape_of_A="n + 2, m + 2, l", shape_of_B="3, 3, l, p",
)  # fmt: skip


# --- all instances


Instance = dict[str, int]
SIZES = {"n": 3, "m": 4, "l": 5, "p": 2}, {"n": 6, "m": 2, "l": 1, "p": 3}


def require(given: Sum, found: Unified, of: Instruction = M16N8K16) -> None:
    """AssertionError unless the three loops are what unify.py's first lines say, at small sizes."""
    line = LINE * 8 // of.factor.bits
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
        for factor, side in ((left, rows), (right, columns)):
            others = [name for name, _ in given.loops if name not in (side, terms)]
            factor.require_lines(side, terms, others, line, reads_across=of.reads_across)


def is_product(given: Sum, of: Instruction = M16N8K16) -> bool:
    """Are any three of the loops rows, columns and terms?"""
    return any(_holds(given, Unified(*three), of) for three in itertools.permutations(range(len(given.loops)), 3))


def _holds(given: Sum, found: Unified, of: Instruction) -> bool:
    try:
        require(given, found, of)
    except (AssertionError, ValueError):  # of sets that have not the one element that they are to have
        return False
    return True


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

    def require_lines(self, side: str, terms: str, others: Sequence[str], line: int, *, reads_across: bool) -> None:
        """Each of the two moves to the next element of its own dimension, one of which is the last one; lines begin
        where it is zero; terms are all of the array's."""
        (of_side,), (of_terms,) = self.steps(side), self.steps(terms)
        (down,), (along,) = ([k for k, by in enumerate(step) if by] for step in (of_side, of_terms))
        last = len(self.shape) - 1
        assert down != along and last in (down, along)
        assert along == last or reads_across
        assert of_side[down] == of_terms[along] == 1
        assert not any(step[last] % line for name in others for step in self.steps(name))
        assert not any(self.at({**each, side: 0, terms: 0})[last] % line for each in self.every)
        runs: dict[Any, set[int]] = {}
        for each in self.every:
            runs.setdefault(without(each, (terms,)), set()).add(self.at(each)[along])
        assert all(run == set(range(self.shape[along])) for run in runs.values())


def at(subscripts: str, values: Instance) -> tuple[int, ...]:
    return eval(_code(subscripts), {}, values)


@cache
def _code(subscripts: str) -> CodeType:
    return compile(f"({subscripts},)", "subscripts", "eval")


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


def random_convolution(rng: random.Random) -> Sum:
    """Of images in any layout, over taps of any strides and dilations."""
    taps, (down, right), dilated = rng.choice((1, 2, 3)), rng.choices((1, 1, 2), k=2), rng.choice((1, 1, 2))
    space = [("y", "n"), ("x", "p"), ("o", "m")] if rng.random() < 0.5 else [("y", "p"), ("x", "n"), ("o", "m")]
    size, reach = dict(space), dilated * (taps - 1)
    terms = [("r", str(taps)), ("s", str(taps)), ("c", "l")]
    rng.shuffle(space), rng.shuffle(terms)
    data = [
        (f"{down}*y + {dilated}*r", f"{down}*{size['y']} + {reach}"),
        (f"{right}*x + {dilated}*s", f"{right}*{size['x']} + {reach}"),
    ]
    weight = [("r", str(taps)), ("s", str(taps))]
    factors = []
    for own, ends in ((data, [("c", "l")]), (weight, [("c", "l"), ("o", "m")])):
        ends = rng.sample(ends, len(ends))
        factors.append([*own, *ends] if rng.random() < 0.7 else [*ends[:1], *own, *ends[1:]])
    result = rng.sample(space, 3)
    parts = [[", ".join(side) for side in zip(*dims, strict=True)] for dims in (result, *factors)]
    subscripts, shapes = zip(*parts, strict=True)
    return Sum(*subscripts, (*space, *terms), *shapes)


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


