"""polysched/plot/figure.py, draw.py and svg.py: what is drawn, counted in the artists and in the SVG."""

from __future__ import annotations

import pickle
import re
import sys
from html.parser import HTMLParser

import pytest
from nests import gemm, stencil2

import polysched as ps
from polysched.errors import PolyschedError
from polysched.frontend.python import parse_nest
from polysched.plot.svg import inline_svg

pytest.importorskip("matplotlib")


def skewed():
    return ps.Schedule(stencil2(margin=1)).skew("j", by="i")



def arrows(axes):
    return [patch for patch in axes.patches if type(patch).__name__ == "FancyArrowPatch"]


def polygons(axes):
    return [patch for patch in axes.patches if type(patch).__name__ == "Polygon"]


def test_dots_arrows_and_lines():
    (axes,) = skewed().plot({"N": 3}).axes
    (points,) = (part for part in axes.collections if part.get_label() == "S")
    assert len(points.get_offsets()) == 9
    assert len(arrows(axes)) == 14 and {patch.get_label() for patch in arrows(axes)} == {"flow"}
    inner, outer = (part for part in axes.collections if type(part).__name__ == "LineCollection")
    assert (len(inner.get_segments()), len(outer.get_segments())) == (5, 3)
    assert [text.get_text() for text in axes.texts if text.get_text()] == ["0", "1", "2"]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title(loc="left")) == ("i", "j", "S")


def test_what_may_run_at_the_same_time_has_one_colour():
    (axes,) = ps.Schedule(stencil2(margin=1)).plot({"N": 3}).axes
    (points,) = (part for part in axes.collections if part.get_label() == "S")
    colours: dict[float, set[tuple[float, ...]]] = {}
    for (i, _), colour in zip(points.get_offsets(), points.get_facecolors(), strict=True):
        colours.setdefault(i, set()).add(tuple(colour))
    assert [len(some) for some in colours.values()] == [1, 1, 1]
    assert len(set.union(*colours.values())) == 3


def test_tiles_are_polygons_with_the_number_of_their_wavefront():
    s = skewed().tile("i", "j", sizes=(2, 2)).wavefront("i_o", "j_o")
    (axes,) = s.plot({"N": 4}).axes
    assert len(polygons(axes)) == 6
    assert sorted(text.get_text() for text in axes.texts) == ["0", "1", "2", "3"]  # two have no room: one instance each


def test_before_and_after_are_side_by_side():
    figure = skewed().plot({"N": 3}, before="both")
    assert len(figure.axes) == 2
    texts = [text.get_text() for text in figure.texts]
    assert texts == [
        "before",
        "9 instances in 3 steps, up to 3 at once",
        "after",
        "9 instances in 3 steps, up to 3 at once",
        "drawn for N = 3",
    ]


def test_a_nest_of_three_loops_has_a_panel_for_each_slice():
    figure = ps.optimize(gemm()).plot({"ni": 2, "nj": 2, "nk": 2})
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["S0", "S1 at i = 0", "S1 at i = 1"]


def test_arrows_between_slices_are_drawn_over_the_figure():
    seidel = ps.Schedule(ps.from_c("benchmarks/polybench/c/seidel-2d.c")[0])
    figure = seidel.plot({"tsteps": 2, "n": 4})
    between = [artist for artist in figure.artists if type(artist).__name__ == "ConnectionPatch"]
    assert len(figure.axes) == 2 and between


def test_the_legend_says_what_there_is():
    figure = skewed().plot({"N": 3})
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert labels == [
        "flow",
        "one iteration of the outer loop",
        "of the inner loop",
        "first step",
        "last step; same color, same time",
    ]


def test_the_legend_names_steps_that_are_in_the_picture():
    figure = ps.Schedule(parse_nest(LOOP, "loop.py")).plot({"T": 7, "n": 4})
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert labels[-2:] == ["first step", "step 3 of 0 to 6; same color, same time"]


LOOP = """\
def loop(a: f64[n, n], T: size, n: size):
    for t in range(T):
        for i in range(n):
            for j in range(n):
                a[i, j] = a[i, j] + 1.0
"""


def test_ticks_are_whole_numbers():
    for sizes in ({"N": 1}, {"N": 2}, {"N": 30}):
        (axes,) = skewed().plot(sizes).axes
        for ticks in (axes.get_xticks(), axes.get_yticks()):
            assert 1 <= len(ticks) <= 7 and all(tick == int(tick) for tick in ticks)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PolyschedError) as error:
        skewed().plot()
    assert str(error.value) == "pictures need matplotlib: pip install 'polysched[report]'"


class _Ids(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.targets, self.open = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        for key, value in attrs:
            if key == "id":
                self.ids.append(value)
            self.targets.update(re.findall(r"(?:^#|url\(#)([^)]+)", value or ""))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_an_svg_has_ids_of_its_own_and_every_target():
    svg = inline_svg(skewed().plot(before="both"), "one")
    found = _Ids()
    found.feed(svg)
    assert not found.open and len(set(found.ids)) == len(found.ids)
    assert all(name.startswith("one-") for name in found.ids) and found.targets <= set(found.ids)
    assert svg.startswith('<svg role="img" aria-label="one" style="width:') and ">before</text>" in svg
    assert "#1c2128" not in svg and "currentColor" in svg and "var(--flow,#0072b2)" in svg


def test_equal_figures_give_equal_svg():
    assert inline_svg(skewed().plot(), "a") == inline_svg(skewed().plot(), "a")


def test_a_notebook_shows_tree_picture_and_history():
    html = skewed()._repr_html_()
    assert html.count("<svg") == 1 and "permutable" in html
    assert "<summary>history</summary><pre>schedule = (\n    ps.Schedule(stencil2)\n    .skew(" in html
    found = _Ids()
    found.feed(html)
    assert not found.open and len(set(found.ids)) == len(found.ids)


def test_a_notebook_shows_a_compiled_nest():
    html = ps.optimize(stencil2(margin=1))._repr_html_()
    assert "<summary>generated code</summary><pre>/* stencil2: generated by polysched" in html and "<svg" in html


def test_a_notebook_says_why_there_is_no_picture(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = skewed()._repr_html_()
    assert "<p>no picture: pictures need matplotlib: pip install &#x27;polysched[report]&#x27;</p>" in html


def test_a_picture_is_shown_once_by_what_it_is_itself():
    picture = skewed().plot()
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert not hasattr(picture, "number")  # by which pyplot knows its own
    assert pickle.loads(pickle.dumps(picture))._repr_png_()
