"""The loops of a kernel in one line each: which are over tiles, on threads, SIMD, unrolled.

    floor((i - j)/512) + floor((i + j)/512): wavefronts of tiles
      floor((i + j)/512): tiles, on threads
        i
          i + j: SIMD
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from polysched.deps.reaching import Reaching, below, between, within
from polysched.explain.loops import Nest
from polysched.model.loop_names import named
from polysched.model.tree.nodes import (
    Band,
    Concurrent,
    InOrder,
    Map,
    Mark,
    MarkValue,
    Member,
    Parallel,
    Prefetch,
    Product,
    Serial,
    Set,
    Tensor,
    Tree,
    Unroll,
    Vector,
    children,
    is_innermost,
    kind_of,
    mark_of,
    own_marks,
    with_children,
    with_marks,
)
from polysched.model.tree.text import member_text
from polysched.model.tree.to_isl import mark_text
from polysched.support import isl
from polysched.support.trace import Declined


def as_it_runs(tree: Tree, declined: Collection[Declined]) -> Tree:
    """The tree without the marks that its kernel does not follow."""
    lost = {(each.loop, each.mark) for each in declined}

    def visit(node: Tree) -> Tree:
        node = with_children(node, tuple(map(visit, children(node))))
        if not isinstance(node, Band) or not own_marks(node):
            return node
        first = node.members[0]
        return with_marks(node, tuple(mark for mark in first.marks if (first.name, kind_of(mark)) not in lost))

    return visit(named(tree)) if lost else tree


def mapped_lines(tree: Tree, nest: Nest) -> Iterator[str]:
    """A line for each loop of a tree with marks."""
    yield from _lines(tree, nest, nest.reaching, None)


def _lines(tree: Tree, nest: Nest, reaching: Reaching, mark: MarkValue | None) -> Iterator[str]:
    match tree:
        case Band(members=members) if product := mark_of(tree, Product):
            how = "of packed matrices" if product.kind == "packed" else "of rows and columns, a sum for each lane"
            yield f"{', '.join(map(_what, members))}: products {how}"
        case Band(members=members, child=child):
            ahead = [own for own in own_marks(tree) if isinstance(own, Prefetch)]
            *others, mark = [own for own in own_marks(tree) if own not in ahead] or (mark,)
            yield from map(mark_text, others)
            for k, member in enumerate(members):
                indent = "  " * k
                own = mark if k == 0 else None
                notes = [*_notes(member, own)]
                notes += [f"{each.array} fetched {each.ahead} iterations ahead" for each in ahead if k == 0]
                last = k == len(members) - 1 and is_innermost(tree)
                if last and not isinstance(own, Concurrent | Unroll):
                    carried = between(within(reaching, members[:k]), member)
                    names = dict.fromkeys(f"{d.kind} on {d.array}" for d in carried)
                    notes += [f"not SIMD, it carries {', '.join(names)}"] if carried else []
                yield f"{indent}{_what(member)}{': ' if notes else ''}{', '.join(notes)}"
            inner = _lines(child, nest, within(reaching, members), None)
            yield from ("  " * len(members) + line for line in inner)
        case InOrder(children=branches) | Set(children=branches):
            for branch in branches:
                if nest.tells(branch.filter):
                    yield ", ".join(s.get_tuple_name() or "" for s in isl.sets_of(branch.filter))
                    inner = _lines(branch.child, nest, below(branch, reaching), None)
                    yield from (f"  {line}" for line in inner)
        case Mark(mark=value, child=child):
            if not isinstance(child, Band) or own_marks(child):
                yield mark_text(value)
            yield from _lines(child, nest, reaching, value)
        case _:
            for child in children(tree):
                yield from _lines(child, nest, reaching, mark)


def _what(member: Member) -> str:
    """What the loop counts, for the first statement in it."""
    first = isl.maps_of(member.schedule)[0]
    return re.sub(r"\((\w+)\)", r"\1", member_text(first).partition(" -> ")[2])


def _notes(member: Member, mark: MarkValue | None) -> Iterator[str]:
    if member.rounds and isinstance(mark, Parallel | None):
        is_sum = " + floor" in _what(member)
        yield "wavefronts of tiles" if is_sum else "tiles"
    match mark:
        case Parallel(reduces=arrays):
            yield "on threads" + _copies(arrays)
        case Vector(reduces=arrays, width=width):
            yield "SIMD" + (f" of {width} lanes" if width else "") + _copies(arrays)
        case Unroll():
            yield "unrolled"
        case Map(axis=axis, reduces=arrays):
            yield f"on {axis}" + _copies(arrays)
        case Serial():
            yield "one after the other"
        case Tensor(instruction=name, stages=stages):
            yield f"with the two loops inside, products by {name}; factors copied {stages - 1} chunks ahead"
        case None:
            pass
        case other:
            yield mark_text(other)


def _copies(arrays: tuple[str, ...]) -> str:
    return f", each with its own {', '.join(arrays)}" if arrays else ""
