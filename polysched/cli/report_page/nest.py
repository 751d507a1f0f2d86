"""The part of a report about one nest: the verdict, code, pictures, trees, decisions, dependences, reasons."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, takewhile

from polysched.cli.knobs import in_flags
from polysched.cli.report_page.code import Code, code, linked_lines
from polysched.cli.report_page.verdict import verdict
from polysched.config.target import TARGETS
from polysched.deps.dependences import Dependence
from polysched.deps.distance import Distances
from polysched.errors import PolyschedError
from polysched.ir.text import in_words
from polysched.model.tree.html import tree_html
from polysched.model.tree.nodes import Tree
from polysched.model.witness import smallest
from polysched.plot.draw import scenes
from polysched.plot.figure import figure
from polysched.plot.scene import Scene
from polysched.plot.svg import inline_svg
from polysched.results.compiled import Compiled
from polysched.support import isl
from polysched.support.markup import Html, joined, tag

_SHORT = 0.01  # steps that take less than this share of the time are not listed


def nest_html(name: str, done: Compiled, measured: str = "") -> Html:
    """The section, whose ids begin with `name`; `measured` is what a run took, if there was one."""
    shown = code(name, done.nest, done.source)
    counts = ((len(done.scop.statements), "statement"), (len(done.dependences.pairs), "dependence"))
    language = TARGETS[done.source.target].language
    about = ", ".join([language, *(f"{number} {what}{'' if number == 1 else 's'}" for number, what in counts)])
    return tag(
        "section",
        tag("h2", done.nest.name, id=name),
        tag("p", about, class_="about"),
        verdict(done, measured),
        _part("Code", _panes(done, shown)),
        _part("Order of iterations", _pictures(name, done)),
        _part("Schedule trees", _trees(done)),
        _part("Script and decisions", _decisions(done)),
        _part("Dependences", _dependences(done, shown)),
        _part("What the loops allow", tag("pre", linked_lines(in_flags(done.explain()), shown), class_="text")),
        _part("What it computes and moves", tag("pre", linked_lines(str(done.counts()), shown), class_="text")),
        _part("How it was compiled", _steps(done)),
        class_="nest",
    )


def _part(title: str, inside: Html) -> Html:
    return tag("section", tag("h3", title), inside)


def _panes(done: Compiled, shown: Code) -> Html:
    generated = _pane(f"generated {TARGETS[done.source.target].language}", shown.generated)
    return tag("div", _pane("source", shown.source), generated, class_="panes")


def _pane(title: str, lines: Html) -> Html:
    inside = tag("div", lines, class_="code", tabindex=0, role="region", aria_label=title)
    return tag("figure", tag("figcaption", title), inside)


def trees(done: Compiled) -> dict[str, Tree]:
    """The stages of the schedule under their titles, those that changed nothing left out."""
    stages = {
        "source order": done.scop.tree,
        f"schedule ({done.scheduled.rung})": done.scheduled.tree,
        "kernel": done.tree,
    }
    titles = list(stages)
    changed = (title for before, title in pairwise(titles) if stages[before] != stages[title])
    return {title: stages[title] for title in (titles[0], *changed)}


def _trees(done: Compiled) -> Html:
    return tag("div", *(_tree(title, tree) for title, tree in trees(done).items()), class_="trees")


def _tree(title: str, tree: Tree) -> Html:
    return tag("figure", tag("figcaption", title), tree_html(tree, f"tree: {title}"))


def _decisions(done: Compiled) -> Html:
    """The schedule as Python, and what was chosen, with what it could be and why."""
    script = tag("pre", done.schedule.script, tabindex=0, role="region", aria_label="script")
    rows = [_cells("td", each.key, repr(each.value), ", ".join(map(repr, each.candidates)), each.why)
            for each in done.decisions]
    if not rows:
        return script
    table = tag("table", tag("thead", _cells("th", "decision", "value", "candidates", "why")), tag("tbody", *rows))
    return joined(script, tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="decisions"))


def _cells(kind: str, *texts: str) -> Html:
    scope = {"scope": "col"} if kind == "th" else {}
    return tag("tr", *(tag(kind, text, **scope) for text in texts))


def _pictures(name: str, done: Compiled) -> Html:
    try:
        different: list[tuple[str, Scene]] = []
        for title, scene in scenes(done.scop, done.dependences, trees(done)):
            if all(scene != another for _, another in different):
                different.append((title, scene))
        svg = inline_svg(figure(different), f"{name}-picture")
    except (PolyschedError, ValueError) as error:
        return tag("p", f"There is no picture: {error}", class_="about")
    return tag("div", Html(svg), class_="picture", tabindex=0, role="region", aria_label="order of iterations")


# --- dependences


def _dependences(done: Compiled, shown: Code) -> Html:
    rows = dict.fromkeys(_row(dependence, done, shown) for dependence in done.dependences.of("flow", "anti", "output"))
    if not rows:
        return tag("p", "There are none: everything may run at the same time.", class_="about")
    titles = ("kind", "array", "lines", "distance", "for example")
    table = tag("table", tag("thead", _cells("th", *titles)), tag("tbody", *rows))
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="dependences")


def _row(dependence: Dependence, done: Compiled, shown: Code) -> Html:
    scop = done.scop
    ends = scop.statement(dependence.source), scop.statement(dependence.sink)
    lines = [shown.line(end.loc.line) if end.loc else Html("?") for end in ends]
    distance = _distance(dependence.relation, [end.iterators for end in ends])
    sizes, point = smallest(dependence.relation.wrap())
    pair = f"{ends[0].name}{[*point[: ends[0].depth]]} → {ends[1].name}{[*point[ends[0].depth :]]}"
    at = f" at {in_words(sizes)}" if sizes else ""
    kind = dependence.kind + (", reduction" if dependence.reduction else "") + dependence.doubt
    cells = (kind, dependence.array, joined(lines[0], " → ", lines[1]), distance, pair + at)
    first, *others = cells
    return tag("tr", tag("td", first, class_=f"k-{dependence.kind}"), *(tag("td", cell) for cell in others))


def _distance(relation: isl.Map, iterators: Sequence[tuple[str, ...]]) -> str:
    """Along the iterators that both ends have, outermost first; "-" if they have none."""
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*iterators, strict=False)))
    for side, names in zip((isl.dim_type.in_, isl.dim_type.out), iterators, strict=True):
        relation = relation.project_out(side, common, len(names) - common).reset_tuple_id(side)
    return str(Distances(relation.project_out_all_params().deltas().coalesce())) if common else "-"


# --- compilation


def _steps(done: Compiled) -> Html:
    seconds: dict[str, float] = {}
    for event in done.events:
        seconds[event.name] = seconds.get(event.name, 0.0) + event.seconds
    total, longest = sum(seconds.values()), max(seconds.values())
    listed = {name: time for name, time in seconds.items() if time >= _SHORT * total}
    rows = [_step(name, time, time / longest) for name, time in listed.items()]
    if len(listed) < len(seconds):
        time = total - sum(listed.values())
        rows.append(_step(f"{len(seconds) - len(listed)} others", time, time / longest))
    head = tag("tr", tag("th", "step", scope="col"), tag("th", "ms", scope="col", colspan=2))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="steps")
    ways = (part for stage, rung in done.rungs.items() for part in (tag("dt", stage), tag("dd", rung)))
    took = tag("p", f"polysched compiled it in {1000 * total:.0f} ms, gcc not counted:", class_="about")
    return joined(tag("dl", *ways, class_="rungs"), took, table)


def _step(name: str, seconds: float, share: float) -> Html:
    bar = tag("td", tag("div", class_="bar", style=f"width:{100 * share:.1f}%"), class_="bars")
    return tag("tr", tag("td", name), tag("td", f"{1000 * seconds:.1f}", class_="number"), bar)
