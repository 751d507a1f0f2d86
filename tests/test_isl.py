"""polysched/support/isl.py: extremes that are held against their definition."""

from __future__ import annotations

import random
from itertools import product

import pytest

from polysched.support import isl

STRIDED = isl.Set("{ [i, j] : 0 <= i < 9 and 0 <= j <= i and (i + j) mod 3 = 1 }")


def test_an_extreme_is_the_one_of_the_set():
    assert STRIDED.lexmax().is_equal(isl.Set("{ [8, 8] }"))
    assert str(STRIDED.dim_max(0)) == "{ [(8)] }"


def test_a_wrong_answer_is_asked_for_again_of_the_set_as_it_is():
    asked = []

    def lexmax(values):
        asked.append(values)
        return values.lexmax() if len(asked) == 2 else isl.Set("{ [7, 6] }")

    assert isl._proved(lexmax, last=True)(STRIDED).is_equal(isl.Set("{ [8, 8] }"))
    assert asked[1] is STRIDED


@pytest.mark.parametrize(
    "wrong",
    ["{ [7, 6] }", "{ [8, 9] }", "{ [i, j] : false }", "{ [8, 8]; [8, 5] }"],
    ids=["another is later", "it is outside", "it is missing", "there are two"],
)
def test_what_is_wrong_twice_is_an_error(wrong):
    with pytest.raises(isl.Error, match="isl's <lambda> is wrong"):
        isl._proved(lambda values: isl.Set(wrong), last=True)(STRIDED)


def test_a_maximum_that_is_missing_for_some_inputs_is_wrong():
    relation = isl.Map("[n] -> { [i] -> [j] : 0 <= i < n and 0 <= j <= i and j mod 2 = 0 }")
    some = relation.lexmax().intersect_domain(isl.Set("{ [i] : i < 5 }"))
    with pytest.raises(isl.Error, match="is wrong"):
        isl._proved(lambda values: some, last=True)(relation)


@pytest.mark.parametrize("name", ["lexmin", "lexmax"])
def test_extremes_of_unions_are_those_of_each_part(name, monkeypatch):
    parts = [isl.Map(f"{{ {s}[a] -> [i, j] : 0 <= i <= a < 9 and 0 <= j <= i and (i + j) mod 3 = 1 }}") for s in "ST"]
    union, ranges = parts[0].to_union_map().union(parts[1]), isl.UnionSet("{ S[i] : 0 <= i < 9; T[i] : i = 3 }")
    one, other = (getattr(part, name)() for part in parts)
    assert getattr(union, name)().is_equal(one.to_union_map().union(other))
    assert getattr(ranges, name)().is_equal(isl.UnionSet(f"{{ S[{0 if name == 'lexmin' else 8}]; T[3] }}"))
    for kind in (isl.Set, isl.Map):
        monkeypatch.setattr(kind, name, isl._proved(lambda values: values.subtract(values), last=name == "lexmax"))
    for wrong in (union, ranges):
        with pytest.raises(isl.Error, match="is wrong"):
            getattr(wrong, name)()


@pytest.mark.parametrize("seed", range(20))
def test_extremes_of_random_strided_unions_are_those_of_their_points(seed):
    rng = random.Random(seed)
    pieces = [
        f"a <= i < a + {rng.randint(1, 6)} and {rng.randint(-3, 0)} <= j <= i + {rng.randint(-1, 2)}"
        f" and (i + {rng.randint(1, 3)}j + a) mod {rng.randint(2, 4)} = {rng.randint(0, 1)}"
        for _ in range(rng.randint(1, 3))
    ]
    relation = isl.Map("{ [a] -> [i, j] : 0 <= a < 4 and (" + " or ".join(f"({piece})" for piece in pieces) + ") }")
    first, last = relation.lexmin(), relation.lexmax()
    for a in range(4):
        points = [(i, j) for i, j in product(range(10), range(-3, 12)) if _has(relation, a, i, j)]
        for found, extreme in ((first, min), (last, max)):
            images = [(i, j) for i, j in points if _has(found, a, i, j)]
            assert images == ([extreme(points)] if points else [])


def _has(relation: isl.Map, a: int, i: int, j: int) -> bool:
    return not relation.is_disjoint(isl.Map(f"{{ [{a}] -> [{i}, {j}] }}"))
