"""The two-loop stencil of the walk-through (acceptance B), by hand, to look at one stage of the solver at a time."""

from __future__ import annotations

import numpy as np

from polysched.deps.dependences import Dependence, Dependences
from polysched.solve.cost import Form
from polysched.solve.farkas import Edge, edges
from polysched.support import isl
from tests.scops import scop, stmt

MODEL = scop(
    "[N] -> { : N >= 1 }",
    stmt(
        "{ S[i, j] : 0 <= i < N and 0 <= j < N }", writes="a[i + 1, j]", reads=["a[i, j + 1]", "a[i, j]", "a[i, j - 1]"]
    ),
)
DISTANCES = [(1, 1), (1, 0), (1, -1)]


def flow(relation: str, source: str = "S", sink: str = "S") -> Dependence:
    return Dependence(kind="flow", source=source, sink=sink, array="a", relation=isl.Map(relation))


def stencil_edges() -> tuple[Edge, ...]:
    """One per read, of distances (1, 1), (1, 0), (1, -1)."""
    inside = "0 <= i < N and 0 <= j < N and 0 <= i' < N and 0 <= j' < N"
    texts = (f"[N] -> {{ S[i, j] -> S[i', j'] : i' = i + {a} and j' = j + {b} and {inside} }}" for a, b in DISTANCES)
    return edges(MODEL, Dependences(tuple(map(flow, texts))))


def stencil_form(*, signed: bool = False) -> Form:
    return Form(sizes=("N",), iterators={"S": ("i", "j")}, signs={"S": np.array([1, 1])}, signed=signed)
