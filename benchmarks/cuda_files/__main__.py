"""The checker on public CUDA files as they are: what it says of each kernel, and how many missing barriers it finds.

    python -m benchmarks.cuda_files --files DIR                   a line per kernel: checked, found, or refused
    python -m benchmarks.cuda_files --files DIR --barriers        ... and without each of its barriers in turn
    python -m benchmarks.cuda_files --files DIR --further         further files of these and other collections

DIR holds, at any depth, clones of github.com/NVIDIA/cuda-samples and of a mirror of Rodinia, such as
github.com/yuhc/gpu-rodinia; for --further also sgrauerg/polybenchGpu, vetter/shoc, abduld/Parboil and karpathy/llm.c.
Which kernels with which launches is in launches.py, and of further files in those named for their collections.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polysched as ps
from benchmarks.cuda_files.language_model import LANGUAGE_MODEL
from benchmarks.cuda_files.launch import Launch
from benchmarks.cuda_files.launches import LAUNCHES
from benchmarks.cuda_files.rodinia import RODINIA
from benchmarks.cuda_files.samples import SAMPLES
from benchmarks.cuda_files.suites import SUITES
from polysched.frontend.cuda.parse import tokens
from polysched.frontend.cuda.read import CudaFile, read_cuda
from polysched.runtime.emulated.findings import CheckReport

_BARRIER = re.compile(rb"__sync(?:threads|warp)\([^()]*\)|(?:cg|cooperative_groups)::sync\([^()]*\)|\w+\.sync\(\)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda_files", description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=Path, required=True, metavar="DIR", help="where the collections are")
    parser.add_argument("--kernel", default="", metavar="WORD", help="only kernels whose file or name has it")
    parser.add_argument("--barriers", action="store_true", help="without each barrier in turn, too")
    parser.add_argument("--further", action="store_true", help="further files, of all collections")
    given = parser.parse_args()
    known = (*RODINIA, *SUITES, *SAMPLES, *LANGUAGE_MODEL) if given.further else LAUNCHES
    chosen = [launch for launch in known if given.kernel in f"{launch.file} {launch.kernel}"]
    totals = Counter[str]()
    for (name, kernel), launches in _by_kernel(chosen).items():
        path = next((it for it in sorted(given.files.rglob(Path(name).name)) if it.match(f"*/{name}")), None)
        if path is None:
            print(f"{name}: not below {given.files}", file=sys.stderr)
            return 2
        verdicts = [_verdict(path, launch) for launch in launches]
        verdict, text = next((it for it in verdicts if it[0] != "checked"), verdicts[0])
        totals[f"kernels {verdict}"] += 1
        print(f"{name}: {kernel}: {text}", flush=True)
        if given.barriers and verdict != "refused":
            for barrier, mutant in _without_barriers(path, launches):
                print(f"    {barrier}: {mutant}", flush=True)
                totals[f"barriers {mutant.partition(':')[0]}"] += not barrier.startswith("all")
    print(", ".join(f"{count} {what}" for what, count in sorted(totals.items()) if count))
    return 0


def _by_kernel(launches: Sequence[Launch]) -> dict[tuple[str, str], list[Launch]]:
    found: dict[tuple[str, str], list[Launch]] = {}
    for launch in launches:
        found.setdefault((launch.file, launch.kernel), []).append(launch)
    return found


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


def _without_barriers(path: Path, launches: Sequence[Launch]) -> Iterator[tuple[str, str]]:
    """Each barrier, and what is found without it that is not found with it, at any of the launches; then what is found
    without all those that none of the launches needs alone."""
    known = [_findings(path, launch) for launch in launches]
    harmless: list[Barrier] = []
    with tempfile.TemporaryDirectory(prefix="polysched-") as folder:
        copy, own = Path(folder, "files"), path.resolve().parent
        shutil.copytree(own, copy)

        def new(without: Sequence[Barrier]) -> str:
            changed = {it.file: Path(it.file).read_bytes() for it in without}
            for it in sorted(without, key=lambda it: -it.start):
                changed[it.file] = changed[it.file][: it.start] + b"(void)0" + changed[it.file][it.end :]
            for file, data in changed.items():
                (copy / Path(file).resolve().relative_to(own)).write_bytes(data)
            mutants = (_findings(copy / path.name, launch) for launch in launches)
            found = next(
                (next(iter(it)) for before, now in zip(known, mutants, strict=True) if (it := now - before)), ""
            )
            for file in changed:
                shutil.copy(file, copy / Path(file).resolve().relative_to(own))
            return found

        for barrier in _barriers(read_cuda(path), launches[0].kernel):
            found = new([barrier])
            harmless += [] if found else [barrier]
            yield (
                str(barrier),
                f"found: {found}" if found else "harmless: what is before and after touches nothing in common",
            )
        if len(harmless) > 1:
            found = new(harmless)
            yield "all harmless ones at once", f"found together: {found}" if found else "harmless together"


def _findings(path: Path, launch: Launch) -> frozenset[str]:
    return frozenset(f"{it.kind}: {it.what}" for it in _check(path, launch).findings)


if __name__ == "__main__":
    sys.exit(main())
