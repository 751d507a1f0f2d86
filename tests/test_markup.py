"""polysched/support/markup.py: texts are escaped, elements are not, wherever they stand."""

from __future__ import annotations

from polysched.support.markup import Html, joined, tag


def test_an_element_with_texts_and_elements_in_it():
    inner = tag("b", "parallel & <fast>")
    assert tag("p", "i < n, ", inner, id="x", data_line=7, class_="a") == (
        '<p id="x" data-line="7" class="a">i &lt; n, <b>parallel &amp; &lt;fast&gt;</b></p>'
    )


def test_attributes_are_quoted_and_left_out_where_there_is_none():
    assert tag("a", "x", href='"><script>', title=None, hidden=True, open=False) == (
        '<a href="&quot;&gt;&lt;script&gt;" hidden>x</a>'
    )


def test_elements_without_content_have_no_end():
    assert tag("meta", name="viewport") == '<meta name="viewport">'


def test_parts_are_joined_as_html():
    assert joined("<", Html("<br>"), ">", separator=" ") == "&lt; <br> &gt;"
    assert isinstance(joined("a"), Html)
