"""The gate of refactorings: are all generated texts what they were? `python -m tests.texts`.

    python -m tests.texts                        names the texts that differ from golden/texts.txt
    python -m tests.texts --keep DIR gemm        ... of names with `gemm` in them, and writes the texts to DIR
    python -m tests.texts --accept               makes today's the expected ones
    python -m tests.texts --again                the texts of `done.schedule`, given back from JSON and Python

The table has a hash for each text: the 30 kernels of PolyBench and the first case of each operator, for every target,
some with other options, and schedules by hand. All are for one machine, with budgets that no clock on a busy one ends.
The exit status is 1 if a text differs.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import polysched as ps
from benchmarks.operators import nests
from benchmarks.operators.cases import read
from benchmarks.polybench import KERNELS
from polysched.config.options import Options, Target
from polysched.ir.nodes import Function
from tests.by_hand import blur, matmul, stencil

TABLE = Path(__file__).parent / "golden" / "texts.txt"
TARGETS: tuple[Target, ...] = ("c", "cuda", "opencl", "hip")
OPTIONS = Options(
    machine=ps.Machine(vector_bytes=64, vector_registers=32, l1=32 << 10, l2=1 << 20, l3=32 << 20, cores=2),
    dependence_seconds=100,
    solve_seconds=100,
    lower_seconds=100,
    edit_seconds=100,
    compile_seconds=300,
)
REORDERED = replace(OPTIONS, reorder_reductions=True)
IN_TILES = replace(OPTIONS, tile_sizes=(8, 32))
CUT = replace(OPTIONS, tensor="fast")
VNNI = replace(OPTIONS, machine=replace(OPTIONS.machine, instructions=("vpdpbusd",)))
NESTS = ("product_f16", "product_f64", "product_i8", "conv2d_f16")
BY_HAND: dict[str, tuple[Target, ps.Nest, Callable[[ps.Schedule], ps.Schedule]]] = {
    "stencil, skewed": ("c", stencil, lambda s: s.skew("j", by="i").tile("i", "j", sizes=(16, 32))),
    "matmul, tiled": ("c", matmul, lambda s: s.tile("i", "j", "k", sizes=(32, 64, 16)).parallel("i_o")),
    "matmul, on a grid": ("cuda", matmul, lambda s: _on_a_grid(s.tile("i", "j", sizes=(16, 16)))),
    "blur, fused": ("c", blur, lambda s: s.fuse("i", "i_2")),
}


def _on_a_grid(tiled: ps.Schedule) -> ps.Schedule:
    for loop, axis in {"i_o": "block.y", "j_o": "block.x", "i": "thread.y", "j": "thread.x"}.items():
        tiled = tiled.bind(loop, axis)
    return tiled


def subjects() -> Iterator[str]:
    """The names of all texts: what is compiled, the target, and what else is not as usual."""
    for target in TARGETS:
        for kernel in KERNELS:
            yield f"{kernel}, {target}"
            if target != "hip":  # whose schedules are those of CUDA
                yield f"{kernel}, {target}, reordered"
        yield from (f"{op}, {target}, operator" for op in _first_cases())
    yield from (f"{kernel}, c, in tiles" for kernel in KERNELS)
    yield from (f"{name}, cuda, nest" for name in NESTS)
    yield "product_f32, cuda, cut"
    yield from (f"{op}, c, with vnni" for op in ("conv2d_int8", "group_conv2d_int8"))
    yield from (f"{name}, {target}, by hand" for name, (target, _, _) in BY_HAND.items())


def text(subject: str, again: bool = False) -> str:
    """The text of that name, or why there is none; `again` with the schedule given that the compiler has found."""
    name, target, kind = (subject.rsplit(", ", 2) if subject.count(", ") > 1 else [*subject.split(", "), ""])[:3]
    try:
        return _compiled(name, target, kind, again)
    except ps.PolyschedError as error:
        return f"{type(error).__name__}: {error}"


def _compiled(name: str, target: Target, kind: str, again: bool) -> str:
    if kind == "by hand":
        _, nest, edits = BY_HAND[name]
        schedule = edits(ps.Schedule(nest, options=OPTIONS))
        done = ps.optimize(schedule.nest, target, schedule=schedule)
    else:
        if kind in ("operator", "with vnni"):
            nest = _first_cases()[name]
        else:
            nest = KERNELS[name].nest if name in KERNELS else getattr(nests, name)
        options = {"reordered": REORDERED, "in tiles": IN_TILES, "cut": CUT, "with vnni": VNNI}.get(kind, OPTIONS)
        done = ps.optimize(nest, target, options=options)
    if again:
        done = _given_back(done, target)
    return f"{done.source.text}\n{done.fallbacks}\n"


def _given_back(done: ps.Compiled, target: Target) -> ps.Compiled:
    """What the schedule found leads to when it is given; AssertionError if it is another one in writing."""
    schedule = done.schedule
    read = ps.Schedule.from_json(schedule.nest, schedule.to_json())
    scope = {"ps": ps, schedule.nest.name: schedule.nest}
    exec(schedule.script, scope)
    for other in (read, scope["schedule"]):
        assert other.draft.nested == schedule.draft.nested, other
    again = ps.optimize(schedule.nest, target, schedule=read)
    assert again.source == ps.optimize(schedule.nest, target, schedule=schedule).source
    return again


@cache
def _first_cases() -> dict[str, Function]:
    """The nest of each operator's first case."""
    first = {case.op: case for case in reversed(read())}
    return {op: case.function() for op, case in sorted(first.items())}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.texts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="only texts that have one of these in their names")
    parser.add_argument("--accept", action="store_true", help="write the table anew")
    parser.add_argument("--again", action="store_true", help="give the schedules that are found back")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the texts to files there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    given = parser.parse_args()
    began = time.monotonic()
    chosen = [name for name in subjects() if not given.words or any(word in name for word in given.words)]
    with tempfile.TemporaryDirectory(prefix="polysched-texts-") as cache:
        os.environ["POLYSCHED_CACHE"] = cache  # nothing that was compiled before
        with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
            texts = dict(zip(chosen, pool.imap(partial(text, again=given.again), chosen), strict=True))
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
        for name, made in texts.items():
            (given.keep / f"{name.replace(', ', '.').replace(' ', '_')}.txt").write_text(made)
    expected = {} if given.accept and not given.words else _table()
    found = {name: hashlib.sha256(made.encode()).hexdigest()[:16] for name, made in texts.items()}
    changed = [name for name in found if found[name] != expected.get(name)]
    if given.accept:
        TABLE.write_text("".join(f"{sha} {name}\n" for name, sha in (expected | found).items()))
    else:
        for name in changed:
            print(name)
    print(f"{len(found)} texts, {len(changed)} {'accepted' if given.accept else 'differ'}, "
          f"{time.monotonic() - began:.0f} s")  # fmt: skip
    return int(bool(changed) and not given.accept)


def _table() -> dict[str, str]:
    rows = (line.split(" ", 1) for line in TABLE.read_text().splitlines()) if TABLE.exists() else ()
    return {name: sha for sha, name in rows}


if __name__ == "__main__":
    sys.exit(main())
