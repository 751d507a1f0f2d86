"""The reference has every public name, with an example that runs; docstrings come out as they are meant."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import polysched as ps
from docs.site_parts.accessible import mended
from docs.site_parts.docstrings import restructured

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page.read_text() for page in (DOCS / "reference").glob("*.md")]


@pytest.mark.parametrize("name", [name for name in ps.__all__ if name != "__version__"])
def test_a_public_name_has_its_entry_and_an_example(name: str) -> None:
    (page,) = [text for text in PAGES if re.search(rf"^\.\. auto\w+:: {name}(\(\))?$", text, re.MULTILINE)]
    examples = "".join(example.source for example in doctest.DocTestParser().get_examples(page))
    assert re.search(rf"\b{name}\b", examples)


def test_a_name_that_is_not_public_has_none() -> None:
    names = re.findall(r"^\.\. auto(?:function|class|exception|data):: (\w+)", "\n".join(PAGES), re.MULTILINE)
    assert sorted(names) == sorted(set(ps.__all__) - {"__version__"})


def test_code_and_pictures_of_a_docstring_are_marked() -> None:
    lines = ["Blocks of `size` iterations, *all*.", "", "    for i:   ->   for i_o:", "", "    S", "", "See a_b|c."]
    assert restructured(lines) == [
        r"Blocks of ``size`` iterations, \*all\*.",
        "",
        "::",
        "",
        "       for i:   ->   for i_o:",
        "   ",
        "       S",
        "   ",
        "",
        r"See a\_b\|c.",
        "",
    ]


def test_keys_and_screen_readers_reach_all_of_a_page() -> None:
    page = '<pre>code</pre>\n<dl>\n<dd><em class="sig-param">nest</em>,</dd>\n</dl>'
    lines = '<pre tabindex="0">code</pre>\n<div style="margin-left: 2em"><em class="sig-param">nest</em>,</div>\n'
    assert mended("body", page) == lines
    assert mended("furo_navigation_tree", '<p role="heading">') == '<p role="heading" aria-level="2">'
