"""What `explain` says, put together: the loops of the source, then what the schedule made of them."""

from __future__ import annotations

from collections.abc import Iterator

from polysched import isl
from polysched.deps.dataflow import dependences
from polysched.deps.dependences import Dependences
from polysched.errors import InputError
from polysched.explain.bands import band_lines
from polysched.explain.loops import Nest
from polysched.explain.mapped import mapped_lines
from polysched.explain.source import source_lines
from polysched.ir.node import walk
from polysched.ir.nodes import For, Stmt
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.model.tree import Band, Tree
from polysched.model.tree import walk as walk_tree
from polysched.transform.hand.loops import nested


def explain(
    scop: Scop,
    deps: Dependences,
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
    return "\n".join(_sections(scop, deps, tree, found, mapped, line))


def _sections(
    scop: Scop, deps: Dependences, tree: Tree, found: str, mapped: Tree | None, line: int | None
) -> Iterator[str]:
    nest = Nest(scop=scop, dependences=deps, chosen=_chosen(scop, line))
    source = _source(nest, line)
    yield "in the source"
    yield from (f"  {text}" for text in source_lines(nested(source.scop.tree), source))
    if not found and nested(tree) == nested(scop.tree):
        return
    yield f"in the schedule{f' ({found})' if found else ''}"
    yield from (f"  {text}" for text in band_lines(tree, nest))
    if mapped is not None and mapped != tree:
        yield "in the kernel"
        yield from (f"  {text}" for text in mapped_lines(mapped, nest))


def _source(nest: Nest, line: int | None) -> Nest:
    """The nest before edits that added statements to it, or changed their reference order."""
    original = extract(nest.scop.function)
    if _loops(original.tree) == _loops(nest.scop.tree) and _bodies(original) == _bodies(nest.scop):
        return nest
    free = nest.dependences.reorder_reductions
    found = dependences(original, reorder_reductions=free)
    return Nest(scop=original, dependences=found, chosen=_chosen(original, line))


def _loops(tree: Tree) -> list[isl.UnionMap]:
    return [member.schedule for node in walk_tree(tree) if isinstance(node, Band) for member in node.members]


def _bodies(scop: Scop) -> list[tuple[Stmt, ...]]:
    return [statement.body for statement in scop.statements]


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
