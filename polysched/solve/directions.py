"""Which iterators count down in the source: there the schedule should go backwards too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from polysched.model.scop import Statement
from polysched.model.tree.nodes import Band, Tree, walk
from polysched.support import isl


def signs(tree: Tree, statements: Iterable[Statement]) -> Mapping[str, np.ndarray]:
    """Per statement, +1 or -1 for each iterator: -1 where the source loop is scheduled by its negation."""
    found = {s.name: np.ones(s.depth, dtype=np.int64) for s in statements}
    for node in walk(tree):
        for member in node.members if isinstance(node, Band) else ():
            for function in isl.maps_of(member.schedule):
                name = function.get_tuple_name(isl.dim_type.in_)
                for k in _falling(function):
                    found[name][k] = -1
    return found


def _falling(function: isl.Map) -> list[int]:
    """The iterators with a negative factor in { S[i, j] -> [...] }, if that is one affine function."""
    pieces: list[isl.Aff] = []
    isl.PwMultiAff.from_map(function).get_at(0).foreach_piece(lambda _, affine: pieces.append(affine))
    if len(pieces) != 1:
        return []
    count = pieces[0].dim(isl.dim_type.in_)
    return [k for k in range(count) if pieces[0].get_coefficient_val(isl.dim_type.in_, k).is_neg()]
