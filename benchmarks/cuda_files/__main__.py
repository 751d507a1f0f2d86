"""The checker on public CUDA files as they are: what it says of each kernel, and how many missing barriers it finds.

    python -m benchmarks.cuda_files --files DIR                   a line per kernel: checked, found, or refused
    python -m benchmarks.cuda_files --files DIR --barriers        ... and without each of its barriers in turn

DIR holds clones of github.com/NVIDIA/cuda-samples and of a mirror of Rodinia, such as github.com/yuhc/gpu-rodinia, at any
depth. Which kernels with which launches is in launches.py.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polysched as ps
from benchmarks.cuda_files.launches import LAUNCHES, Launch
from polysched.frontend.cuda.read import CudaFile, read_cuda
from polysched.frontend.cuda.tokens import tokens
from polysched.runtime.findings import CheckReport

_BARRIER = re.compile(rb"__sync(?:threads|warp)\([^()]*\)|(?:cg|cooperative_groups)::sync\([^()]*\)|\w+\.sync\(\)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda_files", description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=Path, required=True, metavar="DIR", help="where the collections are")
    parser.add_argument("--kernel", default="", metavar="WORD", help="only kernels whose file or name has it")
    parser.add_argument("--barriers", action="store_true", help="without each barrier in turn, too")
    given = parser.parse_args()
    chosen = [launch for launch in LAUNCHES if given.kernel in f"{launch.file} {launch.kernel}"]
    totals = Counter[str]()
    for launch in chosen:
        path = next((it for it in sorted(given.files.rglob(Path(launch.file).name)) if it.match(f"*/{launch.file}")), None)
        if path is None:
            print(f"{launch.file}: not below {given.files}", file=sys.stderr)
            return 2
        verdict, text = _verdict(path, launch)
        totals[verdict] += 1
        print(f"{launch.file}: {launch.kernel}: {text}", flush=True)
        if given.barriers and verdict != "refused":
            for barrier, mutant in _without_barriers(path, launch):
                print(f"    {barrier}: {mutant}", flush=True)
                totals[f"barriers {mutant.partition(',')[0]}"] += 1
    print(", ".join(f"{count} {what}" for what, count in sorted(totals.items())))
    return 0


def _check(path: Path, launch: Launch) -> CheckReport:
    given = launch.arguments()
    return ps.check_cuda(path, launch.kernel, launch.grid, launch.block, dynamic_shared_bytes=launch.shared, **given)


def _verdict(path: Path, launch: Launch) -> tuple[str, str]:
    try:
        report = _check(path, launch)
    except ps.PolyschedError as error:
        lines = str(error).splitlines()
        return "refused", f"refused: {lines[0]}"
    if report.is_silent:
        return "checked", f"checked, {report.threads} threads, {report.accesses} accesses"
    return "found", "found: " + str(report.findings[0]).replace("\n  ", "; ")


@dataclass(frozen=True)
class Barrier:
    """A place of a file where threads wait."""

    file: str
    start: int
    end: int
    line: int
    text: str

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}: {self.text}"


def _barriers(file: CudaFile, name: str) -> Iterator[Barrier]:
    """Those that the kernel and what it calls have, outside of comments."""
    for it in file.needs(file.kernel(name)):
        data = file.parsed.files[it.file]
        words = {it.start + start for _, start, _ in tokens(data[it.start : it.end])}
        for found in _BARRIER.finditer(data, it.start, it.end):
            if found.start() in words:
                line = data.count(b"\n", 0, found.start()) + 1
                yield Barrier(it.file, *found.span(), line, found[0].decode())


def _without_barriers(path: Path, launch: Launch) -> Iterator[tuple[Barrier, str]]:
    """Each barrier, and what is found when it is not there that is not found with it."""
    known = {(finding.kind, finding.what) for finding in _check(path, launch).findings}
    with tempfile.TemporaryDirectory(prefix="polysched-") as folder:
        copy = Path(folder, "files")
        shutil.copytree(path.resolve().parent, copy)
        for barrier in _barriers(read_cuda(path), launch.kernel):
            changed = copy / Path(barrier.file).relative_to(path.resolve().parent)
            data = Path(barrier.file).read_bytes()
            changed.write_bytes(data[: barrier.start] + b"(void)0" + data[barrier.end :])
            new = [it for it in _check(copy / path.name, launch).findings if (it.kind, it.what) not in known]
            changed.write_bytes(data)
            yield barrier, f"found, {new[0].kind}: {new[0].what}" if new else "harmless, no conflict crosses it here"


if __name__ == "__main__":
    sys.exit(main())
