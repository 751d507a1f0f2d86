"""What `explain` says, put together: the loops of the source, then what the schedule made of them."""

from __future__ import annotations

from collections.abc import Iterator

from polysched.deps.dependences import Dependences
from polysched.errors import InputError
from polysched.explain.bands import band_lines
from polysched.explain.loops import Nest
from polysched.explain.mapped import mapped_lines
from polysched.explain.source import source_lines
from polysched.ir.node import walk
from polysched.ir.nodes import For, Stmt
from polysched.model.scop import Scop
from polysched.model.tree import Tree
from polysched.transform.hand.loops import nested


def explain(
    scop: Scop,
    dependences: Dependences,
    tree: Tree,
    *,
    found: str = "",
    mapped: Tree | None = None,
    line: int | None = None,
) -> str:
    """What each loop of the source is good for, then each of `tree`, and what became of these in `mapped`.

    `found` says where `tree` comes from. With `line`, only the loops around the statements of that line of the source,
    or in the loop there; InputError if there are none.
    """
    return "\n".join(_sections(scop, dependences, tree, found, mapped, line))


def _sections(
    scop: Scop, dependences: Dependences, tree: Tree, found: str, mapped: Tree | None, line: int | None
) -> Iterator[str]:
    nest = Nest(scop=scop, dependences=dependences, chosen=_chosen(scop, line))
    yield "in the source"
    yield from (f"  {text}" for text in source_lines(nested(scop.tree), nest))
    if not found and nested(tree) == nested(scop.tree):
        return
    yield f"in the schedule{f' ({found})' if found else ''}"
    yield from (f"  {text}" for text in band_lines(tree, nest))
    if mapped is not None and mapped != tree:
        yield "in the kernel"
        yield from (f"  {text}" for text in mapped_lines(mapped, nest))


def _chosen(scop: Scop, line: int | None) -> frozenset[str]:
    """The statements of the line, or in the loop there; all without a line."""
    if line is None:
        return frozenset(s.name for s in scop.statements)
    loops = [node for node in walk(scop.function.body) if isinstance(node, For) and _is_at(node, line)]
    inside = {id(node) for loop in loops for node in walk(loop.body)}
    chosen = frozenset(
        s.name
        for s in scop.statements
        if any(isinstance(node, Stmt) and (_is_at(node, line) or id(node) in inside) for node in walk(s.body))
    )
    if not chosen:
        lines = ", ".join(dict.fromkeys(str(s.loc.line) for s in scop.statements if s.loc))
        raise InputError(f"line {line} has no loop or statement of '{scop.name}'", hint=f"there are: {lines}")
    return chosen


def _is_at(stmt: Stmt, line: int) -> bool:
    return stmt.loc is not None and stmt.loc.line == line
