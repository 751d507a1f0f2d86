"""Pictures of schedules: the iterations of a nest as one tree or several order them.

    plot(scop, dependences, {"source order": scop.tree, "skewed": tree}).savefig("skewed.png")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from polysched.deps.dependences import Dependences
from polysched.errors import InputError
from polysched.ir.text import in_words
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Tree
from polysched.plot.figure import figure
from polysched.plot.scene import Scene, scene
from polysched.plot.small import Drawn, drawn, with_small_tiles

Before = bool | Literal["both"]


def plot(
    scop: Scop,
    dependences: Dependences,
    trees: Mapping[str, Tree],
    *,
    sizes: Mapping[str, int] | None = None,
    statements: Sequence[str] | None = None,
) -> Any:
    """A matplotlib Figure of the statements, or of all, as each tree orders them, under its title.

    Without sizes, small ones are taken, and larger tiles are drawn smaller than they are. InputError for statements or
    sizes that the nest has not, or too large ones; PolyschedError if matplotlib is missing.
    """
    return figure(scenes(scop, dependences, trees, sizes=sizes, statements=statements))


def titled(source: Tree, tree: Tree, before: Before) -> dict[str, Tree]:
    """The trees to draw: the source order, the other, or "both"."""
    match before:
        case "both":
            return {"before": source, "after": tree}
        case True:
            return {"before": source}
        case False:
            return {"after": tree}
    raise InputError(f"before is True, False or 'both', not {before!r}")


def scenes(
    scop: Scop,
    dependences: Dependences,
    trees: Mapping[str, Tree],
    *,
    sizes: Mapping[str, int] | None = None,
    statements: Sequence[str] | None = None,
) -> list[tuple[str, Scene]]:
    """What `plot` draws, under its titles."""
    chosen = _chosen(scop, statements)
    instances = drawn(scop, chosen, sizes)
    found = []
    for title, tree in trees.items():
        small, changed = with_small_tiles(tree, chosen) if sizes is None else (tree, {})
        about = scene(scop, dependences, small, instances, _notes(instances, changed))
        found.append((title, about))
    return found


def _chosen(scop: Scop, names: Sequence[str] | None) -> tuple[Statement, ...]:
    known = [statement.name for statement in scop.statements]
    for name in names or ():
        if name not in known:
            raise InputError(f"'{scop.name}' has no statement '{name}'", hint=f"it has: {', '.join(known)}")
    return tuple(each for each in scop.statements if names is None or each.name in names)


def _notes(instances: Drawn, changed: Mapping[int, int]) -> tuple[str, ...]:
    """What is not as the program has it."""
    notes = [f"drawn for {in_words(instances.sizes)}"] if instances.sizes else []
    if instances.is_cut:
        notes.append("only the first iterations of long loops are drawn")
    fixed: dict[str, list[str]] = {}
    for statement, some in instances.fixed.items():
        if some:
            fixed.setdefault(in_words(some), []).append(statement)
    notes += [f"{', '.join(names)}: only iterations with {values} are drawn" for values, names in fixed.items()]
    if changed:
        small = " and ".join(map(str, sorted(set(changed.values()))))
        notes.append(f"tiles are drawn {small} wide instead of {', '.join(map(str, sorted(changed)))}")
    return tuple(notes)
