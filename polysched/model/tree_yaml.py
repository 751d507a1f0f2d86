"""Schedule trees as YAML in isl's syntax, which PPCG and isl's own tools read and write.

    domain: "[n] -> { S[i] : 0 <= i < n }"
    child:
      schedule: "[n] -> [{ S[i] -> [(i)] }]"
      permutable: 1
      coincident: [ 1 ]

Reading goes through PyYAML: isl's own reader crashes on malformed input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import yaml

from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Context, Domain, Extension, Filter, InOrder, Leaf, Member, Set, Tree
from polysched.model.tree.to_isl import parse_mark, to_isl, with_mark
from polysched.support import isl
from polysched.support.entry import entry

T = TypeVar("T")


def to_yaml(tree: Tree) -> str:
    """The tree in isl's YAML, one property a line."""
    printer = isl.Printer.to_str(isl.DEFAULT_CONTEXT).set_yaml_style(_BLOCK)
    return printer.print_schedule(to_isl(tree)).get_str()


@entry
def from_yaml(text: str) -> Tree:
    """The tree that a text in isl's YAML describes; InputError that says what is wrong with it."""
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"not YAML: {error}") from error
    try:
        tree = _node(data)
    except RecursionError as error:
        raise InputError("the nodes of the schedule tree have no end, or are too deep") from error
    if not isinstance(tree, Domain):
        raise InputError("a schedule tree starts with a 'domain'")
    return tree


_BLOCK = 0  # ISL_YAML_STYLE_BLOCK
_KINDS = ("domain", "context", "schedule", "filter", "sequence", "set", "mark", "extension")
_BAND_KEYS = {"permutable", "coincident", "options"}


def _node(data: Any) -> Tree:
    """One node; the keys beside its kind are its child and, for a band, its flags."""
    if data is None:
        return Leaf()
    kinds = [kind for kind in _KINDS if isinstance(data, dict) and kind in data]
    if len(kinds) != 1:
        raise InputError(f"a node of a schedule tree has one of the keys {', '.join(_KINDS)}, but this is: {data}")
    (kind,) = kinds
    value, child = data[kind], _node(data.get("child"))
    unknown = set(data) - {kind, "child"} - (_BAND_KEYS if kind == "schedule" else set())
    if unknown:
        raise InputError(f"unknown key '{min(map(str, unknown))}' beside '{kind}' in a schedule tree")
    match kind:
        case "domain":
            return Domain(_parsed(isl.UnionSet, value), child)
        case "context":
            return Context(_parsed(isl.Set, value).params(), child)
        case "schedule":
            return _band(data, child)
        case "filter":
            return Filter(_parsed(isl.UnionSet, value), child)
        case "sequence" | "set":
            branches = tuple(map(_node, value if isinstance(value, list) else [value]))
            filters = tuple(branch for branch in branches if isinstance(branch, Filter))
            if len(filters) < len(branches):
                raise InputError(f"the children of a '{kind}' are a list of 'filter' nodes")
            return InOrder(filters) if kind == "sequence" else Set(filters)
        case "mark":
            return with_mark(parse_mark(str(value)), child)
        case "extension":
            return Extension(_parsed(isl.UnionMap, value), child)
    raise AssertionError(kind)


def _band(data: dict[str, Any], child: Tree) -> Band:
    schedule = _parsed(isl.MultiUnionPwAff, data["schedule"])
    size = schedule.dim(isl.dim_type.set)
    flags = data.get("coincident", [0] * size)
    if not isinstance(flags, list) or len(flags) != size:
        raise InputError(f"'coincident' needs one flag for each of the {size} members of the band, but is {flags}")
    members = (Member(isl.UnionMap.from_union_pw_aff(schedule.get_at(k)), bool(flag)) for k, flag in enumerate(flags))
    return Band(tuple(members), bool(data.get("permutable", 0)), child)


def _parsed(kind: Callable[[str], T], text: Any) -> T:
    try:
        return kind(str(text))
    except isl.Error as error:
        if isl.is_exhausted():
            raise
        raise InputError(f"isl cannot read '{text}' as a {getattr(kind, '__name__', kind)}") from error
