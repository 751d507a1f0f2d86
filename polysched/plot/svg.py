"""A figure as SVG to be put into a page: text stays text, and ink and arrows take the page's colors, if it has some.

    figure  ->  <svg ... role="img" aria-label="gemm"><g id="gemm-figure_1"> ...
"""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

from polysched.plot.figure import ARROWS, INK, require_matplotlib

_LEAST = 0.7  # of its width, below which it scrolls


def inline_svg(figure: Any, name: str) -> str:
    """The `<svg>` element; its ids begin with `name`, so that a page can hold several, which is also what it is called
    where it cannot be seen. The same figure gives the same text."""
    text = StringIO()
    with require_matplotlib().rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r" ?<metadata>.*?</metadata>\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(?<=\bid=")', f"{name}-", svg)
    svg = re.sub(r'(?<=href="#)|(?<=url\(#)', f"{name}-", svg)
    svg = svg.replace(INK, "currentColor")
    for kind, (colour, _) in ARROWS.items():
        svg = svg.replace(f" {colour}", f" var(--{kind},{colour})")
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)  # it would be the page's
    svg = re.sub(r" font-family: [^;\"]*;", "", svg)  # the page has its own
    svg = re.sub(r"(\d\.\d\d)\d+", r"\1", svg)
    svg = re.sub(r"\s*\n\s*", " ", svg).replace("> <", ">\n<").strip()
    width = figure.get_figwidth()
    size = f"width:{width:.2f}in;max-width:100%;min-width:{_LEAST * width:.2f}in;height:auto"
    head = f'<svg role="img" aria-label="{name}" style="{size}" '
    return re.sub(r'<svg (.*?)width="[^"]*" height="[^"]*"', rf"{head}\1", svg, count=1)
