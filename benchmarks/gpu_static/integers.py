"""Integer instructions for one instance of the innermost statement, loops left as they are written."""

from __future__ import annotations

import argparse

from benchmarks.gpu_static.inspected import hottest, inspect_all, loop_or_all
from benchmarks.polybench import KERNELS

# What one instance of the innermost statement computes, and how many integer operations are allowed for it.
STATEMENTS: dict[str, tuple[str, int, int]] = {
    "gemm": ("fma", 1, 3),
    "2mm": ("fma", 1, 3),
    "atax": ("fma", 1, 3),
    "jacobi-2d": ("arithmetic", 5, 3),
    "lu": ("fma", 1, 3),
}
_TITLES = {"instances": 10, "integer": 9, "operations": 12, "compares": 10, "uniform": 9, "all": 7, "at most": 9}


def integers(args: argparse.Namespace) -> bool:
    """Prints the table; are all texts accepted?"""
    names = [name for name in STATEMENTS if name in args.kernel]
    nests = (KERNELS[name].nest for name in names)
    rows = inspect_all(nests, arch=args.arch, jobs=args.jobs, change=without_unrolling)
    print("integer instructions of a thread for one instance of the innermost statement, without nvcc's unrolling;")
    print("operations: 64-bit ones, two instructions, count once; uniform: once for a warp, on a datapath of its own")
    print(f"{'kernel':15}" + "".join(f"{title:>{width}}" for title, width in _TITLES.items()) + "   loop")
    for name, row in zip(names, rows, strict=True):
        if row.report is None:
            print(f"{name:15}{row.reason}")
            continue
        kernel = hottest(row.report)
        counts, _ = loop_or_all(kernel)
        computes, number, most = STATEMENTS[name]
        instances = (counts["fma"] if computes == "fma" else counts.arithmetic) / number
        each = (counts["integer"], counts["integer"] - counts.carries, counts.compares, counts["uniform"], counts.total)
        cells = [
            f"{figure / instances if instances else 0:{width}.2f}"
            for figure, width in zip(each, list(_TITLES.values())[1:-1], strict=True)
        ]
        place = "without a loop" if kernel.hottest is None else "lines {}-{}".format(*kernel.hottest.lines)
        print(f"{name:15}{instances:10g}{''.join(cells)}{most:9}   {kernel.name} {place}")
    return all(row.report is not None for row in rows)


def without_unrolling(text: str) -> str:
    """The text with every loop that has no pragma of its own told to stay a loop."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("for (") and not (lines and lines[-1].lstrip().startswith("#pragma")):
            lines.append("#pragma unroll 1")
        lines.append(line)
    return "\n".join(lines) + "\n"
