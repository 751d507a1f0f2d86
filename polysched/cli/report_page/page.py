"""One page about nests that were compiled, which needs nothing else: no network, no other file.

    polysched report kernel.c -o report.html
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polysched.cli.report_page.nest import nest_html
from polysched.errors import InputError
from polysched.results.compiled import Compiled
from polysched.support.markup import Html, joined, tag
from polysched.support.version import __version__

MARK = "<!DOCTYPE html>\n<!-- a report of polysched -->\n"  # how one begins
_HERE = Path(__file__).parent


def page(place: str, nests: Sequence[Compiled], measured: Sequence[str] = ()) -> str:
    """The HTML text; `place` is where the nests were found, and `measured` what each took, if they were run."""
    names = [f"nest{k}" for k in range(1, len(nests) + 1)]
    links = [tag("li", tag("a", done.nest.name, href=f"#{name}")) for name, done in zip(names, nests, strict=True)]
    return framed(place, "report", [*map(nest_html, names, nests, measured or [""] * len(nests))], links)


def framed(place: str, what: str, sections: Sequence[Html], links: Sequence[Html] = ()) -> str:
    """The HTML text of a page of these sections, with links to them if there are several."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{place}: {what} of polysched"),
        tag("style", Html((_HERE / "report.css").read_text())),
    )
    body = tag(
        "body",
        tag("header", tag("h1", Path(place).name), tag("p", f"a report of polysched {__version__}", class_="about")),
        tag("nav", tag("ul", *links), aria_label="nests") if len(links) > 1 else Html(""),
        tag("main", *sections),
        tag("script", Html((_HERE / "report.js").read_text())),
    )
    return f"{MARK}{tag('html', joined(head, body, separator=chr(10)), lang='en')}\n"


def require_report_or_none(target: Path) -> None:
    """InputError if a file is there that is no report, and so not to be written over."""
    if target.is_file() and not target.read_bytes().startswith(MARK.encode()):
        raise InputError(f"'{target}' is there, and is no report", hint="name another file: -o report.html")
