"""What a reader asks first of a nest: which loops run on threads, in tiles, in SIMD lanes, and how long it takes.

    Threads    floor((t + i)/32)
    Tiles      floor((t - i)/32) + floor((t + i)/32) in wavefronts, floor((t + i)/32)
    SIMD       t + j
    Predicted  at n = 128 on 2 threads: as found 728 us, in source order 1.31 ms
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polysched.config.target import TARGETS
from polysched.results.compiled import Compiled
from polysched.support.markup import Html, tag

_MOST = 6  # loops that are named


def verdict(done: Compiled, measured: str = "") -> Html:
    """The list; `measured` is what a run of it took, if it was run."""
    said = done.explain().split("\n")
    loops = [*_kernel_loops(said)]
    threads = [f"{name} {note}" for name, note in loops if note.startswith("on ")]
    rows = {
        "Blocks and threads" if TARGETS[done.source.target].has_grid else "Threads": _named(threads, " on threads"),
        "Tiles": _named([_tiled(name, note) for name, note in loops if "tiles" in note or "products" in note]),
        "SIMD": _named([name for name, note in loops if note.startswith("SIMD")]),
        "Predicted": next((line.removeprefix("predicted ") for line in said if line.startswith("predicted ")), ""),
        "Measured": measured,
        "Declined": "; ".join(map(str, done.declined)),
    }
    if TARGETS[done.source.target].has_grid:
        del rows["SIMD"]
    parts = (part for title, text in rows.items() if text for part in (tag("dt", title), tag("dd", text)))
    return tag("dl", *parts, class_="verdict")


def _kernel_loops(said: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each loop of the kernel with each of its notes, as `explain` has them."""
    start = said.index("in the kernel") + 1 if "in the kernel" in said else len(said)
    for line in said[start:]:
        if not line.startswith("  "):
            return
        name, _, notes = line.strip().partition(": ")
        yield from ((name, note) for note in notes.split(", "))


def _tiled(name: str, note: str) -> str:
    return {"tiles": name, "wavefronts of tiles": f"{name} in wavefronts"}.get(note, f"{name} as {note}")


def _named(loops: Sequence[str], without: str = "") -> str:
    """The first of them, each once; `without` is a suffix that the title says."""
    names = list(dict.fromkeys(name.removesuffix(without) for name in loops))
    more = f", and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more or "none"
