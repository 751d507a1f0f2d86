"""The gallery: a page for each of its nests, with picture, script, C, CUDA and times, and an index."""

from __future__ import annotations

import inspect
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

import polysched as ps
from docs.site_parts.gallery_nests import EXHIBITS, Exhibit
from polysched.plot.draw import plot
from polysched.plot.figure import INK
from polysched.plot.svg import inline_svg

TIMES = Path(__file__).with_name("gallery_times.json")
GRAY = "#7d8590"  # to be seen on white and on black
FLOW = "#2a8fd6"  # of arrows, the same
SHORT = 45  # lines of code that are not folded
LEAST = 6.5  # inches of a wide picture, below which it scrolls
GRID = "display: grid; grid-template-columns: repeat(auto-fill, minmax(13em, 1fr)); gap: 1.5em 2em"
INTRO = """# Gallery

Twelve nests as `ps.optimize` compiles them by itself: each with its tiles in a picture, its schedule as a script
to edit, its C, its CUDA, and its time against gcc. The library makes these pages. Sizes of tiles follow from the caches
of the machine that it runs on; in the pictures they are small.
"""


def write(folder: Path) -> None:
    """The pages and thumbnails; at most a minute for all."""
    folder.mkdir(parents=True, exist_ok=True)
    times = json.loads(TIMES.read_text()) if TIMES.exists() else {}
    for exhibit in EXHIBITS:
        picture = picture_of(exhibit)
        (folder / f"{exhibit.name}.md").write_text(page(exhibit, picture, times))
        (folder / f"{exhibit.name}.svg").write_text(thumbnail(picture))
    (folder / "index.md").write_text(index())


def picture_of(exhibit: Exhibit) -> Figure:
    """The iterations in tiles and wavefronts, as the kernel runs them."""
    drawn = exhibit.drawn
    done = ps.optimize(exhibit.nest, options=_options(exhibit, tile_sizes=drawn.tiles))
    trees = {"In the order of the kernel": done.tree}
    return plot(done.scop, done.dependences, trees, sizes=drawn.sizes, statements=drawn.statements)


def page(exhibit: Exhibit, picture: Figure, times: Mapping[str, Any]) -> str:
    done = ps.optimize(exhibit.nest, options=_options(exhibit))
    cuda = ps.optimize(exhibit.nest, "cuda", options=_options(exhibit))
    parts = [
        f"# {exhibit.name}",
        exhibit.caption,
        _code("python", inspect.getsource(exhibit.nest.python).replace("  # fmt: skip", "")),
        _scrolling(inline_svg(picture, exhibit.name)),
        "## Time",
        _time(exhibit, times),
        "## Schedule",
        "`done.schedule.script`, which is Python: change a line, and give it to `ps.optimize` as `schedule=`.",
        _code("python", done.schedule.script),
        "## C",
        _folded("The function", "c", _from(done.source.text, f"void {exhibit.name}(")),
        "## CUDA",
        _folded("Kernels and launches", "cuda", _from(cuda.source.text, f"/* {exhibit.name}_k0:")),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def index() -> str:
    cards = "\n\n".join(map(_card, EXHIBITS))
    pages = "\n".join(exhibit.name for exhibit in EXHIBITS)
    return f'{INTRO}\n<div style="{GRID}">\n\n{cards}\n\n</div>\n\n```{{toctree}}\n:hidden:\n{pages}\n```\n'


def thumbnail(figure: Figure) -> str:
    """The panel with the most steps, without words, as an SVG file; the figure is used up."""
    panel = max(figure.axes, key=lambda axes: len({text.get_text() for text in axes.texts}))
    others = [axes for axes in figure.axes if axes is not panel]
    for other in [*figure.texts, *figure.legends, *figure.artists, *panel.texts, *others]:
        other.remove()
    figure.set_size_inches(2.0, 2.0)
    panel.set(position=(0, 0, 1, 1), aspect="equal")
    panel.set_axis_off()
    panel.set_title("", loc="left")
    text = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "gallery"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return text.getvalue().replace(INK, GRAY)


def _options(exhibit: Exhibit, **others: Any) -> ps.Options:
    return ps.Options(reorder_reductions=exhibit.reorder_reductions, **others)


def _card(exhibit: Exhibit) -> str:
    name = exhibit.name
    return f"<div>\n\n[![{name}]({name}.svg)]({name}.md)\n\n[{name}]({name}.md)<br>{exhibit.caption}\n\n</div>"


def _time(exhibit: Exhibit, times: Mapping[str, Any]) -> str:
    """What was measured, in a line."""
    found = times.get("nests", {}).get(exhibit.name)
    if not found:
        return "Not measured yet: `python -m benchmarks.gallery`."
    gcc, ours = found["gcc"], found["ours"]
    speeds = "; ".join(f"{ms:.1f} ms on {_threads(count)}, {_ratio(gcc / ms)}" for count, ms in ours.items())
    sizes = ", ".join(f"{name} = {size}" for name, size in found["sizes"].items())
    where = f"{times['machine']}, {times['date']}, `{times['command']}`"
    return f"Source order by gcc -O3 -march=native: {gcc:.1f} ms; polysched: {speeds}. With {sizes}; {where}."


def _threads(count: str) -> str:
    return "one thread" if count == "1" else f"{count} threads"


def _ratio(ratio: float) -> str:
    return f"**{ratio:.1f}** times as fast" if ratio >= 2 else f"**{ratio:.2f}** times as fast"


def _from(text: str, mark: str) -> str:
    """The text from the mark on: without its helpers, if they are all that is before."""
    return text[max(text.find(mark), 0) :]


def _code(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def _folded(title: str, language: str, text: str) -> str:
    """The code, which is there on a click where it is long."""
    lines = text.rstrip().count("\n") + 1
    state = " open" if lines <= SHORT else ""
    return f"<details{state}>\n<summary>{title}, {lines} lines</summary>\n\n{_code(language, text)}\n\n</details>"


def _scrolling(svg: str) -> str:
    svg = re.sub(r"min-width:([\d.]+)in", lambda match: f"min-width:{min(float(match[1]), LEAST)}in", svg, count=1)
    return f'<div style="overflow-x: auto; --flow: {FLOW}" tabindex="0">\n{svg}\n</div>'
