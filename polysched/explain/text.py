"""What `explain` says, put together: the loops of the source, then what the schedule made of them."""

from __future__ import annotations

from collections.abc import Iterator

from polysched.deps.dataflow import dependences
from polysched.deps.dependences import Dependences
from polysched.explain.bands import band_lines
from polysched.explain.loops import Nest
from polysched.explain.mapped import mapped_lines
from polysched.explain.source import source_lines
from polysched.ir.nodes import Stmt
from polysched.model.extract import extract
from polysched.model.lines import statements_at
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Tree, marks_in, walk
from polysched.support import isl
from polysched.transform.edits.base.loops import nested


def explain(
    scop: Scop, deps: Dependences, tree: Tree, *, found: str = "", mapped: Tree | None = None, line: int | None = None
) -> str:
    """What each loop of the source is good for, then each of `tree`, and what became of these in `mapped`.

    `found` says where `tree` comes from. A tree with marks is that of the kernel itself, if no other is given.
    With `line`, only the loops around the statements of that line of the source, or in the loop there; InputError if
    there are none.
    """
    nest = Nest(scop=scop, dependences=deps, chosen=statements_at(scop, line))
    source = _source(nest, line)
    lines = [*(f"taken on trust: {claim}" for claim in deps.trusted), *_left_out(nest), "in the source"]
    lines += (f"  {text}" for text in source_lines(nested(source.scop.tree), source))
    if found or nested(tree) != nested(scop.tree):
        lines.append(f"in the schedule{f' ({found})' if found else ''}")
        lines += (f"  {text}" for text in band_lines(tree, nest))
        mapped = tree if mapped is None else mapped
        if mapped != tree or marks_in(mapped):
            lines.append("in the kernel")
            lines += (f"  {text}" for text in mapped_lines(mapped, nest))
    return "\n".join(lines)


def _left_out(nest: Nest) -> Iterator[str]:
    """The instances that store in vain."""
    living = {s.name: s.domain for s in nest.scop.statements}
    for dead in nest.scop.dead:
        if dead.name in nest.chosen:
            at, rest = f", line {dead.loc.line}" if dead.loc else "", ""
            if dead.name in living:
                left = living[dead.name].gist(living[dead.name].union(dead.domain))
                rest = f" but for {str(left).rpartition(' -> ')[2]}"
            yield f"left out: {dead.name}{rest}{at}: nothing reads what it stores"


def _source(nest: Nest, line: int | None) -> Nest:
    """The nest before edits that added statements to it, or changed their reference order."""
    original = extract(nest.scop.function)
    if _loops(original.tree) == _loops(nest.scop.tree) and _bodies(original) == _bodies(nest.scop):
        return nest
    free = nest.dependences.reorder_reductions
    found = dependences(original, reorder_reductions=free)
    return Nest(scop=original, dependences=found, chosen=statements_at(original, line))


def _loops(tree: Tree) -> list[isl.UnionMap]:
    return [member.schedule for node in walk(tree) if isinstance(node, Band) for member in node.members]


def _bodies(scop: Scop) -> list[tuple[Stmt, ...]]:
    return [statement.body for statement in scop.statements]
