"""Rows on blocks, as edits: a row each, or several where products have the same ones.

    sequence                                          band: i  block.y; j_b  block.x           32 rows a block
      filter: S1   s[i, j, l] += q[i, j, m]             sequence
        band: i, j, l, m         * k[i, l, m]             filter: S1
      filter: S4   x[i, j] = max(x[i, j],                   band: l_b; j_t  thread.y; l_t  thread.x; m_c, m; j, l
        band: i_2, j_2, l_2        s[i, j, l])   ->       filter: S4
      filter: S12  o[i, j, l] += s[i, j, m]                 band: j_2_t  thread.y; j_2; l_2  thread.x
        band: i_3, j_3, l_3, m_3 * v[i, m, l]             filter: S12
                                                            band: l_3_b; j_3_t  thread.y; l_3_t  thread.x; ...

    .tile("j", sizes=(32,), names=("j_b",)) ... .fuse("i", "i_2", "i_3").fuse("j_b", "j_2_b", "j_3_b")
    .tile("j", sizes=(4,), names=("j_t",)).tile("l", sizes=(128,), names=("l_b",)) ...

A warp goes along a row, and along the columns of four rows of a product; what the parts hand each other is in shared
memory, after a barrier (`codegen/memory/block_arrays.py`). This is attention with its rows of scores in shared memory,
the first step to Dao et al., FlashAttention, NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise

from polysched.config.heuristics import gpu as rules
from polysched.config.target import LIMITS
from polysched.deps.reaching import names_in
from polysched.model.tree.nodes import InOrder, Member
from polysched.strategy.row_blocks.find import Part, row_block
from polysched.strategy.rows.blocks import BLOCKS, join_lanes, on_blocks
from polysched.strategy.rows.fuse import rows_to_fuse
from polysched.strategy.rows.lanes import lanes_of
from polysched.strategy.script import Script, names_of
from polysched.strategy.tiles import extent
from polysched.transform.edits.base.loops import loop, loops
from polysched.transform.trees.fusion import lanes_to_join


def rows_on_blocks(script: Script) -> None:
    """Each as one kernel, with products of the same rows, or else if there is more to it than one sum."""
    tree, scop, dependences = script.tree, script.scop, script.dependences
    for found in list(rows_to_fuse(tree, scop, dependences)):
        if len(found.members) <= len(BLOCKS):
            parts = row_block(found, tree, scop, dependences)
            if parts is None or not _pays(script, parts) or not _with_products(script, parts):
                on_blocks(script, found)


def _pays(script: Script, parts: Sequence[Part]) -> bool:
    """Do the rows cost little to compute, as against storing them? So they do where the first product has few terms;
    where nobody knows, products of several matrices, as those of heads, are taken for such."""
    terms = [nest.inner[1] for part in parts if part.is_product for nest in part.nests if len(nest.inner) > 1]
    length = extent(terms[0], script.scop.domain)
    return len(parts[0].nests[0].members) > 1 if length is None else length <= rules.ROW_TERMS


def _with_products(script: Script, parts: Sequence[Part]) -> bool:
    """Are they one kernel now?"""
    (first, *_) = script.in_order(nest.members[0].name for part in parts for nest in part.nests)
    if not script.says(f"fuse_products.{first}", "what a block of rows needs stays in shared memory"):
        return False
    return bool(script.attempt(f"blocks of rows of {first}", lambda: _written(script, parts)))


def _written(script: Script, parts: Sequence[Part]) -> bool:
    nests = [nest for part in parts for nest in part.nests]
    for nest in nests:
        script.reorder(names_of([*nest.members, *nest.inner]))
    rows = list(zip(*(names_of(nest.members) for nest in nests), strict=True))
    (row, *_) = script.in_order(rows[-1])
    why = "of a block, which share what products read"
    size = script.pick(f"rows.{row}", rules.ROWS, rules.ROWS_TRIED, why) or 1
    blocks = [script.block(name, size, "b") for name in rows[-1]]
    on_axes = []
    for alike in (*rows[:-1], blocks):
        names = script.in_order(alike)
        script.do("fuse", *names)
        on_axes.append(names[0])
    for part in parts:
        if part.is_product:
            _product(script, part)
        else:
            _along_rows(script, part)
    for axis, name in zip(BLOCKS, reversed(on_axes), strict=False):
        script.do("bind", name, axis)
    return True


def _product(script: Script, part: Part) -> None:
    """A warp along the columns of a few rows, in chunks of its terms."""
    rows = _as_one(script, (nest.members[-1] for nest in part.nests))
    columns = _as_one(script, (nest.inner[0] for nest in part.nests))
    ((_, term),) = (names_of(nest.inner) for nest in part.nests if len(nest.inner) > 1)
    column = next(nest.inner[0] for nest in part.nests if nest.inner[0].name == columns)
    points = _points(script, column)
    on_y = script.block(rows, rules.ROW_POINTS, "t")
    turn = script.block(columns, LIMITS.warp * points, "b")
    on_x = script.block(columns, points, "t")
    chunk = script.block(term, rules.CHUNK, "c")
    script.reorder([turn, on_y, on_x, rows, columns])
    around = (on_y, on_x, turn, chunk, term)
    ordered = _branches(script, columns)
    for branch in reversed(ordered[1:]):
        script.do("distribute", rows, before=min(branch))
    on_points = []
    for branch in ordered:
        own = [each.name for each in loops(script.draft.nested) if {*each.statements} <= branch]
        own = [name for name in own if name not in around]
        if any(each.name == term and {*each.statements} <= branch for each in loops(script.draft.nested)):
            script.reorder([chunk, term, *own])
        on_points += own
    for name, axis in ((on_x, "thread.x"), (on_y, "thread.y")):
        script.do("bind", name, axis)
    for name in on_points:
        script.do("unroll", name)


def _along_rows(script: Script, part: Part) -> None:
    """A warp along each row."""
    rows = _as_one(script, (nest.members[-1] for nest in part.nests))
    lanes = partial(lanes_of, script, part.names, [rows])
    names = [each.name for each in lanes()]
    join_lanes(script, lambda: lanes_to_join(script.tree, script.scop, script.dependences, names))
    on_x = [each.name for each in lanes()]
    within = {name for each in lanes() for name in each.statements}
    branches = _branches(script, rows)
    for before, branch in reversed(list(pairwise(branches))):
        if not within.isdisjoint(before | branch):
            script.do("distribute", rows, before=min(branch))
    of_part = [each for each in loops(script.draft.nested) if {*each.statements} <= part.names]
    for name in [each.name for each in of_part if each.name not in on_x]:
        script.do("bind", script.block(name, rules.ROW_POINTS, "t"), "thread.y")
    for name in on_x:
        script.do("bind", name, "thread.x", threads=LIMITS.warp)


def _as_one(script: Script, members: Iterable[Member]) -> str:
    """The name of the one loop that these are now."""
    names = script.in_order(member.name for member in members)
    if len(names) > 1:
        script.do("fuse", *names)
    return names[0]


def _branches(script: Script, name: str) -> list[set[str]]:
    """The statements of each branch of the sequence inside of the loop; of all, if there is none."""
    place = loop(script.draft.nested, name)
    inside = place.band.child
    if not isinstance(inside, InOrder):
        return [{*place.statements}]
    return [names_in(branch.filter) for branch in inside.children]


def _points(script: Script, column: Member) -> int:
    """Of a thread, along the columns, which its warp has all at once where that many are known."""
    length, few = extent(column, script.scop.domain), rules.FEW_COLUMN_POINTS
    return few if length is not None and length <= LIMITS.warp * few else rules.COLUMN_POINTS
