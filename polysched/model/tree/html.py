"""A schedule tree as colored HTML: the text of `show_tree`, which a page or a notebook shows.

Colors are those of the page if it sets them, and can be read on light and on dark paper if it does not.
"""

from __future__ import annotations

import re

from polysched.model.tree.nodes import Tree
from polysched.model.tree.text import show_tree
from polysched.support.markup import Html, joined, spans, tag

_NODES = "domain|context|band|filter|sequence|set|mark|extension"
_STYLES = {
    "node": "color:var(--quiet,#6f767d)",
    "loop": "color:var(--loop,#2b77c7);font-weight:600",
    "good": "color:var(--good,#27864b);font-weight:600",
    "mark": "color:var(--mark,#b25f2a);font-weight:600",
}
_TOKENS = re.compile(
    rf"(?P<mark>(?<=mark: ).+)|(?P<node>^ *(?:{_NODES})\b:?)|(?P<good>\bpermutable$| coincident$)"
    r"|(?P<loop>^ *[^\[\]{}:]+: (?=\[))"
)


def tree_html(tree: Tree, title: str = "schedule tree") -> Html:
    """The `<pre>` element with the tree, which keys can scroll."""
    text = show_tree(tree, names=True).split("\n")
    lines = (spans(line, _TOKENS, lambda kind: {"style": _STYLES[kind]}) for line in text)
    how = {"class_": "tree", "style": "line-height:1.35;overflow-x:auto", "role": "region", "aria_label": title}
    return tag("pre", joined(*lines, separator="\n"), tabindex=0, **how)


Tree._repr_html_ = tree_html  # type: ignore[attr-defined]  # in notebooks; nodes.py cannot import this module
