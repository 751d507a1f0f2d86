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
    InOrder,
    Leaf,
    Mark,
    Set,
    Tree,
    children,
    own_marks,
    word,
)
from polysched.model.tree.to_isl import mark_text
from polysched.support import isl
from polysched.support.brief import brief


def show_tree(tree: Tree, *, names: bool = False) -> str:
    """The tree as indented text, with the names of its loops if asked for; equal trees give equal text."""
    return "\n".join(_lines(tree, names, isl.UnionSet("{ }")))


def _lines(tree: Tree, names: bool, instances: isl.UnionSet) -> list[str]:
    """`instances` are those that reach the node."""
    inside = "  "
    match tree:
        case Leaf():
            return []
        case Domain(domain=instances):
            own = [f"domain: {_body(instances)}"]
        case Context(context=context):
            own = [f"context: {_strip(str(context))}"]
        case Band():
            marks = own_marks(tree)
            indent, inside = "  " * len(marks), "  " * (len(marks) + 1)
            own = [f"{'  ' * k}mark: {mark_text(mark)}" for k, mark in enumerate(marks)] + _band(tree, indent, names)
        case Filter(filter=filter):
            own = [f"filter: {_passing(filter, instances)}"]
            instances = instances.intersect(filter)
        case InOrder() | Set():
            own = [word(tree)]
        case Mark(mark=mark):
            own = [f"mark: {mark_text(mark)}"]
        case Extension(extension=extension):
            own = [f"extension: {_strip(str(extension))}"]
        case _:
            raise AssertionError(f"unknown tree node {type(tree).__name__}")
    return own + [f"{inside}{line}" for child in children(tree) for line in _lines(child, names, instances)]


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
