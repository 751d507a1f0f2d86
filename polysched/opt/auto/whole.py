"""A C file without pragmas: the largest nests that are read, compiled where the cost model says that they win.

    out = rewrite_whole(Build(path="cg.c", data=..., flags=("-Iinclude",)), options)
    out.text            the file; whatever is left alone is there byte for byte
    out.verdicts        each loop: what became of it, and why

A nest that is refused makes way for those inside of it, and so does one that is left and holds statements that stay as
they are. All of it runs in a process that may die.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from time import monotonic

from polysched.config.heuristics.whole import SECONDS_OF_FILE, SECONDS_OF_NEST
from polysched.config.options import Options
from polysched.errors import BudgetExceeded, InputError, PolyschedError
from polysched.frontend.c.file.macros import Macros
from polysched.frontend.c.file.marked import pair_around
from polysched.frontend.c.file.source import parse
from polysched.frontend.c.read import file_of
from polysched.frontend.c.region import Region
from polysched.ir.node import stored
from polysched.opt.auto.directives import Construct, begins, blanked, constructs, require_seen
from polysched.opt.auto.find import Loop, loops_of
from polysched.opt.auto.verdict import Verdict
from polysched.opt.regions import Job, Outcome, assembled, outcome_of
from polysched.support.entry import entry
from polysched.support.worker import Worker

MEMORY = 8 << 30
_LINE = re.compile(rb"^[ \t]*(?:#|%:)[ \t]*(?:line\b|\d)[^\n]*", re.M)
_SLACK = 5.0  # seconds, for what the budget of a compilation does not reach into


@dataclass(frozen=True, kw_only=True)
class Build:
    """A C file, and how a compiler reads it."""

    path: str
    data: bytes
    flags: tuple[str, ...] = ()  # for clang
    pure: tuple[str, ...] = ()
    obeys_openmp: bool = False  # the compiler does what directives say
    keeps_directives: bool = True  # else they are left out, since they would count where the new text is compiled
    openmp: str = "_OPENMP"  # the macro that says that kernels have threads
    numbers_lines: bool = False  # #line directives keep the places of the text that is left


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A file rewritten."""

    text: bytes
    verdicts: tuple[Verdict, ...]  # in the order of the file

    @property
    def is_changed(self) -> bool:
        return any(verdict.how == "taken" for verdict in self.verdicts)


def rewrite_whole(build: Build, options: Options) -> Whole:
    """The file with kernels for the nests that gain; InputError for what is wrong with the whole file."""
    options = replace(options, compile_seconds=min(options.compile_seconds, SECONDS_OF_NEST))
    job = Job(options=options, must_win=True, openmp=build.openmp)
    with Worker(MEMORY) as worker:
        try:
            loops: Sequence[Loop] = worker.call(SECONDS_OF_NEST + _SLACK, _loops, build)
        except (BudgetExceeded, RuntimeError) as error:
            raise InputError(f"{build.path} cannot be read: {error}") from error
        tried = _Trial(build, job, worker)
        for loop in loops:
            tried.take(loop)
    data = build.data if build.keeps_directives else blanked(build.data)
    text = assembled(data, [_numbered(each, build) for each in tried.outcomes], job).text
    first = f'#line 1 "{_quoted(build.path)}"\n'.encode() if build.numbers_lines and text != build.data else b""
    return Whole(text=first + text, verdicts=tuple(sorted(tried.verdicts, key=lambda each: (each.line, each.column))))


