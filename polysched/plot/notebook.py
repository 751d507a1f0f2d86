"""What notebooks show of a schedule: its tree in colors, the order of its iterations, and texts to unfold."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from polysched.deps.dependences import Dependences
from polysched.errors import PolyschedError
from polysched.model.scop import Scop
from polysched.model.tree.html import tree_html
from polysched.model.tree.nodes import Tree
from polysched.plot.draw import plot
from polysched.plot.svg import inline_svg
from polysched.support.markup import Html, tag


def notebook_html(
    scop: Scop, dependences: Dependences, trees: Mapping[str, Tree], texts: Mapping[str, str], name: str
) -> Html:
    """The last of the trees, a picture of all, and the texts under their titles; a note where there is no picture."""
    tree = list(trees.values())[-1]
    folded = (tag("details", tag("summary", title), tag("pre", text)) for title, text in texts.items() if text)
    return tag("div", tag("b", name), tree_html(tree), _picture(scop, dependences, trees), *folded)


def _picture(scop: Scop, dependences: Dependences, trees: Mapping[str, Tree]) -> Html:
    unique = sha256("\n".join(map(str, trees.values())).encode()).hexdigest()[:8]  # pages hold several
    try:
        svg = Html(inline_svg(plot(scop, dependences, trees), f"picture-{unique}"))
    except (PolyschedError, ValueError) as error:
        return tag("p", f"no picture: {error}")
    return tag("div", svg, style="overflow-x:auto", tabindex=0, role="region", aria_label="order of iterations")
