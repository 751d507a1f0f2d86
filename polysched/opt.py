"""C in, C out: every `#pragma scop` region of a file becomes the kernel for it; no other byte changes.

    out = rewrite(path.read_bytes(), read_c(str(path)))
    out.text                                        the new file
    print(*out.notes, sep="\\n")                     kernel.c:7: gemm: 3 loops, 1 parallel, 1 vector
                                                    kernel.c:31: gemm_2 keeps its text: ...
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polysched.codegen.emit.offload import emit_offload, in_one_file
from polysched.codegen.emit.region import emit_call, emit_region
from polysched.codegen.emit.spelling import is_in_library
from polysched.errors import BudgetExceeded, InputError
from polysched.frontend.region import Region
from polysched.ir.node import walk
from polysched.ir.nodes import Call, For
from polysched.model.touched import touched_elements
from polysched.options import Options, Target
from polysched.pipeline import Compiled, optimize


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """A C file with kernels in it."""

    text: bytes
    kernels: str  # of a CUDA file beside it, which it calls; "" if there are none
    kept: tuple[str, ...]  # for each region that keeps its text, a line that says why
    done: tuple[str, ...]  # for each other region, a line that says what it became


def rewrite(
    data: bytes, regions: Sequence[Region], target: Target = "c", *, name: str = "", options: Options | None = None
) -> Rewritten:
    """The file `data` with a kernel for each of its regions, in the file's own line ends.

    A region that is best left alone keeps its text. InputError if a region cannot be compiled. For CUDA, the text calls
    functions of `kernels` whose names end with `name`; where CUDA fails, the regions run as they were.
    """
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    pieces: list[bytes] = []
    kernels: list[str] = []
    kept: list[str] = []
    done: list[str] = []
    last = 0
    for region in sorted(regions, key=lambda region: region.begin):
        place = f"{region.path}:{1 + data.count(newline[-1:], 0, region.begin)}: {region.function.name}"
        compiled = _compiled(region, target, options)
        if isinstance(compiled, str):
            kept.append(f"{place} keeps its text: {compiled}")
            continue
        done.append(f"{place}: {_summary(compiled)}")
        kernel, valid_sizes = compiled.kernel, compiled.scop.valid_sizes
        if target == "cuda":
            entry = _entry(f"{region.function.name}_of_{name}", region)
            kernels.append(emit_offload(kernel, entry, touched_elements(compiled.scop)))
            before, after = emit_call(kernel, region, valid_sizes, entry)
        else:
            before, after = emit_region(kernel, region, valid_sizes)
        pieces += [
            data[last : region.begin],
            before.encode().replace(b"\n", newline),
            data[region.begin : region.end],
            after.encode().replace(b"\n", newline),
        ]
        last = region.end
    return Rewritten(
        text=b"".join([*pieces, data[last:]]),
        kernels=in_one_file(kernels) if kernels else "",
        kept=tuple(kept),
        done=tuple(done),
    )


def _compiled(region: Region, target: Target, options: Options | None) -> Compiled | str:
    """The region compiled, or why it is better left alone."""
    calls = {node.fn for node in walk(region.function.body) if isinstance(node, Call) and not is_in_library(node)}
    if target == "cuda" and calls:
        return f"CUDA has no {', '.join(sorted(calls))}"
    try:
        done = optimize(region.function, target, options=options)
    except BudgetExceeded as error:
        return str(error)
    mapping, _, reason = done.rungs["mapping"].partition(", since ")
    if mapping in ("source order", "the nest as it was given"):
        return reason or "its order is the best that was found"
    kinds = {node.kind for node in walk(done.kernel.body) if isinstance(node, For)}
    if target == "cuda" and not any(kind.startswith("block.") for kind in kinds):
        return "it has no loop for the blocks of a GPU"
    return done


def _entry(wish: str, region: Region) -> str:
    name = re.sub(r"\W", "_", wish)
    while name in region.taken:
        name += "_"
    return name


def _summary(done: Compiled) -> str:
    kinds = Counter(node.kind for node in walk(done.kernel.body) if isinstance(node, For))
    loops = [f"{sum(kinds.values())} loops", *(f"{kinds[kind]} {kind}" for kind in sorted(kinds) if kind != "serial")]
    usual = ("exact", "mapped", done.options.scheduler)
    rungs = [f"{stage} {rung}" for stage, rung in done.rungs.items() if rung not in usual]
    return ", ".join([*loops, *rungs])


def write(path: Path, text: bytes) -> None:
    """Writes the whole file or leaves what was there; InputError if it cannot be written."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists() and not path.is_file():  # a device or a pipe has no other name to be moved from
            path.write_bytes(text)
            return
        try:
            unfinished.write_bytes(text)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"'{path}' cannot be written: {error.strerror}") from error
