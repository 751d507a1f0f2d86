"""A schedule tree as text, statements by name, one node a line.

    domain: { S[i, j] : 0 <= i < N and 0 <= j < N }
      band: permutable
        S[i, j] -> i      coincident
        S[i, j] -> i + j
        ...
"""

from __future__ import annotations

from polysched.model.tree.nodes import (
    Band,
    Context,
    Domain,
    Extension,
    Filter,
    Leaf,
    Mark,
    Sequence,
    Set,
    Tree,
    own_marks,
)
from polysched.model.tree.to_isl import mark_text
from polysched.support import isl
from polysched.support.brief import brief


def show_tree(tree: Tree, *, names: bool = False) -> str:
    """The tree as indented text, with the names of its loops if asked for; equal trees give equal text."""
    return "\n".join(_lines(tree, 0, names, isl.UnionSet("{ }")))


def _lines(tree: Tree, depth: int, names: bool, instances: isl.UnionSet) -> list[str]:
    """`instances` are those that reach the node."""
    indent = "  " * depth
    match tree:
        case Leaf():
            return []
        case Domain(domain=domain, child=child):
            return [f"{indent}domain: {_body(domain)}", *_lines(child, depth + 1, names, domain)]
        case Context(context=context, child=child):
            return [f"{indent}context: {_strip(str(context))}", *_lines(child, depth + 1, names, instances)]
        case Band(child=child):
            marks = [f"{'  ' * (depth + k)}mark: {mark_text(mark)}" for k, mark in enumerate(own_marks(tree))]
            depth += len(marks)
            return [*marks, *_band(tree, "  " * depth, names), *_lines(child, depth + 1, names, instances)]
        case Filter(filter=filter, child=child):
            below = _lines(child, depth + 1, names, instances.intersect(filter))
            return [f"{indent}filter: {_passing(filter, instances)}", *below]
        case Sequence(children=children) | Set(children=children):
            head = "sequence" if isinstance(tree, Sequence) else "set"
            below = [line for branch in children for line in _lines(branch, depth + 1, names, instances)]
            return [f"{indent}{head}", *below]
        case Mark(mark=mark, child=child):
            return [f"{indent}mark: {mark_text(mark)}", *_lines(child, depth + 1, names, instances)]
        case Extension(extension=extension, child=child):
            return [f"{indent}extension: {_strip(str(extension))}", *_lines(child, depth + 1, names, instances)]
    raise AssertionError(f"unknown tree node {type(tree).__name__}")


def _passing(filter: isl.UnionSet, instances: isl.UnionSet) -> str:
    """The statements that pass, with a condition where only some of the instances do."""
    whole, parts = [], []
    for passing in isl.sets_of(filter):
        name, arriving = passing.get_tuple_name() or "", instances.extract_set(passing.get_space())
        if arriving.is_subset(passing):
            whole.append(name)
        else:
            parts.append(_body(isl.UnionSet.from_set(passing.gist(arriving).coalesce()))[2:-2])
    return "; ".join([", ".join(whole), *parts] if whole else parts)


def _band(band: Band, indent: str, names: bool) -> list[str]:
    flag = " permutable" if band.permutable and len(band.members) > 1 else ""
    rows = []
    for member in band.members:
        parts = [member_text(m) for m in isl.maps_of(member.schedule)]
        name = f"{member.name}: " if names and member.name else ""
        rows.append(f"{indent}  {name}[{'; '.join(parts)}]{' coincident' if member.coincident else ''}")
    return [f"{indent}band:{flag}", *rows]


def member_text(function: isl.Map) -> str:
    """One statement's schedule function, as `S[i, j] -> i + j`."""
    text = _strip(str(isl.PwMultiAff.from_map(function)))
    inside = text.removeprefix("{").removesuffix("}").strip()
    source, _, value = inside.partition(" -> ")
    return f"{source} -> {value.removeprefix('[').partition(']')[0].removeprefix('(').removesuffix(')')}"


def _body(domain: isl.UnionSet) -> str:
    bodies = [_strip(str(s)).removeprefix("{").removesuffix("}").strip() for s in isl.sets_of(domain)]
    return "{ " + "; ".join(bodies) + " }"


# `str(tree)` and f-strings give the text, `repr` its beginning; nodes.py cannot import this module.
Tree.__str__ = show_tree  # type: ignore[method-assign,assignment]
Tree.__repr__ = lambda tree: brief(tree, str(tree))  # type: ignore[method-assign]


def _strip(text: str) -> str:
    """isl's text without its `[n] -> ` prefix of parameters, and with single spaces."""
    body = text.partition("] -> {")[2]
    return " ".join(("{" + body if text.startswith("[") and body else text).split())
