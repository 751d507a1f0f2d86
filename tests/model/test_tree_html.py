"""polysched/model/tree/html.py: the text of a tree, in colours."""

from __future__ import annotations

import re
from html import unescape

from nests import gemm, stencil2

import polysched as ps
from polysched.model.tree.html import tree_html
from polysched.model.tree.text import show_tree


def test_the_parts_of_a_tree_have_colours():
    html = str(tree_html(ps.Schedule(stencil2(margin=1)).parallel("j").tree))
    found = re.findall(r'<span style="color:var\(--(\w+),#\w+\)[^>]*>([^<]*)</span>', html)
    assert found == [
        ("quiet", "domain:"),
        ("quiet", "  context:"),
        ("quiet", "    band:"),
        ("loop", "      i: "),
        ("quiet", "      mark:"),
        ("mark", "parallel"),
        ("quiet", "        band:"),
        ("loop", "          j: "),
        ("good", " coincident"),
    ]


def test_the_text_is_that_of_the_tree():
    tree = ps.optimize(gemm()).tree
    html = tree._repr_html_()
    inside = html.removeprefix(html[: html.index(">") + 1]).removesuffix("</pre>")
    assert unescape(re.sub("<[^>]*>", "", inside)) == show_tree(tree, names=True)
    assert "0 &lt;= i &lt; ni" in html
