"""All of a page within reach of keys and screen readers: what scrolls can be focused, captions have a level, and the
parameters of a long signature, which Sphinx lists as definitions of nothing, are lines."""

from __future__ import annotations

import re

PARAMETERS = re.compile(r"<dl>\n((?:<dd><em class=\"sig-param\">.*</dd>\n)+)</dl>")
CHANGES = {
    "body": {
        "<pre>": '<pre tabindex="0">',
        '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    },
    "furo_navigation_tree": {'role="heading"': 'role="heading" aria-level="2"'},
}


def connect(app) -> None:
    app.connect("html-page-context", _mend, priority=900)  # after the theme


def _mend(app, page: str, template: str, context: dict[str, object], doctree) -> None:
    for part in CHANGES:
        if isinstance(text := context.get(part), str):
            context[part] = mended(part, text)


def mended(part: str, text: str) -> str:
    for old, new in CHANGES[part].items():
        text = text.replace(old, new)
    return PARAMETERS.sub(_as_lines, text)


def _as_lines(found: re.Match[str]) -> str:
    return found[1].replace("<dd>", '<div style="margin-left: 2em">').replace("</dd>", "</div>")
