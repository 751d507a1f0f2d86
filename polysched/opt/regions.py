"""C in, C out: every `#pragma scop` region of a file becomes the kernel for it; no other byte changes.

    out = rewrite(path.read_bytes(), read_c(path))
    for region in out.regions: print(region)        kernel.c:7: gemm: 3 loops, 1 parallel, 1 vector
                                                    kernel.c:31: gemm_2 keeps its text: ...
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from polysched.codegen.emit.region import emit_call, emit_region, loops_on_threads
from polysched.codegen.emit.source import Offload
from polysched.codegen.emit.spelling import is_in_library
from polysched.config.options import Options, Target
from polysched.config.target import TARGETS
from polysched.errors import BudgetExceeded
from polysched.frontend.c.file.source import SPELLINGS
from polysched.frontend.c.region import Region
from polysched.ir.node import walk
from polysched.ir.nodes import Call, For
from polysched.model.counting.touched import touched_elements
from polysched.model.extents import sizes_that_fit
from polysched.opt.by_hand import Script
from polysched.opt.own_arrays import Threaded, with_own_arrays
from polysched.opt.unchanged import runs_the_same_loops
from polysched.opt.worth import Worth, worth
from polysched.pipeline import Compiled, optimize
from polysched.plan.mapped import FOR_THREADS
from polysched.support.entry import entry
from polysched.targets.table import BACKENDS


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a region; its text is the line that says so."""

    begin: int  # of the region, in bytes
    end: int
    place: str  # file, line and name
    summary: str  # what the kernel is like, or why there is none
    is_refused: bool = False  # since it cannot be compiled, which is worth no new text
    before: str = ""  # the lines that are put before and after the region's text
    after: str = ""
    offload: Offload | None = None  # what they call
    in_parts: str = ""  # why it holds statements that stay as they are, perhaps around nests
    gains: str = ""  # what the kernel is predicted to gain

    @property
    def is_kept(self) -> bool:
        return not self.before

    def __str__(self) -> str:
        if self.is_refused:
            return f"{self.summary}\n{self.place} keeps its text"
        return f"{self.place} keeps its text: {self.summary}" if self.is_kept else f"{self.place}: {self.summary}"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What the regions of a file are to become. For GPUs, the text calls functions; where they fail, the regions run as
    they were."""

    target: Target = "c"
    name: str = ""  # with which the names of functions end that the text calls
    in_one: bool = False  # for CUDA: the kernels are in front of a text that is C++ too
    options: Options | None = None
    always: bool = False  # kernels run where the region's own text is as good, too
    must_win: bool = False  # they run where the cost model says that they win alone
    has_threads: bool = False  # so does the text that they have to win against
    openmp: str = "_OPENMP"  # the macro that says that there are threads
    scripts: Mapping[str, Script] = field(default_factory=dict)  # schedules by hand, by the names of nests


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """A C file with kernels in it."""

    text: bytes
    kernels: str  # the text of the file for the GPU that it calls; "" if it calls none
    regions: tuple[Outcome, ...]  # in the order of the file


@entry
def rewrite(
    data: bytes, regions: Sequence[Region], *, options: Options | None = None, always: bool = False
) -> Rewritten:
    """The file `data` with a kernel in C for each of its regions, in their own line ends.

    A region that is best left alone keeps its text, and so do, on one thread, loops that stay as they are; `always` has
    the kernel run nevertheless. InputError if a region cannot be compiled.
    """
    job = Job(options=options, always=always)
    return assembled(data, [outcome_of(region, data, job) for region in regions], job)


def assembled(data: bytes, outcomes: Sequence[Outcome], job: Job) -> Rewritten:
    """The file `data` with what became of its regions."""
    outcomes = sorted(outcomes, key=lambda outcome: outcome.begin)
    text, last = b"", 0
    for outcome in outcomes:
        old = data[outcome.begin : outcome.end]
        newline = b"\r\n" if old.endswith(b"\r\n") else b"\n"
        before, after = (part.encode().replace(b"\n", newline) for part in (outcome.before, outcome.after))
        text += data[last : outcome.begin]
        if before and text and not text.endswith(b"\n"):  # where pragmas have lines of their own, it ends with one
            before = newline + before
        if after and not old.endswith(b"\n"):
            after = newline + after
        text += before + old + after
        last = outcome.end
    offloads = [outcome.offload for outcome in outcomes if outcome.offload]
    emit = BACKENDS[job.target].emit_file
    kernels = emit(offloads, job.options or Options()) if emit else ""
    text += data[last:]
    if job.in_one:
        text, kernels = _in_cuda(kernels, text), ""
    return Rewritten(text=text, kernels=kernels, regions=tuple(outcomes))


def _in_cuda(kernels: str, text: bytes) -> bytes:
    """One file for nvcc: the kernels, then the C text as a part of C++ whose functions C code can call."""
    spellings = "".join(f"#ifndef {name}\n#define {name} {other}\n#endif\n" for name, other in SPELLINGS.items())
    return f"{kernels}\n{spellings}{_MAIN_MAY_BE_C}extern \"C\" {{\n".encode() + text + b"\n}\n"


_MAIN_MAY_BE_C = """\
#ifdef __CUDACC__
#pragma nv_diag_suppress 2949 /* main is a function of C here */
#endif
"""


def outcome_of(region: Region, data: bytes, job: Job) -> Outcome:
    """What becomes of a region of the file `data`; InputError if it cannot be compiled,
    BudgetExceeded if that takes too long."""
    place = place_of(region.path, data, region.begin, region.function.name)
    kept = Outcome(begin=region.begin, end=region.end, place=place, summary="")
    as_given = Threaded(region.function, job.options or Options())
    nest = with_own_arrays(region.function, as_given.options, region.dead) if job.must_win else as_given
    done = _compiled(region, job, nest)
    if isinstance(done, str):
        return replace(kept, summary=done)
    offload, gains, sizes = None, "", sizes_that_fit(done.scop, region.function)
    if not TARGETS[job.target].has_grid:
        is_same = not job.always and runs_the_same_loops(done, region)
        only_on_threads = is_same or (done.rungs["mapping"] == FOR_THREADS and not job.always)
        if only_on_threads and not loops_on_threads(done.kernel):
            return replace(kept, summary=_keeps_order(done))
        gained = Worth()
        if job.must_win:
            gained = worth(done, region.function, as_given.options, has_threads=job.has_threads)
        if gained.why_not:
            return replace(kept, summary=gained.why_not)
        only_on_threads, gains = only_on_threads or gained.only_on_threads, gained.why
        before, after = emit_region(
            done.kernel, region, sizes, only_on_threads=only_on_threads, when=(*gained.when, *nest.when),
            openmp=job.openmp,
        )  # fmt: skip
    else:
        entry = _entry(f"{region.function.name}_of_{job.name}", region)
        offload = Offload(done.kernel, entry, touched_elements(done.scop))
        before, after = emit_call(done.kernel, region, sizes, entry, in_cuda=job.in_one)
    return replace(kept, summary=_summary(done), before=before, after=after, offload=offload, gains=gains)


def place_of(path: str, data: bytes, begin: int, name: str) -> str:
    """Of a region, for messages: its file, its line and the name of its nest."""
    line = 1 + data.count(b"\n", 0, begin)
    return f"{path}:{line}: {name}"


def _compiled(region: Region, job: Job, nest: Threaded) -> Compiled | str:
    """The region compiled, or why it is better left alone."""
    target, script = job.target, job.scripts.get(region.function.name)
    options = nest.options if job.options is not None else None
    calls = {node.fn for node in walk(region.function.body) if isinstance(node, Call) and not is_in_library(node)}
    if TARGETS[target].has_grid and calls:
        return f"{TARGETS[target].language} has no {', '.join(sorted(calls))}"
    if TARGETS[target].has_grid and region.interleaved:
        return "arrays of structures stay on the host, since the rest of these would be copied back, too"
    if TARGETS[target].has_grid and region.rows:
        return "rows of pointers stay on the host, since what lies between them would be copied back, too"
    schedule = script.schedule_of(region.function) if script else None
    if schedule and options == Options():  # no flag says otherwise
        options = schedule.history.options
    done = optimize(nest.function, target, schedule=schedule, options=options)
    if own := done.kernel.foreign:
        return f"{', '.join(each.name for each in own)} would have to be defined in front of its function"
    mapping, _, reason = done.rungs["mapping"].partition(", since ")
    if mapping == "the nest as it was given":
        raise BudgetExceeded(reason)
    if mapping == "source order" and nest.function is region.function:
        return reason or _keeps_order(done)
    kinds = {node.kind for node in walk(done.kernel.body) if isinstance(node, For)}
    if TARGETS[target].has_grid and not any(kind.startswith("block.") for kind in kinds):
        return "it has no loop for the blocks of a GPU"
    return done


def _keeps_order(done: Compiled) -> str:
    """Why a region keeps its order, and what gave way to a budget before that was said."""
    late = (f"{stage}: {what}" for stage, what in done.fallbacks.items())
    return "; ".join(("its order is the best that was found", *late))


def _entry(wish: str, region: Region) -> str:
    name = re.sub(r"\W", "_", wish)
    while any(taken.startswith(name) for taken in region.taken):  # kernels are called name_k0
        name += "_"
    return name


def _summary(done: Compiled) -> str:
    kinds = Counter(node.kind for node in walk(done.kernel.body) if isinstance(node, For))
    count = sum(kinds.values())
    special = [f"{kinds[kind]} {kind}" for kind in sorted(kinds) if kind != "serial"]
    usual = ("exact", "mapped", FOR_THREADS, done.options.scheduler)
    rungs = [f"{stage} {rung}" for stage, rung in done.rungs.items() if rung not in usual]
    return ", ".join([f"{count} loop{'s' if count != 1 else ''}", *special, *rungs])
