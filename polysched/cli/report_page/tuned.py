"""One page about what searches have measured of nests, which needs nothing else; its pictures are files beside it, too.

    polysched tune kernel.c --report tuned.html         tuned.html, tuned-gemm.png
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from polysched.cli.report_page.page import framed, require_report_or_none
from polysched.errors import ToolchainError
from polysched.opt.output import write
from polysched.opt.tuning.seen.history import History
from polysched.opt.tuning.seen.importance import Importance, importances
from polysched.opt.tuning.seen.picture import picture
from polysched.plot.figure import require_matplotlib
from polysched.results.tuned.database import Measurement
from polysched.schedule.space import Point
from polysched.support.markup import Html, joined, tag

_FASTEST = 10  # kernels in the table


def require_report(target: Path) -> None:
    """InputError if a file is there that is no report; PolyschedError without matplotlib."""
    require_report_or_none(target)
    require_matplotlib()


def write_report(target: Path, place: str, histories: Sequence[History]) -> list[Path]:
    """The page and a picture for each nest; gives the files."""
    require_report(target)
    sections, files = [], [target]
    for history in histories:
        important, missing = _important(history)
        png = _png(picture(history, important))
        files.append(target.with_name(f"{target.stem}-{history.task.name}.png"))
        write(files[-1], png)
        sections.append(_section(history, important, missing, png))
    write(target, framed(place, "what was measured", sections).encode())
    return files


def _important(history: History) -> tuple[list[Importance], str]:
    """And why there are none."""
    try:
        return importances(history.timed), ""
    except ToolchainError as error:
        return [], str(error)


def _png(figure: Any) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", facecolor="white", dpi=120)
    return buffer.getvalue()


def _section(history: History, important: Sequence[Importance], missing: str, png: bytes) -> Html:
    task = history.task
    what = f"{task.sizes or 'its sizes'}; {task.machine}; {task.compiler}; polysched {task.version}"
    alt = "best over trials, predicted against measured, which decisions mattered, time against build time"
    best = sorted(history.timed, key=lambda each: -(each.ratio or 0.0))[:_FASTEST]
    matter = [(each.key, f"{100 * (each.factor - 1):.0f} %") for each in important]
    return tag(
        "section",
        tag("h2", task.name),
        tag("p", f"{len(history.measured)} kernels at {what}", class_="about"),
        tag("img", src=f"data:image/png;base64,{b64encode(png).decode()}", alt=alt, style="max-width: 100%"),
        tag("h3", "Fastest"),
        _table(("times as fast", "interval", "state", "predicted", "decisions"), map(_row, best)),
        tag("h3", "Which decisions mattered"),
        _table(("decision", "predictions are off more if it is shuffled"), iter(matter))
        if matter
        else tag("p", missing or "Too few kernels were measured to tell."),
    )


def _row(found: Measurement) -> tuple[str, ...]:
    predicted = f"{found.predicted_ratio:.2f}" if found.predicted_ratio else ""
    interval = f"{found.low:.2f} to {found.high:.2f}" if found.low and found.high else ""
    return f"{found.ratio:.2f}", interval, found.state, predicted, str(Point(found.answers))


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Html:
    lines = [tag("tr", *(tag("th", each) for each in head)), *(tag("tr", *(tag("td", x) for x in row)) for row in rows)]
    return tag("table", joined(*lines, separator="\n"))