class _Trial:
    """The loops of a file, tried one after the other until its time is over."""

    def __init__(self, build: Build, job: Job, worker: Worker):
        self.build, self.job, self.worker = build, job, worker
        self.end = monotonic() + SECONDS_OF_FILE
        self.outcomes: list[Outcome] = []
        self.verdicts: list[Verdict] = []
        self.is_in_parts = False  # does the last loop hold statements that stay as they are?

    def take(self, loop: Loop) -> None:
        """Replaces the loop, or those inside of it where it is refused, or left and no nest as a whole."""
        self.is_in_parts = False
        verdict = self.verdict(loop)
        self.verdicts.append(verdict)
        tries_inside = verdict.how == "refused" or (verdict.how == "left" and self.is_in_parts)
        for inner in loop.inside:
            if tries_inside:
                self.take(inner)
            else:
                self.verdicts += (replace(Verdict.of(each), how="inside") for each in inner.every())

    def verdict(self, loop: Loop) -> Verdict:
        found = Verdict.of(loop)
        construct = loop.construct
        if construct is not None and (not loop.is_own or construct.own is None):
            return replace(found, how="refused", why=f"it stands in a construct of OpenMP: {construct.text}")
        if monotonic() > self.end:
            return replace(found, how="left", why=f"the file has had its {SECONDS_OF_FILE:g} s")
        begun = monotonic()
        try:
            seconds = 2 * SECONDS_OF_NEST + _SLACK
            outcome = self.worker.call(seconds, _outcome, self.build, self.job, replace(loop, inside=()))
        except (PolyschedError, RuntimeError) as error:
            why = _reason(error) if isinstance(error, PolyschedError) else f"polysched failed: {error}"
            return replace(found, how="refused", why=why, seconds=monotonic() - begun)
        self.is_in_parts = bool(outcome.in_parts)
        if not outcome.is_kept:
            self.outcomes.append(outcome)
        found = replace(found, seconds=monotonic() - begun)
        said = f"; its {construct.text} {'stays' if outcome.is_kept else 'is replaced'}" if construct else ""
        said = f"{said}; parts of it are no nest: {_one_line(outcome.in_parts)}" if outcome.in_parts else said
        if outcome.is_kept:
            return replace(found, how="left", why=f"{outcome.summary}{said}")
        return replace(found, how="taken", why=f"{outcome.summary}; {outcome.gains}{said}")


def _reason(error: PolyschedError) -> str:
    return _one_line(str(error))


def _one_line(error: str) -> str:
    """A message with its place behind it."""
    message = error.partition("\n")[0].strip()
    found = re.fullmatch(r"(.+:\d+:\d+): (.*)", message)
    return f"{found[2]} ({found[1]})" if found else message


def _numbered(outcome: Outcome, build: Build) -> Outcome:
    """With the lines that its text and what follows have in the source."""
    if not build.numbers_lines:
        return outcome
    begin, end = (1 + build.data.count(b"\n", 0, offset) for offset in (outcome.begin, outcome.end))
    path = _quoted(build.path)
    return replace(
        outcome, before=f'{outcome.before}#line {begin} "{path}"\n', after=f'{outcome.after}#line {end} "{path}"\n'
    )


def _quoted(path: str) -> str:
    return path.replace("\\", "\\\\").replace('"', '\\"')


# --- in the worker


@entry
def _loops(build: Build) -> tuple[Loop, ...]:
    return _read(build)[1]


@entry
def _outcome(build: Build, job: Job, loop: Loop) -> Outcome:
    construct = loop.construct
    span = _whole_lines(build.data, begins(build.data).get(loop.begin, loop.begin), loop.end)
    keeps_texts = construct is None  # whose clauses give variables to each thread
    region = file_of(_read(build)[0], [pair_around(*span)], build.pure, keeps_texts=keeps_texts).region(0)
    if construct is not None:
        _require_own(region, construct)
    outcome = outcome_of(region, build.data, replace(job, has_threads=construct is not None))
    return replace(outcome, in_parts=region.in_parts)


def _require_own(region: Region, construct: Construct) -> None:
    """InputError for a variable that keeps its value behind the construct, and would not behind the nest."""
    for name in (stored(region.function.body) - region.dead) & region.expressions.keys():
        if (text := region.expressions[name].removeprefix("&").partition("[")[0]) in (construct.own or ()):
            raise InputError(f"'{text}' is each thread's own, and lives on behind {construct.text}")


@lru_cache(maxsize=1)
def _read(build: Build) -> tuple[Macros, tuple[Loop, ...]]:
    """The file without directives, and its loops."""
    if build.numbers_lines and (own := _LINE.search(build.data)):
        said = " ".join(own[0].decode(errors="replace").split())
        raise InputError(f"its lines have other numbers: {said}", hint="compile it as it is")
    source = parse(build.path, data=blanked(build.data), flags=build.flags)
    if build.obeys_openmp or not build.keeps_directives:
        require_seen(source, build.data, are_obeyed=build.obeys_openmp)
    return Macros(source), loops_of(source, constructs(build.data) if build.obeys_openmp else {})


def _whole_lines(data: bytes, begin: int, end: int) -> tuple[int, int]:
    """With the white space around, up to the lines' ends."""
    line = data.rfind(b"\n", 0, begin) + 1
    begin = begin if data[line:begin].strip() else line
    after = data.find(b"\n", end)
    rest = data[end:after] if after >= 0 else data[end:]
    return begin, end if rest.strip() or after < 0 else after + 1
